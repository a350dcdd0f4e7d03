"""An audit after a fit: the sets that a model has found to miss the right label."""

import json

import pytest

from disambig import audit_table, fit_table
from disambig._core.errors import ModelFileError, TableError
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
