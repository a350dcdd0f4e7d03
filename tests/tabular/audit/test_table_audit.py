import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels
from disambig._core.errors import DisambigError, TableError
from disambig.tabular.audit.table_audit import audit_table
from disambig.tabular.labels.label_columns import LabelColumns

SETS = ["cat|dog", "dog", "bird|cat", "bird", "cat"]


def make_table(labels=SETS, **columns):
    rng = np.random.default_rng(0)
    features = {"size": rng.normal(size=len(labels)), "weight": rng.normal(size=len(labels))}
    return pd.DataFrame({**features, **columns, "label": labels})


def kinds_of(audit):
    return [finding.kind for finding in audit.findings]


def test_rows_features_and_sets_are_counted():
    audit = audit_table(make_table(colour=list("rgrgr")))
    assert audit.n_rows == 5
    assert audit.features == {"number": ("size", "weight"), "category": ("colour",)}
    assert audit.sets.size_histogram == {1: 3, 2: 2}
    assert audit.sets.classes == ["bird", "cat", "dog"]
    assert audit.sets.candidate_counts.tolist() == [2, 3, 2]
    assert audit.sets.alone_counts.tolist() == [1, 1, 1]
    assert not audit.weighted
    assert not audit.negative
    assert audit.findings == ()


def test_what_ambiguity_costs_is_part_of_it():
    audit = audit_table(make_table())
    assert 0 < audit.information.known_share < 1
    assert audit.information.blind_guess_share == pytest.approx((3 + 2 / 2) / 5)


def test_label_columns_are_no_features():
    table = make_table().rename(columns={"label": "first"}).assign(second=list("aabbc"))
    assert audit_table(table, labels=["first", "second"]).features == {"number": ("size", "weight")}


def test_reserved_and_ignored_columns_are_no_features():
    table = make_table(truth=["cat", "dog", "bird", "bird", "cat"], colour=list("rgrgr"))
    audit = audit_table(table, ignore=["colour"], truth="truth")
    assert audit.features == {"number": ("size", "weight")}
    assert audit_table(table, features=["colour"]).features == {"category": ("colour",)}


def test_true_labels_outside_their_sets_are_counted_with_an_interval_and_the_first_rows():
    labels = ["", *["cat|dog"] * 7, "bird"]
    truth = ["cat", "cat", "bird", "dog", "", "cow", "dog", "dog", "bird"]
    audit = audit_table(make_table(labels, truth=truth), truth="truth")
    found = audit.truth
    # The first row has no set, the fifth no truth; a cow is nobody's candidate.
    assert (found.n_rows, found.n_outside, found.rows) == (7, 2, (3, 6))
    assert found.low < 2 / 7 < found.high
    assert "Of 7 known true labels, 2 are outside the set of the row: 29 %" in str(audit)
    (finding,) = [one for one in audit.findings if one.kind == "truth_outside"]
    assert "2 of 7 known true labels are not in the set of the row. See rows 3 and 6." in str(
        finding
    )
    assert audit.to_json()["truth"]["n_outside"] == 2
    assert any("not a candidate of any row" in notice for notice in audit.notices)


def test_without_a_miss_the_interval_says_how_many_there_may_be():
    table = make_table(truth=["cat", "dog", "", "", ""])
    found = audit_table(table, truth="truth").truth
    assert (found.n_rows, found.n_outside, found.low, found.rows) == (2, 0, 0.0, ())
    # Wilson: z² / (n + z²).
    assert found.high == pytest.approx(1.96**2 / (2 + 1.96**2), abs=1e-3)
    assert str(found).startswith("Of 2 known true labels, none is outside the set of the row: 0 %")
    assert audit_table(table.assign(truth=""), truth="truth").truth is None
    assert audit_table(table, ignore=["truth"]).truth is None


def test_a_column_without_a_true_label_is_remarked_on():
    audit = audit_table(make_table(truth=[""] * 5), truth="truth")
    assert audit.truth is None
    assert "Column 'truth' names no true label yet, so none is checked." in audit.notices


