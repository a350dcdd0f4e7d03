"""An audit after a fit: the sets that a model has found to miss the right label."""

import json
from itertools import product

import numpy as np
import pytest

from disambig import CandidateLabels, audit_table, fit_table
from disambig._core.errors import ModelFileError, TableError
from disambig.tabular.audit.judged_sets import check_promises
from tabular.small_tables import neighbours, three_clouds

FRAME = three_clouds(90)
WRONG = [3, 31, 62]
for row in WRONG:  # a single label, and a wrong one
    FRAME.loc[row, "label"] = "dog" if FRAME.loc[row, "truth"] == "cat" else "cat"
OPTIONS = {"ignore": ["truth"]}


@pytest.fixture(scope="module")
def model():
    return fit_table(FRAME, method=neighbours(), **OPTIONS)


def test_the_sets_that_a_model_doubts_are_listed(model):
    audit = audit_table(FRAME, model=model, **OPTIONS)
    (section,) = [one for one in audit.sections() if one.heading.startswith("Sets that may miss")]
    assert "% of the sets" in section.lines[0]
    named = {one.row - 1: one for one in audit.judged.worst[:3]}
    assert set(named) == set(WRONG)
    assert all(named[row].label == FRAME.loc[row, "truth"] for row in WRONG)
    assert f"Row {audit.judged.worst[0].row}: " in section.lines[1]
    assert json.loads(json.dumps(audit.to_json()))["misses"]["rows"][0]["probability"] > 0.5


def test_sets_are_named_by_the_id_too(model):
    table = FRAME.assign(key=[f"K-{row}" for row in range(len(FRAME))])
    audit = audit_table(table, model=model, id="key", **OPTIONS)
    row = audit.judged.worst[0].row
    assert audit.judged.lines()[1].startswith(f"Row {row} ('K-{row - 1}'): ")
    assert audit.to_json()["misses"]["rows"][0]["id"] == f"K-{row - 1}"


def test_without_a_model_nothing_is_said_of_misses():
    audit = audit_table(FRAME, **OPTIONS)
    assert audit.to_json()["misses"] is None
    assert not [one for one in audit.sections() if one.heading.startswith("Sets that may miss")]


@pytest.mark.parametrize("other", [FRAME.head(60), FRAME.iloc[::-1].reset_index(drop=True)])
def test_another_table_is_refused(model, other):
    with pytest.raises(TableError, match="trained on another table, of 90 rows"):
        audit_table(other, model=model, **OPTIONS)


def test_a_model_without_folds_is_refused():
    model = fit_table(FRAME, method=neighbours(), n_folds=0, **OPTIONS)
    with pytest.raises(ModelFileError, match="Fit it again with folds"):
        audit_table(FRAME, model=model, **OPTIONS)


def test_promises_are_judged_in_groups_that_could_keep_them_and_have_all_true_labels():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 40, size=120)
    mask = rng.random((120, 4)) < 0.5
    mask[:, 0] = True
    y = CandidateLabels.from_mask(mask, list("abcd")).with_groups(groups)
    truth = rng.choice(np.array([*"abcdx", None], dtype=object), size=120, p=[0.19] * 5 + [0.05])
    counts = {"cover": [0, 0], "exclusive": [0, 0]}
    for group in set(groups.tolist()):
        labels, sets = truth[groups == group].tolist(), list(y[groups == group])
        if None in labels or len(labels) == 1:
            continue
        union = set().union(*sets)
        for kind, keeps in (
            ("cover", lambda given, union=union: union <= set(given)),
            ("exclusive", lambda given: len(set(given)) == len(given)),
        ):
            if any(keeps(given) for given in product(*sets)):
                counts[kind][0] += 1
                counts[kind][1] += keeps(labels)
    assert all(0 < kept < judged < 40 for judged, kept in counts.values())
    found = {one.kind: [one.n_groups, one.n_kept] for one in check_promises(y, truth)}
    assert found == counts


def test_without_groups_or_true_labels_no_promise_is_judged():
    y = CandidateLabels.from_strings(["a|b", "a"])
    assert check_promises(y, np.array(["a", "a"], dtype=object)) == ()
    assert check_promises(y.with_groups([0, 0]), np.array(["a", None], dtype=object)) == ()
