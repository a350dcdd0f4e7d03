"""What cleaning wrote into a table, read back."""

import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from disambig import CandidateLabels, clean_table, read_table
from disambig._core.errors import TableError
from disambig.tabular import write_table
from disambig.tabular.accuracy import Accuracy
from disambig.tabular.clean_details import (
    CleanDetails,
    describe_cleaning,
    details_path,
    read_details,
)
from disambig.tabular.cleaned_table import CleanedTable, read_cleaned
from disambig.tabular.cleaning import clean_task, summarise_cleaning
from disambig.tabular.listener import FitListener
from disambig.tabular.provenance import Provenance
from disambig.tabular.table_cells import CLEAN_COLUMNS
from disambig.tabular.task import prepare_task
from tabular.small_tables import neighbours, quick_network, three_clouds

CLEANED = pd.DataFrame(
    {
        "photo": ["p1", "p2", "p3", "p4"],
        "chosen_label": ["cat", "dog", "fox", "cat"],
        "confidence": ["0.7", "1", "0.5", "1"],
        "margin": ["0.4", "1", "0.2", "1"],
        "second_look": ["True", "False", "True", "False"],
        "candidate_confidences": [
            "cat:0.7|dog:0.3", "dog:1", "cat:0.2|dog:0.3|fox:0.5", "cat:1|dog:0"
        ],
    }
)  # fmt: skip


def made_by(details_of: pd.DataFrame = CLEANED, **changes: object) -> CleanDetails:
    """Return details of the table above, as they would have been written."""
    import hashlib

    lines = "".join(f"{cell}\n" for cell in details_of["candidate_confidences"])
    values = {
        "method": "ncpd",
        "parameters": {"epochs": "6", "hidden": "16"},
        "folds": 5,
        "seed": 1,
        "errors_to_find": 0.9,
        "prefix": "",
        "labels": ["label"],
        "id": "photo",
        "features": {"number": ["size", "length"]},
        "decisions": 1200,
        "fingerprint": hashlib.sha256(lines.encode()).hexdigest(),
        "accuracy": Accuracy(share=0.75, low=0.3, high=0.95, n_rows=4),
        "histories": [{"T": [0.1, None]}],
        "per_network": {1: [[0.6, 0.4], [0.8, 0.2]], 3: [[0.1, 0.2, 0.7]]},
    }
    return CleanDetails(**(values | changes))


# A table that is as it was ------------------------------------------------------------------------


def test_candidates_confidences_and_choices_are_those_of_the_cells():
    rows = read_cleaned(CLEANED)
    assert rows.candidates.classes.tolist() == ["cat", "dog", "fox"]
    assert rows.candidates.to_sets() == [
        {"cat", "dog"}, {"dog"}, {"cat", "dog", "fox"}, {"cat", "dog"}
    ]  # fmt: skip
    np.testing.assert_allclose(rows.confidences, [0.7, 0.3, 1, 0.2, 0.3, 0.5, 1, 0])
    assert rows.chosen.tolist() == [0, 1, 2, 0]
    assert rows.confidence.tolist() == [0.7, 1, 0.5, 1]
    assert rows.second_look.tolist() == [True, False, True, False]
    assert rows.expected_errors == pytest.approx(0.8)
    assert list(rows.values.columns) == ["photo"]
    assert (rows.id, rows.provenance, rows.histories) == (None, Provenance(), ())


def test_the_least_sure_rows_come_first_and_equal_ones_in_the_order_of_the_table():
    rows = read_cleaned(CLEANED)
    assert rows.doubtful_rows(10).tolist() == [2, 0]
    assert rows.doubtful_rows(1).tolist() == [2]
    alike = CLEANED.assign(second_look="1", candidate_confidences="cat:0.5|dog:0.5|fox:0")
    assert read_cleaned(alike).doubtful_rows(9).tolist() == [0, 1, 2, 3]