def test_all_rows_outside_are_named_and_not_only_the_first_five():
    audit = audit_table(make_table(["cat"] * 8 + ["dog"], truth=["dog"] * 9), truth="truth")
    assert audit.truth.rows == audit.findings[0].rows == tuple(range(1, 9))
    assert len(audit.to_json()["findings"][0]["rows"]) == 8
    assert "See rows 1, 2, 3, 4, 5 and 3 more." in str(audit.findings[0])


def test_rows_are_named_by_the_id_too():
    table = make_table(["cat", "dog", "dog", "dog", "dog"], truth=["dog", "", "cat", "", ""])
    table["key"] = ["K-1", "K-2", 3.0, "K-4", "K-5"]
    (finding,) = [one for one in audit_table(table, truth="truth", id="key").findings if one.ids]
    assert finding.ids == ("K-1", "3")
    assert "See rows 1 ('K-1') and 3 ('3')." in str(finding)
    assert audit_table(table, truth="truth", ignore="key").findings[0].ids == ()


def test_true_labels_that_are_not_labels_at_all_are_a_finding():
    audit = audit_table(make_table(truth=list("vwxyz")), truth="truth")
    assert kinds_of(audit) == ["truth"]
    assert audit.truth is None


def test_weights_and_denials_are_noticed():
    assert audit_table(make_table(["cat:0.7|dog:0.3", "dog", "cat", "dog", "dog"])).weighted
    assert audit_table(make_table(["!cat", "dog", "cat", "bird", "dog"])).negative


def test_ready_candidate_sets_are_taken():
    candidates = CandidateLabels.from_strings(SETS)
    audit = audit_table(make_table().drop(columns="label"), labels=candidates)
    assert audit.sets.n_samples == 5
    assert audit.n_unlabelled == 0


def test_ready_candidate_sets_must_fit_the_table():
    with pytest.raises(TableError, match="Got 5 rows and 4 sets"):
        audit_table(make_table(), labels=CandidateLabels.from_strings(SETS)[:4])


def test_rows_without_a_label_are_reported_and_the_others_keep_their_numbers():
    audit = audit_table(make_table(["", "cat|dog", None, "cat", "dog", "Dog"]))
    assert (audit.n_rows, audit.n_unlabelled, audit.sets.n_samples) == (6, 2, 4)
    no_label, spelling = audit.findings[:2]
    assert (no_label.kind, no_label.rows) == ("no_label", (1, 3))
    assert (spelling.kind, spelling.rows) == ("spelled_alike", (6,))


def test_features_of_rows_without_a_label_are_not_mixed_up():
    table = make_table(["", "cat", "bird", "dog"])
    table.loc[3, ["size", "weight"]] = table.loc[1, ["size", "weight"]]
    findings = {finding.kind: finding for finding in audit_table(table).findings}
    assert findings["contradictions"].rows == (2, 4)


def test_rows_that_may_have_any_label_count_as_full_sets_and_are_reported_once():
    table = make_table(["", "cat", "bird", "dog"])
    audit = audit_table(table, labels=LabelColumns(empty="all"))
    assert audit.sets.size_histogram == {1: 3, 3: 1}
    assert kinds_of(audit) == ["no_label"]
    assert "may have any label" in audit.findings[0].advice


def test_a_table_without_usable_features_is_audited_all_the_same():
    table = pd.DataFrame({"same": [1.0] * 5, "label": SETS})
    audit = audit_table(table)
    assert audit.features == {}
    assert kinds_of(audit) == ["features"]
    assert audit.sets.n_classes == 3
    assert "no features yet (see what looks wrong)" in str(audit)


def test_a_slip_in_a_column_name_is_an_error_and_no_finding():
    with pytest.raises(TableError, match="Did you mean 'weight'"):
        audit_table(make_table(), ignore=["wieght"])
    with pytest.raises(TableError, match="Did you mean 'size'"):
        audit_table(make_table(), features=["sise"])
    with pytest.raises(TableError, match="Did you mean 'label'"):
        audit_table(make_table(), labels="labell")


