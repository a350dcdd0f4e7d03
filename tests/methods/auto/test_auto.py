"""AutoDisambiguator: who learns, who judges, what each weighs, and how it is kept."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from disambig import AutoDisambiguator, CandidateLabels, get_method
from disambig._core.array_file import MODEL_KIND, MODEL_VERSION, read_arrays, write_arrays
from disambig._core.errors import ModelFileError, ParameterError
from disambig._core.parameters import spawn_seeds
from disambig.datasets import make_partial_label_dataset
from disambig.methods.auto.estimator import AutoDisambiguator as Estimator
from disambig.methods.auto.learners import LEARNERS, can_learn, deal_judged_rows, default_learners
from disambig.methods.ncpd_plus.selection import compare
from disambig.methods.side_by_side import judge_by_others
from disambig.solvers.calibration import calibrate_predictions
from disambig.solvers.reduction import Reduction
from disambig.tabular.columns.values import ColumnPlan, PlannedColumn
from disambig.tabular.table_model import untrained_model


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(150, 4, 3, random_state=0)


@pytest.fixture(scope="module")
def steps():
    """Classes that depend on thresholds of one feature, many times: easy for trees only."""
    generator = np.random.default_rng(0)
    X = generator.uniform(-1, 1, (400, 3))
    truth = np.floor(X[:, 0] * 6).astype(int) % 3
    mask = np.eye(3, dtype=bool)[truth]
    ambiguous = generator.random(400) < 0.5
    mask[ambiguous, (truth[ambiguous] + generator.integers(1, 3, ambiguous.sum())) % 3] = True
    return X, CandidateLabels.from_mask(mask), truth


def quick_learners(self, name, seed):
    made = get_method(name)()
    if name == "forest":
        made.set_params(rounds=3, ramp_rounds=2, trees_per_round=20)
    if name == "boosting":
        made.set_params(n_trees=10, rounds=2, ramp_rounds=1)
    if name == "ncpd_plus":
        made.set_params(hidden=16, epochs=6, device="cpu")
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    return made


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(Estimator, "_made", quick_learners)


def test_trees_win_where_thresholds_matter(quick, steps):
    X, y, truth = steps
    model = AutoDisambiguator(learners=["em", "forest"], random_state=0).fit(X[:300], y[:300])
    assert model.selection_.choice == "forest"
    assert model.selection_["forest"].weight > 0.7
    linear = get_method("em")().fit(X[:300], y[:300])
    better = (model.predict(X[300:]) == truth[300:]).mean()
    assert better > (linear.predict(X[300:]) == truth[300:]).mean() + 0.2


def test_a_mix_is_the_mean_of_its_members_by_weight(data):
    model = AutoDisambiguator(learners=["em", "plknn"], random_state=0)
    model.fit(data.X, data.candidates)
    weights = model.selection_.weights
    assert set(weights) == {"em", "plknn"}
    expected = sum(weights[n] * m.predict_proba(data.X) for n, m in model.members_.items())
    np.testing.assert_allclose(model.predict_proba(data.X), expected, atol=1e-12)


def test_weights_are_those_of_rows_that_learners_were_trained_without(data):
    model = AutoDisambiguator(learners=["em", "plknn"], random_state=3)
    model.fit(data.X, data.candidates)
    folds = model._folds(data.candidates)
    assert set(folds) == {0, 1, 2, 3, 4}
    said = {}
    for name in ("em", "plknn"):
        said[name] = np.empty(data.candidates.shape)
        for fold in range(5):
            judge = get_method(name)().fit(data.X[folds != fold], data.candidates[folds != fold])
            said[name][folds == fold] = judge.predict_proba(data.X[folds == fold])
    expected = compare(data.candidates, said, smallest_weight=0.1)
    assert model.selection_.weights == pytest.approx(expected.weights, abs=1e-9)


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_learners_that_judge_themselves_are_fitted_once(quick, monkeypatch, data, name):
    fits = []
    method = get_method(name)
    original = method._fit
    monkeypatch.setattr(method, "_fit", lambda self, *d: fits.append(1) or original(self, *d))
    AutoDisambiguator(learners=["em", name], random_state=0).fit(data.X, data.candidates)
    assert len(fits) == 1


def test_networks_take_part_and_are_kept_in_a_file(quick, data, tmp_path):
    model = AutoDisambiguator(learners=["forest", "ncpd_plus"], random_state=0)
    model.fit(data.X, data.candidates)
    assert set(model.selection_) == {"forest", "ncpd_plus"}
    model.selection_ = compare(
        data.candidates, {n: model.predict_proba(data.X) for n in ("forest", "ncpd_plus")}
    )
    model.members_ = {
        name: model.members_.get(name)
        or quick_learners(model, name, 0).fit(data.X, data.candidates)
        for name in model.selection_.weights
    }
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = AutoDisambiguator.load(path)
    assert set(loaded.members_) == {"forest", "ncpd_plus"}
    np.testing.assert_array_equal(loaded.predict_proba(data.X), model.predict_proba(data.X))
    assert loaded.selection_.to_dict() == model.selection_.to_dict()


def changed(path, change):
    arrays, description = read_arrays(path, MODEL_KIND, MODEL_VERSION, entries=("method",))
    change(arrays, description)
    write_arrays(path, MODEL_KIND, MODEL_VERSION, arrays, description)


def with_weight(description, name, weight):
    description["selection"][name]["weight"] = weight


@pytest.mark.parametrize(
    "change",
    [
        lambda _, d: with_weight(d, "em", 0.9),
        lambda _, d: d["members"].update(plsvm=d["members"]["em"]),
        lambda _, d: d["parameters"].update(learners=["os:system"]),
        lambda _, d: d["parameters"].update(learners=["plknn"]),
        lambda a, _: a.update(more=np.zeros(1)),
        lambda a, _: a.pop("em.coef_"),
    ],
    ids=["weight", "member", "code", "learners", "array", "missing"],
)
def test_a_changed_file_is_refused(data, tmp_path, change):
    path = tmp_path / "model.safetensors"
    AutoDisambiguator(learners=["em", "plknn"], random_state=0).fit(data.X, data.candidates).save(
        path
    )
    changed(path, change)
    with pytest.raises(ModelFileError, match="is not a model"):
        AutoDisambiguator.load(path)


def test_a_time_budget_leaves_out_what_takes_too_long(quick, monkeypatch, data):
    seconds = {"em": 1.0, "plknn": 2.0, "sure": 40.0}
    monkeypatch.setattr(
        "disambig.methods.auto.estimator.seconds_of",
        lambda task: {name: seconds[name] for name in task.learners},
    )
    names = list(seconds)

    def taken(budget):
        model = AutoDisambiguator(learners=names, time_budget=budget, random_state=0)
        return set(model.fit(data.X, data.candidates).selection_)

    assert taken(5) == {"em", "plknn"}
    assert taken(100) == set(names)
    assert taken(0.1) == {"em"}


def test_what_cannot_learn_the_data_is_left_out():
    y = CandidateLabels.from_labels(["a", "b"] * 10)
    assert all(can_learn(name, y) for name in LEARNERS)
    weighted = y.with_row_weights(np.ones(20))
    assert not can_learn("sure", weighted)
    assert not can_learn("sure", y, class_weight="balanced")
    many = CandidateLabels.from_labels(["a", "b"] * 3000)
    assert not can_learn("sure", many)


def test_of_words_alone_trees_and_networks_do_not_learn_by_default():
    y = CandidateLabels.from_labels(["a", "b"] * 10)
    words = np.eye(20, 40)
    words[:, 0] = 0.1  # a word of every row, such as "the"
    beside = np.column_stack([np.linspace(-1, 1, 20), words])
    assert default_learners(sparse.csr_array(words), y) == ("clpl", "sure")
    assert default_learners(sparse.csr_array(beside), y) == ("clpl", *LEARNERS[1:])
    assert default_learners(words, y) == LEARNERS
    weighted = y.with_row_weights(np.ones(20))
    assert default_learners(sparse.csr_array(words), weighted) == ("em", "sure")


def test_of_sparse_features_each_learner_gets_what_it_takes(data, tmp_path):
    words = sparse.random_array((150, 60), density=0.1, rng=np.random.default_rng(0))
    X = sparse.csr_array(sparse.hstack([data.X, words]))
    model = AutoDisambiguator(learners=["clpl", "sure"], random_state=0).fit(X, data.candidates)
    assert set(model.members_) == {"clpl", "sure"}
    reduction = Reduction.fit(X)
    rows = {"clpl": X, "sure": reduction.apply(X)}
    weights = model.selection_.weights
    folds = deal_judged_rows(data.candidates, 5, spawn_seeds(0, 1)[0])
    expected = 0
    for name, member in model.members_.items():
        [judged] = judge_by_others([(clone(member), rows[name], data.candidates, folds)])
        calibration = calibrate_predictions(judged, data.candidates)
        expected += weights[name] * calibration.apply(member.predict_proba(rows[name]))
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X.toarray()), expected, atol=1e-12)
    model.save(tmp_path / "model")
    loaded = AutoDisambiguator.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_trees_get_the_columns_beside_words_and_few_directions_of_these(data, tmp_path):
    words = sparse.random_array((150, 60), density=0.1, rng=np.random.default_rng(0))
    X = sparse.csr_array(sparse.hstack([data.X, words]))
    model = AutoDisambiguator(learners=["forest", "sure"], random_state=0).fit(X, data.candidates)
    reduced = Reduction.fit(X).apply(X)
    n_columns = {name: member.n_features_in_ for name, member in model.members_.items()}
    assert n_columns["forest"] == data.X.shape[1] + 20 < reduced.shape[1]
    alone = clone(model.members_["forest"]).fit(reduced[:, : n_columns["forest"]], data.candidates)
    np.testing.assert_array_equal(
        alone.predict_proba(reduced[:, : n_columns["forest"]]),
        model.members_["forest"].predict_proba(reduced[:, : n_columns["forest"]]),
    )
    model.save(tmp_path / "model")
    loaded = AutoDisambiguator.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_if_nobody_can_learn_the_data_that_is_said(data):
    y = data.candidates.with_row_weights(np.ones(150))
    with pytest.raises(ParameterError, match="None of the learners sure can learn"):
        AutoDisambiguator(learners=["sure"]).fit(data.X, y)


def test_a_thousand_rows_are_enough_to_judge_by():
    y = CandidateLabels.from_labels(["a", "b"] * 5000)
    folds = deal_judged_rows(y, 5, 0)
    assert set(folds) == {-1, 0}
    assert (folds == 0).sum() == 2000
    grouped = y.with_groups(np.arange(10_000) // 100)
    folds = deal_judged_rows(grouped, 5, 0)
    assert all(len(set(rows)) == 1 for rows in np.split(folds, 100))


def test_rows_of_one_group_are_learned_without_comparison(data):
    y = data.candidates.with_groups(np.zeros(150))
    model = AutoDisambiguator(learners=["em", "plknn"], random_state=0).fit(data.X, y)
    assert model.selection_.weights == {"em": 1.0}


@pytest.mark.parametrize("learners", [["auto"], ["oracle"], ["os:system"], [], "em"])
def test_learners_are_names_of_methods(data, learners):
    with pytest.raises(ParameterError, match="'learners' must be names of methods"):
        AutoDisambiguator(learners=learners).fit(data.X, data.candidates)


def test_the_same_seed_gives_the_same_bits(quick, data):
    model = AutoDisambiguator(learners=["em", "forest", "boosting"], random_state=5)
    first = model.fit(data.X, data.candidates).predict_proba(data.X)
    again = clone(model).fit(data.X, data.candidates).predict_proba(data.X)
    np.testing.assert_array_equal(first, again)


def test_the_time_of_all_learners_and_judges_is_foreseen(monkeypatch, data):
    monkeypatch.setattr("disambig.methods.auto.learners.estimate_fit_seconds", lambda *_: 1.0)
    model = AutoDisambiguator(learners=["em", "forest", "ncpd_plus"], random_state=0)
    X, y = model._begin_fit(data.X, data.candidates)
    # One fit of each, five judges of EM, quick judges of NCPD+, and none for the forest.
    assert model._estimate_seconds(X, y) == pytest.approx(6 + 1 + 2.5)


def test_a_time_budget_is_foreseen_by_timing_every_learner_once(monkeypatch, data):
    timed = []

    def seconds(learner, *_):
        timed.append(learner.card.name)
        return {"em": 1.0, "plknn": 30.0}[learner.card.name]

    monkeypatch.setattr("disambig.methods.auto.learners.estimate_fit_seconds", seconds)
    model = AutoDisambiguator(learners=["em", "plknn"], time_budget=10, random_state=0)
    X, y = model._begin_fit(data.X, data.candidates)
    assert model._estimate_seconds(X, y) == pytest.approx(6)
    assert timed == ["em", "plknn"]


def test_a_checkpoint_needs_a_seed_that_is_a_number(data):
    with pytest.raises(ParameterError, match="needs an integer as 'random_state'"):
        AutoDisambiguator(checkpoint="here").fit(data.X, data.candidates)


def test_one_scaling_is_that_of_all_learners(data):
    names = ["em", "sure", "forest", "boosting", "ncpd_plus", "disambiguating"]
    scaled = AutoDisambiguator(learners=names, scaling="none", random_state=0)
    own = AutoDisambiguator(learners=names, random_state=0)
    for model, expected in ((scaled, {"none"}), (own, {"standard", "half", None})):
        task = model._task(*model._begin_fit(data.X, data.candidates))
        assert {learner.scaling for learner in task.learners.values()} == expected


def test_columns_of_a_table_are_scaled_once():
    values = pd.DataFrame({"size": [1.0, 200.0, 3.0, 5.0]})
    plan = ColumnPlan(columns=(PlannedColumn(name="size", kind="number"),))
    model, features = untrained_model(plan, values, AutoDisambiguator())
    assert model.classifier.scaling == "none"
    assert features[:, 0].std() == pytest.approx(1)