def cleaned_by_network() -> tuple[pd.DataFrame, CleanDetails]:
    frame = three_clouds(30)
    frame["truth"] = frame["truth"].where(frame.index >= 25, "")
    task = prepare_task(frame, truth="truth")
    cleaning = clean_task(task, quick_network(), n_folds=2, listener=FitListener())
    summary = summarise_cleaning(task, cleaning)
    details = describe_cleaning(
        task, quick_network(), cleaning, accuracy=summary.accuracy, evidence=summary.evidence,
        folds=2, seed=0, errors_to_find=0.9, prefix="", labels=["label"], id=None,
    )  # fmt: skip
    return pd.concat([frame, cleaning.columns], axis=1), details


@pytest.fixture(scope="module")
def by_network() -> tuple[pd.DataFrame, CleanDetails]:
    return cleaned_by_network()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "xlsx"])
def test_a_file_of_any_format_is_read_back(tmp_path, by_network, suffix):
    frame, details = by_network
    write_table(frame, tmp_path / f"clean.{suffix}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = read_cleaned(read_table(tmp_path / f"clean.{suffix}"), details)
    assert rows.candidates.to_sets() == CandidateLabels.from_strings(frame["label"]).to_sets()
    assert rows.candidates.classes[rows.chosen].tolist() == frame["chosen_label"].tolist()
    np.testing.assert_allclose(rows.confidence, frame["confidence"])
    assert rows.second_look.tolist() == frame["second_look"].tolist()
    assert list(rows.values.columns) == list(three_clouds(30).columns)
    assert len(rows.histories) == 2
    known = rows.unaided_confidences.keys()
    assert rows.per_network.keys() == known | set(np.flatnonzero(frame["second_look"]))


def test_a_label_that_all_networks_prefer_is_chosen(by_network):
    # So the order of what they say is that of the candidates.
    frame, details = by_network
    rows = read_cleaned(frame, details)
    _, columns = rows.candidates.pairs()
    agreed = []
    for row, said in rows.per_network.items():
        np.testing.assert_allclose(np.sum(said, axis=1), 1, atol=1e-3)
        preferred = {int(np.argmax(own)) for own in said}
        if len(preferred) == 1 and rows.candidates.sizes[row] == 2:
            place = rows.candidates.starts[row] + preferred.pop()
            assert columns[place] == rows.chosen[row]
            agreed.append(columns[place])
    assert len(set(agreed)) > 1


def test_what_a_table_of_python_holds_is_read_without_a_file():
    cleaned = clean_table(three_clouds(), ignore=["truth"], method=neighbours(), n_folds=2)
    rows = read_cleaned(cleaned)
    assert rows.candidates.classes[rows.chosen].tolist() == cleaned["chosen_label"].tolist()
    assert rows.per_network == {}


ODD = ["a|b", "<script>alert(1)</script>", "!x:1", " two\nlines"]


def test_labels_with_signs_of_their_own_are_read_back(tmp_path):
    frame = three_clouds(30)
    sets = CandidateLabels.from_strings(frame["label"])
    mask = np.hstack([sets.to_mask(), sets.to_mask()[:, :1]])
    odd = CandidateLabels(mask, ODD)
    cleaned = clean_table(
        frame.drop(columns=["label", "truth"]), labels=odd, method=neighbours(), n_folds=2
    )
    write_table(cleaned, tmp_path / "clean.csv")
    rows = read_cleaned(read_table(tmp_path / "clean.csv"))
    assert rows.candidates.to_sets() == odd.to_sets()
    assert rows.candidates.classes[rows.chosen].tolist() == cleaned["chosen_label"].tolist()


# Prefixes and names -------------------------------------------------------------------------------


def prefixed(prefix: str, frame: pd.DataFrame = CLEANED) -> pd.DataFrame:
    return frame.rename(columns={name: prefix + name for name in CLEAN_COLUMNS})


@pytest.mark.parametrize("prefix", ["x_", "chosen_label ", "é"])
def test_a_prefix_is_noticed_with_details_or_without(prefix):
    frame = prefixed(prefix)
    for details in (None, made_by(prefix=prefix)):
        rows = read_cleaned(frame, details)
        assert rows.chosen.tolist() == [0, 1, 2, 0]
        assert list(rows.values.columns) == ["photo"]


def test_of_two_cleanings_the_one_of_the_details_is_read_and_else_the_last():
    again = prefixed("new_", CLEANED.assign(chosen_label=["dog", "dog", "cat", "dog"]))
    both = pd.concat([CLEANED, again.drop(columns="photo")], axis=1)
    assert read_cleaned(both, made_by(prefix="new_")).chosen.tolist() == [1, 1, 0, 1]
    assert read_cleaned(both, made_by(prefix="")).chosen.tolist() == [0, 1, 2, 0]
    assert read_cleaned(both).chosen.tolist() == [1, 1, 0, 1]


def test_details_say_which_column_names_the_rows():
    assert read_cleaned(CLEANED, made_by()).id == "photo"
    assert read_cleaned(CLEANED.drop(columns="photo"), made_by()).id is None
    other = CLEANED.assign(number=list("abcd"))
    assert read_cleaned(other, made_by(), id="number").id == "number"
    with pytest.raises(TableError, match="no column 'phot'.*Did you mean 'photo'"):
        read_cleaned(CLEANED, made_by(), id="phot")


def test_what_is_known_of_a_cleaning_is_told():
    rows = read_cleaned(CLEANED, made_by())
    assert rows.per_network == {0: [[0.6, 0.4], [0.8, 0.2]], 2: [[0.1, 0.2, 0.7]]}
    assert rows.histories == [{"T": [0.1, None]}]
    model = rows.provenance.about["choices of the model"]
    assert model.startswith("Right in 0.750 of the 4 rows")
    assert rows.provenance.about["method"] == "ncpd"
    assert rows.provenance.about["parameters"] == "epochs=6, hidden=16"
    assert rows.provenance.judged_by == "5 models, each on rows that it had not seen"
    assert rows.provenance.about["rows settled by hand"] == "1,200"
    assert rows.provenance.about["labels from"] == "label"
    assert rows.provenance.about["features (number)"] == "size, length"
    in_sample = read_cleaned(CLEANED, made_by(folds=None, labels=[], accuracy=None))
    assert "was trained on the same rows" in in_sample.provenance.judged_by
    assert in_sample.provenance.about["labels from"] == "a table of annotations"
    assert "choices of the model" not in in_sample.provenance.about
    assert (in_sample.provenance.has_seen_rows, rows.provenance.has_seen_rows) == (True, False)
    assert (rows.provenance.n_settled, rows.provenance.n_answered) == (1200, 0)


@pytest.mark.parametrize(
    ("calibrate", "on"),
    [
        ("sets", "candidate sets of held-out rows"),
        ("beliefs", "weights of held-out rows"),
        ("truth", "known true labels"),
        ("none", ""),
        (None, None),
    ],
)
def test_what_confidences_were_calibrated_on_is_told(calibrate, on):
    assert read_cleaned(CLEANED, made_by(calibrate=calibrate)).provenance.calibrated_on == on


def test_answers_that_are_no_labels_are_counted():
    made = made_by(answers={"label": 3, "cannot tell": 2, "bad row": 4})
    assert read_cleaned(CLEANED, made).provenance.n_answered == 6


def left_out(rows: CleanedTable) -> bool:
    return not (rows.per_network or rows.histories or rows.provenance.about)


@pytest.mark.parametrize(
    "change",
    [
        {"candidate_confidences": ["cat:0.7|dog:0.3", "dog:1", "cat:0.9|fox:0.1|dog:0", "cat:1"],
         "chosen_label": ["cat", "dog", "cat", "cat"]},
        {"candidate_confidences": ["cat:0.70|dog:0.3", *CLEANED["candidate_confidences"][1:]]},
    ],
)  # fmt: skip
def test_details_of_another_cleaning_are_left_out_with_a_warning(change):
    with pytest.warns(UserWarning, match="belong to another cleaning and were ignored"):
        rows = read_cleaned(CLEANED.assign(**change), made_by())
    assert left_out(rows)


@pytest.mark.parametrize(
    "per_network", [{5: [[1.0]]}, {0: [[1.0]]}, {1: [[1.0]]}, {3: [[0.5, 0.5, 0], [1.0]]}]
)
def test_details_about_candidates_that_are_not_there_are_left_out(per_network):
    with pytest.warns(UserWarning, match="belong to another cleaning"):
        rows = read_cleaned(CLEANED, made_by(per_network=per_network))
    assert left_out(rows)


def test_details_with_another_prefix_are_left_out():
    with pytest.warns(UserWarning, match="belong to another cleaning"):
        rows = read_cleaned(
            CLEANED.assign(candidate_confidences="cat:1|dog:0|fox:0"), made_by(prefix="x_")
        )
    assert rows.chosen.tolist() == [0, 1, 2, 0]


# What is no cleaned table -------------------------------------------------------------------------


def test_a_table_that_was_not_cleaned_is_refused():
    with pytest.raises(TableError, match=r"no column 'chosen_label'.*disambig clean FILE"):
        read_cleaned(three_clouds())


@pytest.mark.parametrize("column", CLEAN_COLUMNS)
def test_a_column_that_is_gone_is_named(column):
    with pytest.raises(TableError, match=rf"no column '{column}'.*Clean the table first"):
        read_cleaned(CLEANED.drop(columns=column))


def test_a_table_without_rows_is_refused():
    with pytest.raises(TableError, match="needs rows. Got none"):
        read_cleaned(CLEANED[:0])


@pytest.mark.parametrize("label", ["fox", "cow", "", None, "Dog"])
def test_a_choice_changed_by_hand_is_refused_with_its_row(label):
    labels = ["cat", label, "fox", "cat"]
    with pytest.raises(
        TableError, match=r"one of the row's candidates. Got .* in row 2\. .*decisions"
    ):
        read_cleaned(CLEANED.assign(chosen_label=labels))


def test_a_choice_changed_to_another_candidate_is_taken():
    labels = ["dog", "dog", "fox", "dog"]
    assert read_cleaned(CLEANED.assign(chosen_label=labels)).chosen.tolist() == [1, 1, 2, 1]


@pytest.mark.parametrize("marks", [[True, False, True, False], [1, 0, 1, 0], [1.0, 0.0, 1.0, 0.0],
                                   ["TRUE", "false", " true", "0"]])  # fmt: skip
def test_marks_are_read_however_a_program_writes_them(marks):
    frame = CLEANED.assign(second_look=pd.Series(marks))
    assert read_cleaned(frame).second_look.tolist() == [True, False, True, False]


@pytest.mark.parametrize("mark", ["perhaps", "", None, "2", float("nan")])
def test_a_mark_that_says_nothing_is_refused_with_its_row(mark):
    marks = ["True", "True", mark, "True"]
    with pytest.raises(
        TableError, match=r"'second_look' must say True or False. Got .* in row 3\."
    ):
        read_cleaned(CLEANED.assign(second_look=marks))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["cat|dog", "dog", "fox", "cat"], "must hold confidences, as in cat:0.9.* Got 'cat|dog'"),
        (["cat:0.7|dog:0.3", "", "fox:1", "cat:1"], "Got '' in row 2"),
        (["cat:0.7|dog:0.3", "dog:1", "fox:-1", "cat:1"], "Got 'fox:-1' in row 3"),
        (["cat:0.7|dog:0.3", "dog:1", "fox:nan", "cat:1"], "Got 'fox:nan' in row 3"),
        (["cat:0.7|dog:0.3", "dog:1", "fox:2", "cat:1"], "Got 'fox:2' in row 3"),
        (["cat:0.7|cat:0.3", "dog:1", "fox:1", "cat:1"], "in row 1"),
        (["cat:0.7|:0.3", "dog:1", "fox:1", "cat:1"], "in row 1"),
        (["cat:0.7|dog:0.3", "dog:1", "fox:1", '{"cat": '], "in row 4"),
        (["cat:0.7|dog:0.3", "dog:1", "fox:1", '{"cat": true}'], "in row 4"),
        (["cat:0.7|dog:0.3", "dog:1", "fox:1", '{"cat": "1"}'], "in row 4"),
        (["cat:0.7|dog:0.3", "dog:1", "fox:1", '{"a":' * 5000], "in row 4"),
        (["cat:0.7|dog:0.3", "dog:1", "fox:1", "{}"], "in row 4"),
    ],
)
def test_confidences_that_are_none_are_refused_with_their_row(cells, message):
    with pytest.raises(TableError, match=message):
        read_cleaned(CLEANED.assign(candidate_confidences=cells))