def test_labels_that_nothing_is_said_about_are_an_error():
    with pytest.raises(DisambigError, match="No row has a label"):
        audit_table(make_table(["", "", ""]))


def test_another_separator_is_suspected():
    table = make_table(["cat;dog", "dog", "bird;cat", "bird", "cat"])
    assert kinds_of(audit_table(table)) == ["other_separator"]
    assert kinds_of(audit_table(table, labels=LabelColumns(separator=";"))) == []


def test_the_text_says_what_matters():
    text = str(audit_table(make_table([*SETS, "Cat"])))
    assert text.startswith("6 rows, 2 features (2 numbers), 4 labels.")
    for part in (
        "How many labels a row has",
        "'cat' (3 rows) and 'Cat' (1 row)",
        "one certain label each",
    ):
        assert part in text


def test_the_text_of_a_sound_table_says_that_nothing_is_wrong():
    assert "What looks wrong\n  Nothing." in str(audit_table(make_table()))


def test_the_text_stays_on_a_screen_with_many_labels():
    rng = np.random.default_rng(0)
    labels = ["|".join(f"name {x}" for x in rng.integers(0, 500, 12)) for _ in range(300)]
    text = str(audit_table(make_table(labels)))
    assert len(text.splitlines()) < 50
    assert "more, possible in" in text


def test_the_text_does_not_carry_orders_to_a_terminal():
    text = str(
        audit_table(make_table(["a\x1b[2J", "b\u202e", "a\x1b[2J|b\u202e", "a\x1b[2J", "c"]))
    )
    assert not set(text) & {"\x1b", "\u202e"}
    assert "a\\x1b[2J" in text


def test_the_json_is_strict_and_whole():
    audit = audit_table(make_table([*SETS, ""]))
    content = json.loads(json.dumps(audit.to_json(), allow_nan=False))
    assert content["rows"] == 6
    assert content["rows_without_label"] == 1
    assert content["set_sizes"] == {"1": 3, "2": 2}
    assert content["labels"][1] == {"label": "cat", "candidate_in": 3, "alone_in": 1}
    assert content["pairs"][0] == {"labels": ["bird", "cat"], "rows": 1}
    assert content["cost"]["equivalent_rows"] == pytest.approx(5 * audit.information.known_share)
    assert content["findings"][0]["rows"] == [6]


def test_labels_of_any_type_go_into_the_json():
    candidates = CandidateLabels.from_sets([[(1, 2)], [(3, 4)]])
    table = make_table().drop(columns="label")[:2]
    content = audit_table(table, labels=candidates).to_json()
    assert [each["label"] for each in content["labels"]] == ["(1, 2)", "(3, 4)"]
    numbers = CandidateLabels.from_labels(np.array([1, 2]))
    content = audit_table(table, labels=numbers).to_json()
    assert json.loads(json.dumps(content))["labels"][0]["label"] == "1"


