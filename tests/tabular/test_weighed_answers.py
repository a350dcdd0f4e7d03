"""Tables whose annotators are weighed: clean, fit, decisions, resumed work."""

import numpy as np
import pandas as pd
import pytest

from disambig import LabelColumns, clean_table, fit_table
from disambig._core.errors import ParameterError, TableError
from disambig.tabular import read_annotations, read_answers
from disambig.tabular.fit_queue import fit_queue
from disambig.tabular.listener import FitListener
from disambig.tabular.task import chosen_method, prepare_task
from disambig.tabular.weighed_answers import learn_annotators
from disambig.tabular.work_folder import work_fingerprint

SKILLS = {"ann": 0.95, "bob": 0.7, "cem": 0.6, "eve": 1 / 3, "fay": 1 / 3}
NAMES = np.array(["cat", "cow", "dog"])
LONG = {"item": "photo", "annotator": "who", "label": "said"}


def tables(n_items=240, per_item=5, seed=0):
    """Return a table of features with the truth, the answers in columns, and in a long table."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 3, n_items)
    features = random.normal(size=(n_items, 3)) + 2 * np.eye(3)[truth]
    frame = pd.DataFrame(features, columns=["a", "b", "c"]).assign(
        photo=[f"p{row}" for row in range(n_items)], truth=NAMES[truth]
    )
    wide = frame.copy()
    for name, skill in SKILLS.items():
        wrong = (truth + random.integers(1, 3, n_items)) % 3
        wide[name] = NAMES[np.where(random.random(n_items) < skill, truth, wrong)]
    for row in range(n_items):
        for name in random.permutation(list(SKILLS))[per_item:]:
            wide.loc[row, name] = ""
    long = wide.melt(id_vars="photo", value_vars=list(SKILLS), var_name="who", value_name="said")
    return frame, wide, long


def cleaned(frame, labels, **given):
    settings = {"method": "plknn", "id": "photo", "truth": "truth", "n_folds": 3} | given
    kept = clean_table(frame.drop(columns="truth"), labels=labels, **settings | {"truth": None})
    return (kept["chosen_label"] == frame["truth"]).mean(), kept


def test_weighing_annotators_sets_more_rows_right_than_counting_votes():
    frame, _, long = tables()
    counted, _ = cleaned(frame, read_annotations(long, **LONG, order=frame["photo"])[1])
    _, model = read_answers(long, **LONG, order=frame["photo"])
    weighed, table = cleaned(frame, model)
    alone = (model.choose() == frame["truth"]).mean()
    assert weighed > counted + 0.04
    assert weighed >= alone
    assert table["confidence"].mean() == pytest.approx(weighed, abs=0.04)


def test_confidences_of_a_model_of_all_rows_are_about_the_sets_to_choose_from():
    # With many labels, some are trained on that are not possible enough to be chosen.
    random = np.random.default_rng(0)
    names = np.array([f"label {number}" for number in range(40)])
    truth = random.integers(0, 40, 600)
    frame = pd.DataFrame({"x": truth + random.normal(scale=0.5, size=600)})
    for name, skill in (("ann", 0.9), ("bob", 0.7), ("cem", 0.5)):
        guess = random.integers(0, 40, 600)
        frame[name] = names[np.where(random.random(600) < skill, truth, guess)]
    labels = LabelColumns(columns=("ann", "bob", "cem"), votes=True)
    task = prepare_task(frame, labels=labels)
    assert (task.training.to_mask() & ~task.candidates.to_mask()).any()
    table = clean_table(frame, labels=labels, method="plknn", in_sample=True)
    sums = [
        sum(float(part.rpartition(":")[2]) for part in cell.split("|"))
        for cell in table["candidate_confidences"]
    ]
    np.testing.assert_allclose(sums, 1, atol=1e-4)


def test_columns_of_annotators_give_the_same_as_a_long_table():
    frame, wide, long = tables(n_items=90)
    _, model = read_answers(long, **LONG, order=frame["photo"])
    columns = LabelColumns(columns=tuple(SKILLS), votes=True, classes=tuple(NAMES))
    _, by_lines = cleaned(frame, model)
    _, by_columns = cleaned(wide, columns)
    added = ["chosen_label", "confidence", "candidate_confidences", "miss_probability"]
    pd.testing.assert_frame_equal(by_lines[added], by_columns[added])
    alike = LabelColumns(columns=tuple(SKILLS), votes=True, equal_votes=True)
    _, counted = cleaned(wide, alike)
    assert not counted[added].equals(by_columns[added])
    # One column is nobody to be compared with.
    assert not LabelColumns(columns=("ann",), votes=True).weighs_annotators(wide)


def test_rows_with_single_answers_are_learned_from_in_two_rounds():
    frame, _, long = tables(n_items=400, per_item=1)
    _, model = read_answers(long, **LONG, order=frame["photo"])
    assert model.n_rounds == 2
    alone = (model.choose() == frame["truth"]).mean()
    weighed, _ = cleaned(frame, model, method="em")
    assert weighed > alone + 0.1


def test_items_without_an_answer_are_used_if_that_is_asked_for():
    frame, _, long = tables(per_item=3)
    silent = [f"p{row}" for row in range(20)]
    long.loc[long["photo"].isin(silent), "said"] = None
    with pytest.raises(TableError, match="20 of 240 items have none .* --empty all"):
        read_answers(long, **LONG, order=frame["photo"])
    _, model = read_answers(long, **LONG, order=frame["photo"], empty="all")
    _, table = cleaned(frame, model, method="em")
    chosen = table["chosen_label"][:20].to_numpy()
    assert (chosen == frame["truth"][:20]).mean() > 0.7
    assert table["confidence"][:20].mean() < table["confidence"][20:].mean()


def learned(frame, labels, work=None, **given):
    task = prepare_task(frame.drop(columns="truth"), labels=labels, id="photo", **given)
    method = chosen_method("plknn")
    with fit_queue(method, 3, 1, FitListener()) as queue:
        return task, *learn_annotators(task, method, n_folds=3, seed=0, queue=queue, work=work)


def test_what_a_person_has_settled_tells_of_annotators_and_stays_settled():
    frame, _, long = tables(n_items=120)
    long["said"] = long["said"].where(long["who"] != "ann", "cow")  # says but one label
    _, model = read_answers(long, **LONG, order=frame["photo"])
    decisions = dict(enumerate(frame["truth"][:60]))
    task, weighed, predicted = learned(frame, model, decisions=decisions)
    assert weighed.candidates[:60].to_strings() == frame["truth"][:60].tolist()
    assert (weighed.candidates[60:].to_mask() == task.candidates[60:].to_mask()).all()
    # Certainty, whatever the model says of these rows.
    expected = predicted.probabilities.copy()
    expected[:60] = frame["truth"][:60].to_numpy()[:, np.newaxis] == model.classes
    np.testing.assert_array_equal(
        weighed.annotators.known.confusions, model.given(expected).known.confusions
    )


def test_the_last_weights_are_those_given_what_models_say():
    frame, _, long = tables(n_items=120)
    _, model = read_answers(long, **LONG, order=frame["photo"])
    task, weighed, predicted = learned(frame, model)
    known = model.given(predicted.probabilities).known
    mask = task.given.to_mask()
    np.testing.assert_array_equal(weighed.given.to_mask(), mask)
    weights = weighed.given.weights.toarray()
    np.testing.assert_allclose(weights[mask], np.maximum(known.likelihood, 1e-6)[mask])
    table = clean_table(
        frame.drop(columns="truth"), labels=model, id="photo", method="plknn", n_folds=3
    )
    posterior = known.posterior / np.where(mask, known.posterior, 0).sum(axis=1, keepdims=True)
    outside = np.where(mask, 0, known.posterior).sum(axis=1)
    expected = np.where(mask, posterior, 0).max(axis=1) * (1 - outside)
    np.testing.assert_allclose(table["confidence"], expected, atol=1e-6)
    np.testing.assert_allclose(table["miss_probability"], outside, atol=1e-6)


def test_other_answers_are_other_work():
    frame, _, long = tables(n_items=60)
    features = frame.drop(columns="truth")
    method = chosen_method("plknn")

    def fingerprint(long):
        _, model = read_answers(long, **LONG, order=frame["photo"])
        return work_fingerprint(prepare_task(features, labels=model, id="photo"), method)

    first = fingerprint(long)
    assert fingerprint(long) == first
    assert fingerprint(long.assign(who=long["who"].replace("ann", "ANN"))) != first


def test_a_model_is_trained_on_weighed_answers_and_saved(tmp_path):
    frame, _, long = tables()
    _, model = read_answers(long, **LONG, order=frame["photo"])
    fitted = fit_table(
        frame, labels=model, id="photo", truth="truth", method="em", n_folds=3, out=tmp_path / "m"
    )
    alike = read_annotations(long, **LONG, order=frame["photo"])[1]
    counted = fit_table(frame, labels=alike, id="photo", truth="truth", method="em", n_folds=3)
    assert fitted.estimate.accuracy.share > counted.estimate.accuracy.share - 0.01
    assert fitted.calibration.power <= 1
    without = fit_table(frame, labels=model, id="photo", truth="truth", method="em", n_folds=0)
    assert without.estimate is None


def test_a_promise_is_about_labels_that_somebody_named():
    frame, _, long = tables(n_items=60, per_item=2)
    _, model = read_answers(long, **LONG, order=frame["photo"])
    group = frame.assign(pair=np.repeat(np.arange(30), 2)).drop(columns="truth")
    task = prepare_task(group, labels=model, id="photo", group="pair", promise="cover")
    np.testing.assert_array_equal(task.given.to_mask(), model.said.to_mask())
    assert task.given.promise.kind == "cover"


def test_a_miss_rate_is_refused_where_annotators_are_weighed():
    frame, wide, long = tables(n_items=60)
    _, model = read_answers(long, **LONG, order=frame["photo"])
    for table, labels in ((frame, model), (wide, LabelColumns(columns=("ann", "bob"), votes=True))):
        for call in (clean_table, fit_table):
            with pytest.raises(ParameterError, match="Got miss_rate='auto'. Leave it"):
                call(table, labels=labels, method="plknn", miss_rate="auto")


def test_answers_that_leave_every_label_are_refused():
    frame = pd.DataFrame({"photo": ["a", "a"], "who": ["x", "y"], "said": ["cat|dog", "dog|cat"]})
    with pytest.raises(ParameterError, match="No answer tells one label from another"):
        read_answers(frame, **LONG)