# Sets that may miss the right label ---------------------------------------------------------------

MISSES = CLEANED.assign(
    candidate_confidences=[
        "cat:0.5|dog:0.2", "dog:0.4", "cat:0.2|dog:0.3|fox:0.45", "cat:0.1|dog:0|fox:0.9"
    ],
    chosen_label=["cat", "dog", "fox", "fox"],
    miss_probability=["0.3", "0.6", "0.05", "0.9"],
    label_if_missed=["fox", "cat", "", "fox"],
)  # fmt: skip


def test_the_probability_of_a_miss_and_the_label_then_are_read():
    rows = read_cleaned(MISSES)
    assert rows.miss_probability.tolist() == [0.3, 0.6, 0.05, 0.9]
    assert rows.label_if_missed.tolist() == [2, 0, -1, 2]
    assert list(rows.values.columns) == ["photo"]
    # 0.3 against the dog's 0.2; 0.6 against nothing; 0.05 against 0.5; 0.9 against the dog's 0.
    assert rows.set_may_miss.tolist() == [True, True, False, True]


def test_a_table_without_these_columns_is_read_as_before():
    rows = read_cleaned(CLEANED)
    assert (rows.miss_probability, rows.label_if_missed) == (None, None)
    assert rows.set_may_miss.tolist() == [False] * 4
    one = read_cleaned(CLEANED.assign(miss_probability="of my own"))
    assert list(one.values.columns) == ["photo", "miss_probability"]


