import pickle
import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import MinMaxScaler

from disambig import NCPDClassifier, load_dataset
from disambig.bench import shuffled_folds
from disambig.datasets import make_partial_label_dataset
from methods.ncpd.examples import EASY, NEW_X, EpochCounter, X, Y, assert_same_bits, quick

MEASURES = ["T", "simple", "agreement", "loss", "covering_rate", "changed"]


# What comes out ----------------------------------------------------------------------------------


def test_every_network_has_its_probabilities(fitted):
    probabilities = fitted.predict_proba_per_network(NEW_X)
    assert probabilities.shape == (2, len(NEW_X), 3)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=2), 1, atol=1e-12)
    assert np.abs(probabilities[0] - probabilities[1]).max() > 1e-3


def test_probabilities_are_the_mean_of_those_of_the_networks(fitted):
    per_network = fitted.predict_proba_per_network(NEW_X)
    np.testing.assert_allclose(
        fitted.predict_proba(NEW_X), (per_network[0] + per_network[1]) / 2, rtol=0, atol=1e-15
    )


def test_the_most_probable_class_is_predicted(fitted):
    columns = fitted.predict_proba(NEW_X).argmax(axis=1)
    assert fitted.predict(NEW_X).tolist() == [fitted.classes_[column] for column in columns]


def test_confidences_are_the_mean_of_the_probabilities_restricted_to_the_candidates(fitted):
    expected = np.zeros(Y.shape)
    for probabilities in fitted.predict_proba_per_network(X):
        for row, candidates in enumerate(Y.to_mask()):
            inside = probabilities[row] * candidates
            expected[row] += inside / inside.sum() / 2
    assert sparse.issparse(fitted.candidate_confidence_)
    assert fitted.candidate_confidence_.nnz == Y.sizes.sum()
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), expected, atol=1e-12)


def test_the_most_confident_candidate_is_chosen(fitted):
    confidence = fitted.candidate_confidence_.toarray()
    expected = [fitted.classes_[row.argmax()] for row in confidence]
    assert fitted.disambiguate().tolist() == expected
    assert Y.contains(fitted.disambiguate()).all()


def test_history_has_every_measure_of_every_epoch(fitted):
    history = fitted.history_
    assert list(history) == MEASURES
    assert history.n_epochs == 6
    for name in MEASURES:
        assert history[name].shape == (6,)
        assert np.isfinite(history[name]).all()
    for name in ("T", "simple", "agreement", "covering_rate", "changed"):
        assert ((history[name] >= 0) & (history[name] <= 1)).all()
    assert (np.diff(history["T"]) >= 0).all()
    assert history["T"][2:].tolist() == [1, 1, 1, 1]
    assert history["changed"][0] == 1


def test_history_becomes_a_frame_with_epochs_from_one(fitted):
    frame = fitted.history_.to_frame()
    assert frame.columns.tolist() == MEASURES
    assert frame.index.tolist() == [1, 2, 3, 4, 5, 6]
    assert frame.index.name == "epoch"
    assert frame["loss"].tolist() == fitted.history_["loss"].tolist()


def test_the_losses_fall_and_the_sets_are_covered():
    method = quick(hidden=64, epochs=30, ramp_epochs=15, learning_rate=0.01)
    history = method.fit(EASY.X, EASY.candidates).history_
    assert history["loss"][-1] < history["loss"][0] / 2
    assert history["covering_rate"][-1] > 0.9
    assert history["agreement"][-1] > 0.9
    assert history["simple"][-1] > 0.9
    assert history["changed"][-1] < 0.1


def test_a_great_many_rows_are_asked_about_in_parts(fitted):
    rows = np.random.default_rng(0).normal(size=(20_000, 4))
    whole = fitted.predict_proba(rows)
    assert whole.shape == (20_000, 3)
    np.testing.assert_allclose(whole[8190:8195], fitted.predict_proba(rows[8190:8195]), atol=1e-6)
    np.testing.assert_allclose(whole[-3:], fitted.predict_proba(rows[-3:]), atol=1e-6)


@pytest.mark.parametrize("action", ["predict", "predict_proba", "predict_proba_per_network"])
def test_nothing_is_predicted_before_fit(action):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(quick(), action)(X)


def test_nothing_is_saved_before_fit(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        quick().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# Randomness --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [{}, {"n_networks": 3}, {"cooperation": False}, {"batch_norm": False}, {"dropout": 0}],
)
def test_same_seed_same_bits(parameters):
    assert_same_bits(quick(**parameters).fit(X, Y), quick(**parameters).fit(X, Y))


def test_another_seed_gives_other_networks(fitted):
    other = quick(random_state=1).fit(X, Y).predict_proba(NEW_X)
    assert np.abs(other - fitted.predict_proba(NEW_X)).max() > 1e-3