_MEASURE = """
import resource
import numpy as np, pandas as pd
from disambig.tabular.audit.table_audit import audit_table
rng = np.random.default_rng(0)
n = 200_000
names = np.array([f"label {i}" for i in range(50)], dtype=object)
table = pd.DataFrame(rng.normal(size=(n, 20)), columns=[f"f{i}" for i in range(20)])
table["label"] = names[rng.integers(0, 50, n)] + "|" + names[rng.integers(0, 50, n)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
audit_table(table)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_a_large_table_takes_little_memory():
    # A fifth of a million rows: a fifth of the limit for a million, with some room.
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 300  # megabytes


CAPTIONS = [
    "ann|bob|eve",
    "ann|bob|eve",
    "",
    "bob|joe",
    "joe",
    "ann",
    "eve|bob",
    "eve|bob",
    "eve|bob",
]
PHOTOS = ["x", "x", "x", "y", "y", "", "w", "w", "w"]
FACES = ["ann", "bob", "eve", "bob", "joe", "ann", "bob", "eve", ""]


def test_groups_are_counted_and_their_rows_are_those_of_the_table():
    audit = audit_table(make_table(CAPTIONS, photo=PHOTOS), group="photo")
    groups = audit.groups
    # The third row has no set, the sixth no group: it stands alone.
    assert (groups.n_groups, groups.most_rows, groups.n_single) == (4, 3, 1)
    assert audit.features == {"number": ("size", "weight")}
    section = next(part for part in audit.sections() if part.heading == "Rows that come together")
    assert section.lines[0].startswith("4 groups, 1 of a single row.")
    assert "Cover is impossible in 1 of 4 groups (2 rows)" in section.lines[2]
    assert "The first begins at row 7, with 3 rows and 2 labels." in section.lines[3]
    assert any("names no group for row 6" in notice for notice in audit.notices)
    facts = json.loads(json.dumps(audit.to_json()))["groups"]
    assert (facts["n_groups"], facts["n_other_rows"], facts["promise"]) == (4, 1, None)
    assert facts["exclusive"]["first"] == {"first_row": 7, "n_rows": 3, "n_labels": 2}
    assert facts["cover"]["first"]["first_row"] == 1
    assert facts["kept"] == []


def test_true_labels_say_in_how_many_groups_a_promise_holds():
    table = make_table(
        [*CAPTIONS, "ann|bob", "ann|bob"], photo=[*PHOTOS, *"vv"], face=[*FACES, "ann", "ann"]
    )
    audit = audit_table(table, group="photo", truth="face", promise="cover")
    # "w" has an unknown face. "x" has three names for its two rows with a set.
    kept = {one.kind: (one.n_kept, one.n_groups) for one in audit.kept}
    assert kept == {"cover": (1, 2), "exclusive": (2, 3)}
    text = str(audit)
    assert (
        "Of 2 groups of several rows where cover is possible and all true labels are known, it "
        "holds in 1: 50 %" in text
    )
    assert "Exclusive" not in text
    assert audit.groups.promise.strength == 0.9
    assert audit.to_json()["groups"]["promise"] == {"kind": "cover", "strength": 0.9}
    assert audit.to_json()["groups"]["kept"][0]["n_kept"] == 1


def test_runs_and_groups_that_sets_bring_along_are_audited_too():
    table = make_table(["cat|dog", "cat|dog", "bird", "cat|dog"])
    assert audit_table(table, group="runs").groups.n_groups == 3
    y = CandidateLabels.from_strings(table["label"]).with_groups([0, 0, 0, 1], promise="cover")
    groups = audit_table(table.drop(columns="label"), labels=y).groups
    assert (groups.n_groups, groups.promise.kind) == (2, "cover")
    assert audit_table(table).groups is None
    assert audit_table(table).to_json()["groups"] is None


def test_wrong_groups_and_promises_are_errors_not_findings():
    table = make_table(photo=list("aabbc"))
    with pytest.raises(TableError, match="'photos'.*Did you mean 'photo'"):
        audit_table(table, group="photos")
    with pytest.raises(DisambigError, match="A promise is about rows that come together"):
        audit_table(table, promise="cover")


def test_groups_that_nobody_named_are_a_finding():
    rng = np.random.default_rng(0)
    captions = ["|".join(rng.choice(list("abcdefgh"), 2, replace=False)) for _ in range(100)]
    labels = [*np.repeat(captions, 3), "", ""]
    photo = [*np.repeat(np.arange(100), 3), 0, 0]
    audit = audit_table(make_table(labels, photo=photo))
    assert kinds_of(audit)[:2] == ["no_label", "groups_not_named"]
    assert "--group photo" in str(audit)
    assert "groups_not_named" not in kinds_of(
        audit_table(make_table(labels, photo=photo), group="photo")
    )