def test_a_label_that_is_nobody_s_candidate_becomes_a_class():
    rows = read_cleaned(MISSES.assign(label_if_missed=["owl", "", "", "fox"]))
    assert rows.candidates.classes.tolist() == ["cat", "dog", "fox", "owl"]
    assert rows.label_if_missed.tolist() == [3, -1, -1, 2]
    np.testing.assert_allclose(rows.confidences[:3], [0.5, 0.2, 0.4])


@pytest.mark.parametrize("cell", ["1.5", "-0.1", "nan?", "often"])
def test_a_probability_of_a_miss_must_be_one(cell):
    frame = MISSES.assign(miss_probability=["0.3", cell, None, "0"])
    with pytest.raises(TableError, match=r"'miss_probability' must hold probabilities.* in row 2"):
        read_cleaned(frame)


def test_networks_said_nothing_of_a_label_that_was_chosen_from_outside_the_set():
    per_network = {1: [[0.6, 0.4]], 4: [[0.9, 0.1]]}
    rows = read_cleaned(MISSES, made_by(MISSES, per_network=per_network))
    assert rows.per_network == {0: [[0.6, 0.4]]}


def test_rows_of_known_labels_tell_what_the_model_said_before(tmp_path):
    frame = three_clouds(30)
    frame["truth"] = frame["truth"].where(frame.index >= 25, "")
    words = ["clean", "three.csv", "--out", "clean.csv"]
    found = []
    for name, truth in (("knowing", "truth"), ("blind", None)):
        out = tmp_path / f"{name}.csv"
        clean_table(
            frame, truth=truth, ignore="truth", method="plknn", n_folds=2, out=out, command=words
        )
        found.append(read_cleaned(read_table(out), read_details(details_path(out))))
    knowing, blind = found
    assert (knowing.truth, blind.truth) == ("truth", None)
    assert blind.unaided_confidences == {}
    assert min(knowing.unaided_confidences) == 25
    rows, columns = blind.candidates.pairs()
    for row, shares in knowing.unaided_confidences.items():
        assert len(shares) > 1
        names = blind.candidates.classes[columns[rows == row]].tolist()
        assert shares == pytest.approx(
            dict(zip(names, blind.confidences[rows == row], strict=True))
        )
    assert knowing.provenance.command == tuple(words)
    written = datetime.fromisoformat(knowing.provenance.made_at)
    assert written.timestamp() == int(details_path(tmp_path / "knowing.csv").stat().st_mtime)
    assert knowing.features["number"] == ["length", "width"]