def test_without_a_seed_every_fit_is_another():
    first, second = (quick(random_state=None).fit(X, Y).predict_proba(NEW_X) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_gives_new_seeds_every_time(make):
    generator = make(7)
    first, second = (quick(random_state=generator).fit(X, Y) for _ in range(2))
    assert np.abs(first.predict_proba(X) - second.predict_proba(X)).max() > 1e-3
    assert_same_bits(quick(random_state=make(7)).fit(X, Y), first)


def test_global_random_states_are_neither_read_nor_changed(fitted):
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    again = quick().fit(X, Y)
    again.predict(X)
    again.predict_proba_per_network(X)
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert before == after
    assert_same_bits(again, fitted)


def test_torchs_default_type_does_not_matter(fitted):
    torch.set_default_dtype(torch.float64)
    try:
        assert_same_bits(quick().fit(X, Y), fitted)
    finally:
        torch.set_default_dtype(torch.float32)


# Callbacks ---------------------------------------------------------------------------------------


class Diary:
    def __init__(self):
        self.entries = []

    def on_fit_start(self, training):
        self.entries.append(("start", training.epoch))

    def on_epoch_end(self, training):
        self.entries.append(("epoch", training.epoch))

    def on_fit_end(self, training):
        self.entries.append(("end", training.epoch))


def test_callbacks_are_told_of_every_event():
    diary = Diary()
    quick(epochs=3, callbacks=[diary]).fit(X, Y)
    assert diary.entries == [("start", 0), ("epoch", 1), ("epoch", 2), ("epoch", 3), ("end", 3)]


def test_a_callback_needs_only_the_events_it_wants(fitted):
    counter = EpochCounter()
    silent = SimpleNamespace(on_fit_end=lambda _: None)
    assert_same_bits(quick(callbacks=(counter, silent)).fit(X, Y), fitted)
    assert counter.epochs == 6


def test_a_callback_can_stop_the_training_and_note_a_measure():
    class Stopper:
        def on_epoch_end(self, training):
            training.note("twice", [2 * training.epoch])
            if training.epoch == 2:
                training.stop()

    fitted = quick(callbacks=[Stopper()]).fit(X, Y)
    assert fitted.history_["twice"].tolist() == [2, 4]
    assert fitted.history_.n_epochs == 2


def test_a_fit_that_fails_leaves_nothing_half_fitted():
    class Failure:
        def on_epoch_end(self, training):
            raise RuntimeError("out of luck")

    method = quick().fit(X, Y)
    with pytest.raises(RuntimeError, match="out of luck"):
        method.set_params(callbacks=[Failure()]).fit(X, Y)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        method.predict(X)


# As a scikit-learn classifier --------------------------------------------------------------------


def test_a_pickled_classifier_is_the_same(fitted):
    assert_same_bits(pickle.loads(pickle.dumps(fitted)), fitted)


def test_pickling_leaves_the_classifier_as_it_was(fitted):
    networks = fitted._networks
    pickle.dumps(fitted)
    assert fitted._networks is networks


def test_a_classifier_can_be_pickled_before_it_is_fitted(fitted):
    assert_same_bits(pickle.loads(pickle.dumps(quick())).fit(X, Y), fitted)


def test_a_pickled_classifier_carries_no_memory_of_its_training():
    data = make_partial_label_dataset(500, 4, 3, random_state=0)
    large = quick(epochs=1, ramp_epochs=1, batch_size=500).fit(data.X, data.candidates)
    small = quick(epochs=1, ramp_epochs=1, batch_size=2).fit(data.X, data.candidates)
    difference = len(pickle.dumps(large)) - len(pickle.dumps(small))
    assert abs(difference) < 1000


def test_predictions_leave_the_classifier_as_it_is(fitted):
    before = len(pickle.dumps(fitted))
    fitted.predict_proba(np.zeros((5000, 4)))
    assert len(pickle.dumps(fitted)) == before


def test_a_clone_has_the_parameters_and_nothing_learned(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        copy.predict(X)
    assert_same_bits(copy.fit(X, Y), fitted)


def test_a_clone_has_the_very_same_callbacks():
    counter = EpochCounter()
    copy = clone(quick(callbacks=[counter]))
    assert copy.callbacks[0] is counter
    copy.fit(X, Y)
    assert counter.epochs == 6


def test_a_clone_shares_nothing_else():
    method = quick(validation=(X.copy(), Y), hidden=[16], scaling=MinMaxScaler())
    copy = clone(method)
    assert copy.hidden == [16]
    assert copy.hidden is not method.hidden
    assert copy.scaling is not method.scaling
    assert copy.validation[0] is not method.validation[0]


def test_callbacks_are_called_in_a_grid_search():
    counter = EpochCounter()
    method = quick(callbacks=[counter], epochs=3)
    GridSearchCV(method, {"dropout": [0, 0.5]}, cv=2).fit(X, Y)
    assert counter.epochs == 3 * (2 * 2 + 1)  # values times folds, and once more with the best


def test_every_parameter_can_be_read_and_set():
    parameters = NCPDClassifier().get_params()
    assert len(parameters) == 23
    changed = NCPDClassifier().set_params(dropout=0.25, hidden=(8, 8), epochs=3)
    assert changed.get_params() == {**parameters, "dropout": 0.25, "hidden": (8, 8), "epochs": 3}


def test_a_grid_search_needs_candidate_sets_only():
    search = GridSearchCV(quick(), {"dropout": [0, 0.5]}, cv=KFold(2, shuffle=True, random_state=0))
    search.fit(X, Y)
    assert search.best_params_["dropout"] in (0, 0.5)
    scores = search.cv_results_["mean_test_score"]
    assert ((scores > 0.3) & (scores <= 1)).all()
    assert_same_bits(search.best_estimator_, quick(**search.best_params_).fit(X, Y))


def test_the_score_is_the_covering_rate(fitted):
    covered = [label in names for label, names in zip(fitted.predict(X), Y.to_sets(), strict=True)]
    assert fitted.score(X, Y) == np.mean(covered)


@pytest.mark.realdata
def test_accuracy_on_lost():
    lost = load_dataset("lost")
    train, test = shuffled_folds(len(lost.X), 10, 0)[0]
    method = NCPDClassifier(random_state=0, device="cpu").fit(lost.X[train], lost.candidates[train])
    assert np.mean(method.predict(lost.X[test]) == lost.true_labels[test]) > 0.7
    assert np.mean(method.disambiguate() == lost.true_labels[train]) > 0.85
