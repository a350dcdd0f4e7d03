import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from disambig import PLKNN, SURE, CandidateLabels, ConformalSets, EMClassifier, all_methods
from disambig._core.errors import CandidateError, ParameterError
from disambig.candidates import corrupt_controlled
from disambig.methods.strangeness import Strangeness
from disambig.solvers.conformal import conformal_threshold


def blobs(n_rows=400, seed=0):
    """Four classes that overlap, with candidate sets that hold the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n_rows)
    X = rng.normal(size=(n_rows, 3)) + 2.5 * np.eye(4)[truth][:, :3]
    names = np.array(["ant", "bee", "cow", "dog"])[truth]
    return X, names, corrupt_controlled(names, p=0.3, r=1, random_state=seed)


X, TRUTH, SETS = blobs()
NEW_X, NEW_TRUTH, _ = blobs(seed=1)


@parametrize_with_checks(
    [ConformalSets(PLKNN(n_neighbors=3), coverage=0.5, cv=2)],
    # Features are left to the method, and the labels of this check are complex as well.
    expected_failed_checks=lambda _: {"check_complex_data": "candidate sets are read first"},
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_split_calibration_is_the_pure_function_on_rows_held_out():
    model = ConformalSets(PLKNN(), cv=0.25, random_state=0).fit(X, SETS)
    assert model.calibration_.n_rows == 100
    assert model.calibration_.exact
    # Which rows were held out is known from the seed alone.
    held = np.random.default_rng(0).permutation(400) < 100
    alone = PLKNN().fit(X[~held], SETS[~held])
    np.testing.assert_array_equal(model.predict_proba(NEW_X), alone.predict_proba(NEW_X))
    expected = conformal_threshold(alone.predict_proba(X[held]), SETS[held], coverage=0.9)
    assert model.threshold_ == expected
    sets = model.predict_set(NEW_X)
    np.testing.assert_array_equal(sets.mask, alone.predict_proba(NEW_X) >= expected)
    assert sets.classes.tolist() == model.classes_.tolist() == ["ant", "bee", "cow", "dog"]
    np.testing.assert_array_equal(model.predict(NEW_X), alone.predict(NEW_X))
    assert model.score(NEW_X, NEW_TRUTH) == alone.score(NEW_X, NEW_TRUTH)


def test_folds_calibrate_on_every_row_by_a_copy_that_was_not_trained_on_it():
    model = ConformalSets(PLKNN(), kind="weak", cv=4, random_state=0).fit(X, SETS)
    assert model.calibration_.n_rows == 400
    assert not model.calibration_.exact
    fold = np.random.default_rng(0).permutation(400) % 4
    probabilities = np.empty((400, 4))
    for part in range(4):
        copy = PLKNN().fit(X[fold != part], SETS[fold != part])
        probabilities[fold == part] = copy.predict_proba(X[fold == part])
    expected = conformal_threshold(probabilities, SETS, coverage=0.9, kind="weak")
    assert model.threshold_ == expected
    final = PLKNN().fit(X, SETS)
    np.testing.assert_array_equal(model.predict_proba(NEW_X), final.predict_proba(NEW_X))


def test_a_fitted_method_is_calibrated_as_it_is():
    fitted = PLKNN().fit(X[:200], SETS[:200])
    # The rows that calibrate need not have all classes, nor in this order.
    few = SETS[200:].with_classes(["dog", "cow", "bee", "ant"])
    model = ConformalSets(fitted, cv="prefit").fit(X[200:], few)
    assert model.estimator_ is fitted
    assert model.calibration_.n_rows == 200
    expected = conformal_threshold(fitted.predict_proba(X[200:]), SETS[200:], coverage=0.9)
    assert model.threshold_ == expected
    with pytest.raises(NotFittedError):
        ConformalSets(PLKNN(), cv="prefit").fit(X, SETS)


@pytest.mark.parametrize("kind", ["safe", "estimated"])
@pytest.mark.parametrize("cv", [0.3, 3])
def test_new_rows_are_covered(kind, cv):
    found = ConformalSets(SURE(), kind=kind, cv=cv, random_state=0).fit(X, SETS)
    assert found.predict_set(NEW_X).contains(NEW_TRUTH).mean() > 0.85


def test_rows_of_a_group_stay_on_one_side_of_every_split():
    seen = []

    class Spy(PLKNN):
        def fit(self, X, y):
            seen.append(set(X[:, 0].astype(int)))
            return super().fit(X, y)

        def predict_proba(self, X):
            seen.append(set(X[:, 0].astype(int)))
            return super().predict_proba(X)

    groups = np.repeat(np.arange(40), 10)
    grouped = np.column_stack([groups, X])
    for cv in (0.25, 4):
        model = ConformalSets(make_pipeline(Spy()), coverage=0.8, cv=cv, random_state=0)
        seen.clear()
        model.fit(grouped, SETS, groups=[f"patient {group}" for group in groups])
        parts = 1 if cv < 1 else cv
        trained, predicted = seen[:parts], seen[-parts:]
        for train, held in zip(trained, predicted, strict=True):
            assert not train & held
            assert train | held == set(range(40))
        assert model.calibration_.n_groups == (10 if cv < 1 else 40)
        assert "of new groups" in str(model.calibration_)


def test_groups_count_the_same_whatever_their_size():
    groups = np.r_[np.zeros(300, dtype=int), np.arange(1, 101)]
    fitted = PLKNN().fit(*blobs(seed=2)[::2])
    model = ConformalSets(fitted, coverage=0.7, cv="prefit").fit(X, SETS, groups=groups)
    probabilities = fitted.predict_proba(X)
    expected = conformal_threshold(probabilities, SETS, coverage=0.7, groups=groups)
    assert model.threshold_ == expected
    assert expected != conformal_threshold(probabilities, SETS, coverage=0.7)


@pytest.mark.parametrize("cv", [0.4, 5])
def test_rows_unlike_anything_seen_get_no_label(cv):
    model = ConformalSets(SURE(), kind="estimated", cv=cv, abstain=0.05, random_state=0)
    model.fit(X, SETS)
    # Far away, or in the middle of nowhere.
    outliers = np.r_[NEW_X[:20] + 15, np.full((1, 3), -6.0), [[0, 0, 1e200]]]
    assert (model.predict_set(outliers).sizes == 0).all()
    ordinary = model.predict_set(NEW_X)
    assert 0.01 < (ordinary.sizes == 0).mean() < 0.1
    assert ordinary.contains(NEW_TRUTH).mean() > 0.87
    without = clone(model).set_params(abstain=0).fit(X, SETS)
    assert (without.predict_set(outliers).sizes > 0).any()
    assert (without.predict_set(NEW_X).sizes > 0).all()
    # Coverage is kept by longer sets in the other rows.
    assert model.threshold_ < without.threshold_


def test_so_many_ordinary_rows_get_no_label_as_allowed():
    shares = []
    for seed in range(30):
        rows = np.random.default_rng(seed).permutation(400)
        model = ConformalSets(PLKNN(), abstain=0.05, coverage=0.8, random_state=seed)
        model.fit(X[rows[:200]], SETS[rows[:200]])
        strange = model._strangeness.of_rows(X[rows[200:]]) > model._strangest
        shares.append(strange.mean())
    # 2 of 50 rows and the new one may be stranger.
    assert np.mean(shares) == pytest.approx(2 / 51, abs=3 * np.std(shares) / np.sqrt(30))


def test_strangeness_is_the_distance_in_standard_deviations():
    rows = np.array([[0.0, 0.0], [2.0, 200.0]])
    strangeness = Strangeness.fit(rows)
    # Of both: there are fewer than five. Deviations are 1 and 100.
    np.testing.assert_allclose(strangeness.of_rows([[1.0, 100.0]]), [np.sqrt(2)])
    np.testing.assert_allclose(strangeness.of_rows([[0.0, 0.0]]), [np.sqrt(8) / 2])


def test_sparse_features_are_taken_where_the_method_takes_them():
    words = np.maximum(X, 0)
    options = {"coverage": 0.8, "cv": 3, "abstain": 0.05, "random_state": 0}
    model = ConformalSets(EMClassifier(), **options).fit(sparse.coo_array(words), SETS)
    sets = model.predict_set(sparse.csr_array(words))
    assert sets.contains(TRUTH).mean() > 0.8
    with pytest.raises(TypeError, match="[Ss]parse"):
        ConformalSets(SURE()).fit(sparse.csr_array(words), SETS)


def test_it_is_cloned_searched_and_not_a_method():
    model = ConformalSets(PLKNN(n_neighbors=3), kind="weak", cv=3, abstain=0.01)
    copy = clone(model)
    assert copy.get_params()["estimator__n_neighbors"] == 3
    assert copy.get_params()["kind"] == "weak"
    copy.set_params(estimator__n_neighbors=7, coverage=0.6)
    assert model.estimator.n_neighbors == 3
    search = GridSearchCV(copy.set_params(abstain=0), {"estimator__n_neighbors": [1, 9]}, cv=2)
    assert search.fit(X, SETS).best_params_ == {"estimator__n_neighbors": 9}
    assert all(method is not ConformalSets for method in all_methods().values())


def test_the_estimator_is_left_as_it_is_and_the_seed_decides():
    method = PLKNN()
    models = [ConformalSets(method, random_state=seed).fit(X, SETS) for seed in (3, 3, 4)]
    first, again, _ = (model.predict_set(NEW_X).mask for model in models)
    np.testing.assert_array_equal(first, again)
    assert models[0].threshold_ != models[2].threshold_
    with pytest.raises(NotFittedError):
        method.predict(X)
    with pytest.raises(NotFittedError):
        ConformalSets(method).predict_set(X)


def test_pipelines_and_data_frames_are_taken():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["length", "height", "weight"])
    pipeline = make_pipeline(StandardScaler(), PLKNN())
    model = ConformalSets(pipeline, random_state=0).fit(frame, SETS)
    assert model.n_features_in_ == 3
    assert len(model.predict_set(frame)) == 400


def test_candidates_of_weight_zero_do_not_count():
    weights = np.eye(4)[np.searchsorted(SETS.classes, TRUTH)]
    weighted = CandidateLabels(SETS.to_mask(), SETS.classes, weights=weights)
    expected = ConformalSets(PLKNN(), random_state=0).fit(X, TRUTH).threshold_
    assert ConformalSets(PLKNN(), random_state=0).fit(X, weighted).threshold_ == expected


def test_too_few_rows_are_warned_of():
    message = "coverage=0.9 takes at least 9 samples to calibrate on. There are 5, so no label"
    with pytest.warns(UserWarning, match=message):
        model = ConformalSets(PLKNN(n_neighbors=3), random_state=0).fit(X[:20], SETS[:20])
    assert (model.predict_set(NEW_X).sizes == 4).all()
    message = "abstain=0.01 takes at least 99 groups .* There are 10, so no row gets an empty set"
    with pytest.warns(UserWarning, match=message):
        ConformalSets(PLKNN(), coverage=0.8, abstain=0.01, random_state=0).fit(
            X, SETS, groups=np.arange(400) // 10
        )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coverage": 1.0}, "'coverage' must be above 0 and below 1"),
        ({"kind": "sure"}, "'kind' must be one of"),
        ({"abstain": -0.1}, "'abstain' must be a number >= 0"),
        ({"abstain": 0.1}, "'abstain' must be below 1 - coverage"),
        ({"cv": 1}, "'cv' must be a share .* Got 1."),
        ({"cv": True}, "'cv' must be a share .* Got True."),
        ({"cv": 2.5}, "'cv' must be a share .* Got 2.5."),
        ({"cv": "loo"}, "'cv' must be a share .* Got 'loo'."),
        ({"cv": "prefit", "abstain": 0.01}, "'abstain' needs the rows"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        ConformalSets(PLKNN(), **parameters).fit(X, SETS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, None), "requires y to be passed"),
        ((X[:10], SETS), "inconsistent numbers of samples"),
        ((X[:1], SETS[:1]), "takes at least 2 samples. Got 1 sample."),
        ((X, SETS, np.zeros(400)), "takes at least 2 groups. Got 1 group."),
        ((X, SETS, [1, 2]), "'groups' must name a group for each of the 400 rows. Got 2."),
        ((X, SETS, [None] * 400), "Every row needs a group. None for 400 samples"),
    ],
)
def test_bad_data_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ConformalSets(PLKNN()).fit(*arguments)


def test_folds_need_as_many_rows():
    with pytest.raises(CandidateError, match="cv=5 takes at least 5 samples. Got 4 samples."):
        ConformalSets(PLKNN(), cv=5).fit(X[:4], SETS[:4])
