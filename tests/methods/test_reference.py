import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from disambig import CandidateLabels
from disambig._core.errors import CandidateError, ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods import AverageClassifier, OracleClassifier, RandomCandidateClassifier

REFERENCES = [AverageClassifier, OracleClassifier, RandomCandidateClassifier]


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(
        200, 4, 3, average_candidates=1.8, overlap=0.3, random_state=0
    )


def test_the_oracle_is_the_supervised_classifier(data):
    fitted = OracleClassifier().fit(data.X, data.true_labels)
    scaler = StandardScaler().fit(data.X)
    supervised = LogisticRegression(max_iter=1000).fit(scaler.transform(data.X), data.true_labels)
    np.testing.assert_allclose(
        fitted.predict_proba(data.X), supervised.predict_proba(scaler.transform(data.X))
    )
    np.testing.assert_array_equal(fitted.disambiguate(), data.true_labels)


def test_the_oracle_refuses_candidate_sets(data):
    ambiguous = np.flatnonzero(data.candidates.sizes > 1)
    message = f"more than one candidate for {ambiguous.size} samples, first at row {ambiguous[0]}"
    with pytest.raises(CandidateError, match=message):
        OracleClassifier().fit(data.X, data.candidates)


def test_average_is_trained_on_every_candidate_with_one_weight_a_row(data):
    scaler = StandardScaler().fit(data.X)
    rows, labels, weights = [], [], []
    for row, members in enumerate(data.candidates):
        for label in sorted(members):
            rows.append(row)
            labels.append(label)
            weights.append(1 / len(members))
    copies = scaler.transform(data.X)[rows]
    expected = LogisticRegression(max_iter=1000).fit(copies, labels, sample_weight=weights)
    fitted = AverageClassifier().fit(data.X, data.candidates)
    np.testing.assert_allclose(
        fitted.predict_proba(data.X), expected.predict_proba(scaler.transform(data.X))
    )


def test_average_takes_the_weights_of_candidates():
    # Both rows are alike, so the classifier can only learn the average of their priors.
    weighted = CandidateLabels.from_sets([{"a": 3, "b": 1}, {"a": 1, "b": 1}])
    fitted = AverageClassifier().fit([[1.0], [1.0]], weighted)
    np.testing.assert_allclose(fitted.predict_proba([[1.0]]), [[0.625, 0.375]], atol=1e-3)


def test_the_random_candidate_is_drawn_inside_the_set_and_uniformly():
    sets = CandidateLabels.from_sets([["a", "b"], ["b", "c"], ["c"]] * 2000)
    X = np.random.default_rng(0).normal(size=(6000, 1))
    chosen = RandomCandidateClassifier(random_state=0).fit(X, sets).disambiguate()
    assert sets.contains(chosen).all()
    assert abs((chosen[0::3] == "a").mean() - 0.5) < 0.045  # 4 standard deviations
    assert abs((chosen[1::3] == "b").mean() - 0.5) < 0.045


def test_the_random_candidate_is_drawn_by_weight():
    weighted = CandidateLabels.from_sets([{"a": 4, "b": 1, "c": 0}] * 4000)
    X = np.zeros((4000, 1))
    chosen = RandomCandidateClassifier(random_state=0).fit(X, weighted).disambiguate()
    assert abs((chosen == "a").mean() - 0.8) < 0.026  # 4 standard deviations
    assert not (chosen == "c").any()


def test_the_draw_follows_the_seed(data):
    def chosen(seed):
        method = RandomCandidateClassifier(random_state=seed)
        return method.fit(data.X, data.candidates).disambiguate().tolist()

    assert chosen(1) == chosen(1)
    assert chosen(1) != chosen(2)


@pytest.mark.parametrize("reference", [OracleClassifier, RandomCandidateClassifier])
def test_any_classifier_with_probabilities_can_be_the_learner(data, reference):
    neighbours = KNeighborsClassifier(3)
    y = data.true_labels if reference is OracleClassifier else data.candidates
    fitted = reference(estimator=neighbours).fit(data.X, y)
    assert fitted.score(data.X, y) > 0.7
    assert not hasattr(neighbours, "classes_")


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_learner_without_probabilities_is_refused(data, reference):
    with pytest.raises(ParameterError, match="with predict_proba, .* Got LinearSVC"):
        reference(estimator=LinearSVC()).fit(data.X, data.true_labels)


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_class_of_learners_is_no_learner(data, reference):
    with pytest.raises(ParameterError, match="must be an instance of a classifier"):
        reference(estimator=LogisticRegression).fit(data.X, data.true_labels)


def test_average_copies_rows_for_a_learner_that_does_not_weigh_them(data):
    # Weights of a half, a half and one: four copies of each pair on average.
    y = CandidateLabels.from_sets([["a", "b"], ["b"]])
    neighbours = KNeighborsClassifier(9)
    fitted = AverageClassifier(estimator=neighbours, scaling="none").fit([[0.0], [2.0]], y)
    plain = neighbours.fit([[0.0]] * 6 + [[2.0]] * 6, ["a"] * 3 + ["b"] * 9)
    new = [[0.4], [1.6]]
    np.testing.assert_allclose(fitted.predict_proba(new), plain.predict_proba(new))
    assert (
        AverageClassifier(estimator=KNeighborsClassifier())
        .fit(data.X, data.candidates)
        .score(data.X, data.candidates)
        > 0.7
    )


@pytest.mark.parametrize("reference", REFERENCES)
def test_one_label_everywhere_is_predicted_everywhere(reference):
    y = CandidateLabels.from_labels(["b", "b"], classes=["a", "b"])
    fitted = reference().fit([[0.0], [1.0]], y)
    assert fitted.predict_proba([[5.0]]).tolist() == [[0, 1]]


@pytest.mark.parametrize("reference", REFERENCES)
def test_references_take_sparse_features(data, reference):
    fitted = reference().fit(sparse.csr_array(data.X), data.true_labels)
    assert fitted.score(sparse.csr_array(data.X), data.true_labels) > 0.8
