"""Any classifier on candidate sets: every row is judged by copies that were not trained on it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from disambig import CandidateLabels, DisambiguatingClassifier
from disambig._core.errors import CandidateError, ParameterError
from disambig._core.parameters import spawn_seeds
from disambig.candidates.groups import deal_rows
from disambig.datasets import make_partial_label_dataset
from disambig.methods import OracleClassifier

DATA = make_partial_label_dataset(90, 3, 3, average_candidates=1.8, overlap=0.2, random_state=0)


def quick(estimator=None, **others):
    return DisambiguatingClassifier(
        estimator, **{"rounds": 2, "ramp_rounds": 1, "n_folds": 3, "random_state": 0, **others}
    )


class Strict(ClassifierMixin, BaseEstimator):
    """Naive Bayes that insists on labels from 0 without gaps, as XGBoost does."""

    def fit(self, X, y, sample_weight=None):
        if sorted(set(y)) != list(range(len(set(y)))):
            raise ValueError(f"labels must be 0 and up, got {sorted(set(y))}")
        self.inner_ = GaussianNB().fit(X, y, sample_weight)
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


class ByHeart(ClassifierMixin, BaseEstimator):
    """Knows the rows that it was fitted to, and says of others that they are of its first class."""

    def fit(self, X, y, sample_weight=None):
        self.rows_ = {tuple(row) for row in X}
        self.n_classes_ = len(set(y))
        return self

    def predict_proba(self, X):
        known = np.array([tuple(row) in self.rows_ for row in X])
        probabilities = np.zeros((len(X), self.n_classes_))
        probabilities[np.arange(len(X)), np.where(known, self.n_classes_ - 1, 0)] = 1
        return probabilities


def test_two_rounds_are_those_of_a_loop():
    y, mask = DATA.candidates, DATA.candidates.to_mask()
    fitted = quick(GaussianNB(), power=2).fit(DATA.X, y)
    folds = deal_rows(90, None, 3, spawn_seeds(0, 2)[0])

    def trained_on(rows, confidences):
        pairs = [(row, label) for row in rows for label in np.flatnonzero(mask[row])]
        weights = np.array(
            [confidences[pair] * (confidences[pair[0]] ** 2).sum() for pair in pairs]
        )
        kept = weights > 0.02 * weights.sum() / n_pairs
        at, labels = np.array(pairs)[kept].T
        return GaussianNB().fit(DATA.X[at], labels, weights[kept])

    def judged_by_others(confidences):
        judged = np.zeros(mask.shape)
        for fold in range(3):
            of_others = trained_on(np.flatnonzero(folds != fold), confidences)
            judged[folds == fold] = of_others.predict_proba(DATA.X[folds == fold])
        return judged

    n_pairs = mask.sum()
    prior = mask / mask.sum(axis=1, keepdims=True)
    first = judged_by_others(prior)
    sharp = mask * np.maximum(first, 1e-4) ** 2
    sharp /= sharp.sum(axis=1, keepdims=True)
    second = judged_by_others(sharp)
    rates = [mask[np.arange(90), judged.argmax(axis=1)].mean() for judged in (first, second)]
    np.testing.assert_allclose(fitted.covering_rates_, rates)
    better = int(rates[1] >= rates[0])
    np.testing.assert_allclose(fitted.held_out_proba_, (first, second)[better])
    model = trained_on(range(90), (prior, sharp)[better])
    np.testing.assert_allclose(fitted.predict_proba(DATA.X), model.predict_proba(DATA.X))


@pytest.mark.parametrize("groups", [None, np.arange(90) // 2])
def test_no_row_is_judged_by_a_copy_that_has_seen_it(groups):
    X = np.round(DATA.X, 6) if groups is None else np.repeat(DATA.X[:45], 2, axis=0)
    fitted = quick(ByHeart()).fit(X, DATA.candidates, groups=groups)
    assert (fitted.held_out_proba_.argmax(axis=1) == 0).all()  # nobody knew the row
    assert (fitted.predict_proba(X).argmax(axis=1) == 2).all()  # the last copy knows all
    if groups is not None:  # copies of a row that are not known to come together give it away
        apart = quick(ByHeart()).fit(X, DATA.candidates)
        assert (apart.held_out_proba_.argmax(axis=1) == 2).any()


def test_what_cannot_be_learned_is_not_known_of_held_out_rows():
    generator = np.random.default_rng(0)
    X, labels = generator.normal(size=(300, 3)), generator.integers(3, size=300)
    fitted = quick(DecisionTreeClassifier()).fit(X, labels)
    assert fitted.score(X, labels) > 0.95
    assert np.mean(fitted.held_out_proba_.argmax(axis=1) == labels) < 0.45


def test_the_round_with_the_best_held_out_coverage_is_kept_and_learning_stops_after_it():
    fitted = quick(rounds=9, ramp_rounds=2, power=4).fit(DATA.X, DATA.candidates)
    rates = fitted.covering_rates_
    predicted = fitted.classes_[fitted.held_out_proba_.argmax(axis=1)]
    covered = DATA.candidates.to_mask()[np.arange(90), predicted].mean()
    assert covered == pytest.approx(rates.max())
    assert len(rates) == 9 or (rates[-1] < rates.max() and len(rates) > 2)


def test_texts_in_a_pipeline():
    texts = ["apple pie", "apple tree", "apple juice", "car road", "car wheel", "car park"] * 4
    sets = ["fruit|car", "fruit", "fruit|rain", "car", "car|rain", "car|fruit"] * 4
    model = quick(make_pipeline(TfidfVectorizer(), LogisticRegression(C=100)))
    y = CandidateLabels.from_strings(sets)
    assert model.fit(texts, y).predict(["apple", "car"]).tolist() == ["fruit", "car"]
    assert model.predict(pd.Series(["apple", "car"])).tolist() == ["fruit", "car"]
    assert model.predict(np.array(["apple", "car"])).tolist() == ["fruit", "car"]


def test_a_data_frame_with_a_column_transformer():
    frame = pd.DataFrame({"size": DATA.X[:, 0], "rest": DATA.X[:, 1], "kind": "x"}).assign(
        kind=np.where(DATA.X[:, 2] > 0, "high", "low")
    )
    frame.index = range(1000, 1090)
    columns = make_column_transformer(
        (StandardScaler(), ["size", "rest"]), (OneHotEncoder(handle_unknown="ignore"), ["kind"])
    )
    fitted = quick(make_pipeline(columns, LogisticRegression())).fit(frame, DATA.candidates)
    assert np.mean(fitted.predict(frame) == DATA.true_labels) > 0.7
    assert fitted.n_features_in_ == 3


def test_numbers_with_gaps_for_a_classifier_that_takes_them():
    X = DATA.X.copy()
    X[::7, 0] = np.nan
    fitted = quick(HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5), n_folds=2)
    fitted.fit(X, DATA.candidates)
    assert np.mean(fitted.predict(X) == DATA.true_labels) > 0.75
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(X, DATA.candidates)


def test_a_classifier_without_weights_learns_from_copies():
    fitted = quick(KNeighborsClassifier(15)).fit(DATA.X, DATA.candidates)
    assert np.mean(fitted.predict(DATA.X) == DATA.true_labels) > 0.85
    # Confidences count: with those of the truth, it is as good as told.
    weights = DATA.candidates.to_mask() * 0.01
    weights[np.arange(90), DATA.true_labels] = 1
    told = CandidateLabels.from_mask(DATA.candidates.to_mask(), weights=weights)
    again = quick(KNeighborsClassifier(5)).fit(DATA.X, told)
    oracle = OracleClassifier(estimator=KNeighborsClassifier(5)).fit(DATA.X, DATA.true_labels)
    assert np.mean(again.predict(DATA.X) == oracle.predict(DATA.X)) > 0.9


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_features(kind):
    method = quick(RandomForestClassifier(5))
    fitted = method.fit(kind(DATA.X), DATA.candidates)
    assert np.mean(fitted.predict(kind(DATA.X)) == DATA.true_labels) > 0.8
    dense = quick().fit(DATA.X, DATA.candidates).predict(DATA.X)
    assert np.mean(quick().fit(kind(DATA.X), DATA.candidates).predict(kind(DATA.X)) == dense) > 0.9


def test_a_class_may_be_missing_in_a_fold():
    X = DATA.X[:31]
    sets = [["a", "c"], ["c", "d"], ["a", "d"]] * 10 + [["b"]]  # "b" once, before others
    y = CandidateLabels.from_sets(sets)
    fitted = quick(Strict()).fit(X, y)
    assert fitted.held_out_proba_.shape == (31, 4)
    assert fitted.held_out_proba_[30, 1] == 0  # the others have never heard of it
    assert (fitted.predict_proba(X).sum(axis=1) > 0.99).all()
    rare_among_copies = CandidateLabels.from_sets([["a", "b"]] * 20 + [["a", "b", "c", "d"]] * 1)
    assert quick(KNeighborsClassifier(3)).fit(X[:21], rare_among_copies).predict(X).shape == (31,)


def test_a_heavy_class_is_predicted_more_often():
    rare, often = (
        quick(class_weight={0: weight, 1: 1, 2: 1})
        .fit(DATA.X, DATA.candidates)
        .predict_proba(DATA.X)[:, 0]
        .mean()
        for weight in (0.1, 10)
    )
    assert rare < often - 0.1


def test_rows_without_weight_are_not_learned_from():
    generator = np.random.default_rng(0)
    X = np.tile(generator.normal(size=(40, 2)), (2, 1))
    labels = np.repeat([0, 1], 40) ^ (X[:, 0] > 0)  # the second half says the opposite
    for estimator in (None, KNeighborsClassifier(3)):
        for first in (0, 1):
            weights = np.repeat([first, 1 - first], 40)
            fitted = quick(estimator).fit(X, labels, sample_weight=weights)
            assert fitted.score(X, labels, sample_weight=weights) > 0.9


@pytest.mark.filterwarnings("error")
def test_where_only_one_row_counts_it_is_learned_from():
    weights = np.zeros(90)
    weights[7] = 1
    fitted = quick().fit(DATA.X, DATA.candidates, sample_weight=weights)
    assert set(fitted.predict(DATA.X)) <= set(np.flatnonzero(DATA.candidates.to_mask()[7]))


@pytest.mark.parametrize("groups", [None, [5, 5, 5, 5]])
def test_where_nobody_else_is_left_rows_are_judged_by_what_has_seen_them(groups):
    n_rows = 1 if groups is None else 4
    y = CandidateLabels.from_strings(["cat|dog", "cat", "dog", "cat"][:n_rows])
    fitted = quick().fit(DATA.X[:n_rows], y, groups=groups)
    assert np.allclose(fitted.held_out_proba_.sum(axis=1), 1)


def test_the_same_seed_gives_the_same_bits_in_a_pipeline_too():
    estimator = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    one, same, other = (
        quick(estimator, random_state=seed).fit(DATA.X, DATA.candidates).predict_proba(DATA.X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    assert not hasattr(estimator[-1], "classes_")  # only copies are fitted


def test_features_are_scaled_for_an_own_estimator_if_asked():
    X = DATA.X * [1, 1e6, 1]
    plain = quick(KNeighborsClassifier(5)).fit(X, DATA.candidates).predict(X)
    scaled = quick(KNeighborsClassifier(5), scaling="standard").fit(X, DATA.candidates).predict(X)
    assert np.mean(scaled == DATA.true_labels) > np.mean(plain == DATA.true_labels) + 0.05


def test_the_fitted_classifier_can_be_looked_at():
    fitted = quick(GaussianNB()).fit(DATA.X, DATA.candidates)
    np.testing.assert_allclose(
        fitted.estimator_.predict_proba(DATA.X), fitted.predict_proba(DATA.X)
    )


def test_an_own_estimator_is_not_saved(tmp_path):
    with pytest.raises(ParameterError, match="Got the estimator GaussianNB, which is code"):
        quick(GaussianNB()).fit(DATA.X, DATA.candidates).save(tmp_path / "file")
    assert not (tmp_path / "file").exists()
    fitted = quick().fit(DATA.X, DATA.candidates)
    fitted.save(tmp_path / "file")
    loaded = DisambiguatingClassifier.load(tmp_path / "file")
    np.testing.assert_array_equal(loaded.predict_proba(DATA.X), fitted.predict_proba(DATA.X))


@pytest.mark.parametrize("rows", [0, 5])
def test_another_number_of_rows_is_refused(rows):
    for X in (DATA.X[:rows], DATA.X[:rows].tolist()):
        with pytest.raises(CandidateError, match=f"Got {rows} rows of features and 90"):
            quick(GaussianNB()).fit(X, DATA.candidates)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("rounds", 0),
        ("ramp_rounds", 0),
        ("power", -1),
        ("n_folds", 1),
        ("class_weight", "heavy"),
        ("scaling", "wide"),
        ("estimator", GaussianNB),
    ],
)
def test_parameters_out_of_range_are_refused(parameter, value):
    with pytest.raises(ParameterError, match=parameter):
        DisambiguatingClassifier(**{parameter: value}).fit(DATA.X, DATA.candidates)
