import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from disambig import CandidateLabels
from disambig._core.errors import CandidateError, ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods import RC
from methods.ncpd.examples import EpochCounter, X, Y, assert_same_bits, quick

RATE = "validation_covering_rate"
WATCHED = make_partial_label_dataset(40, 4, 3, average_candidates=1.7, overlap=0.3, random_state=5)
PAIR = (WATCHED.X, WATCHED.candidates)


class Witness(StandardScaler):
    """A scaler that remembers what it was fitted on."""

    rows: list = []  # noqa: RUF012  # shared with the copy that is fitted

    def fit(self, X, y=None):
        self.rows[:] = [X]
        return super().fit(X, y)


def held_out_rows(share, **parameters):
    """Return the fitted method and the numbers of the rows that were not trained on."""
    fitted = quick(validation=share, scaling=Witness(), **parameters).fit(X, Y)
    trained = {tuple(row) for row in Witness.rows[0]}
    return fitted, [number for number, row in enumerate(X) if tuple(row) not in trained]


# A share of the rows -----------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "count"), [(0.1, 6), (0.5, 30), (np.float32(0.25), 15)])
def test_a_share_of_the_rows_is_not_trained_on(share, count):
    _, held_out = held_out_rows(share)
    assert len(held_out) == count
    assert len(Witness.rows[0]) == 60 - count


def test_the_rate_of_the_last_epoch_is_the_score_on_the_held_out_rows():
    fitted, held_out = held_out_rows(0.3)
    assert fitted.history_[RATE].shape == (6,)
    assert fitted.history_[RATE][-1] == fitted.score(X[held_out], Y[held_out])


def test_which_rows_are_held_out_follows_the_seed():
    chosen = [held_out_rows(0.3, random_state=seed)[1] for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert chosen[0] != list(range(18))


def test_held_out_rows_have_confidences_in_their_place_too():
    fitted, _ = held_out_rows(0.3)
    mask = Y.to_mask()
    confidence = fitted.candidate_confidence_.toarray()
    assert ((confidence > 0) == mask).all()
    per_network = fitted.predict_proba_per_network(X) * mask
    per_network /= per_network.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(confidence, per_network.mean(axis=0), atol=1e-12)


def test_the_rows_that_are_trained_on_are_all_that_counts():
    fitted, held_out = held_out_rows(0.3)
    changed = X.copy()
    changed[held_out] += 100
    again = quick(validation=0.3, scaling=Witness()).fit(changed, Y)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


# Other rows --------------------------------------------------------------------------------------


def test_the_rate_of_the_last_epoch_is_the_score_on_the_pair():
    fitted = quick(validation=PAIR).fit(X, Y)
    assert fitted.history_[RATE][-1] == fitted.score(*PAIR)


def test_networks_that_only_help_are_not_asked():
    class Helped(RC):
        def _helper_count(self):
            return 1

    def fit(method):
        return method(
            hidden=8, epochs=6, batch_size=16, validation=PAIR, device="cpu", random_state=0
        ).fit(X, Y)

    helped, alone = fit(Helped), fit(RC)
    assert helped.history_[RATE].tolist() == alone.history_[RATE].tolist()
    assert len(helped.predict_proba_per_network(X)) == 1
    np.testing.assert_allclose(helped.predict_proba(X), alone.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("epochs", [3, 4, 5])
def test_every_rate_is_the_score_of_a_training_that_ends_there(epochs):
    rates = quick(validation=PAIR).fit(X, Y).history_[RATE]
    assert rates[epochs - 1] == quick(epochs=epochs).fit(X, Y).score(*PAIR)


def test_watching_other_rows_changes_nothing_that_is_learned():
    watched, alone = quick(validation=PAIR).fit(X, Y), quick().fit(X, Y)
    np.testing.assert_array_equal(watched.predict_proba(X), alone.predict_proba(X))
    history = watched.history_.to_dict()
    assert history.pop(RATE)
    assert history == alone.history_.to_dict()


@pytest.mark.parametrize("form", ["to_mask", "to_sparse"])
def test_a_mask_has_the_classes_of_the_training_rows(form):
    names = ["wolf", "cat", "dog"]  # not sorted
    named = CandidateLabels.from_mask(Y.to_mask(), names)
    expected = CandidateLabels.from_mask(PAIR[1].to_mask(), names)
    mask = getattr(PAIR[1], form)()
    found = quick(validation=(PAIR[0], mask)).fit(X, named).history_[RATE]
    assert (
        found.tolist()
        == quick(validation=(PAIR[0], expected)).fit(X, named).history_[RATE].tolist()
    )


def test_plain_labels_are_sets_of_one():
    truth = WATCHED.true_labels
    fitted = quick(validation=[PAIR[0], truth.tolist()]).fit(X, Y)
    assert fitted.history_[RATE][-1] == np.mean(fitted.predict(PAIR[0]) == truth)


def test_classes_are_told_apart_by_their_names_and_not_by_their_place():
    backwards = PAIR[1].with_classes([2, 1, 0])
    found = quick(validation=(PAIR[0], backwards)).fit(X, Y).history_[RATE]
    assert found.tolist() == quick(validation=PAIR).fit(X, Y).history_[RATE].tolist()


def test_a_candidate_that_is_not_trained_is_never_predicted():
    sets = CandidateLabels.from_sets([{7, 0}] * 20 + [{7, 1}] * 20)
    fitted = quick(validation=(PAIR[0], sets)).fit(X, Y)
    expected = np.mean(fitted.predict(PAIR[0]) == np.repeat([0, 1], 20))
    assert fitted.history_[RATE][-1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("labels", "rows"),
    [
        ([0] * 3 + [7] * 37, "37 samples, first at row 3"),
        ([0] * 39 + [7], "row 39"),
        (["0", "1"] * 20, "40 samples, first at row 0"),
    ],
)
def test_rows_that_nothing_trained_can_cover_are_refused(labels, rows):
    strangers = CandidateLabels.from_labels(labels)
    message = f"need a candidate among the classes that are trained.* {rows}. Name the classes as"
    with pytest.raises(CandidateError, match=message):
        quick(validation=(PAIR[0], strangers)).fit(X, Y)


def test_a_single_row_can_be_watched():
    assert set(quick(validation=(X[:1], Y[:1])).fit(X, Y).history_[RATE]) <= {0.0, 1.0}


def test_the_columns_of_a_frame_must_be_those_of_the_training_rows():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    watched = pd.DataFrame(PAIR[0], columns=["a", "b", "c", "d"])
    fitted = quick(validation=(watched, PAIR[1])).fit(frame, Y)
    assert fitted.history_[RATE][-1] == fitted.score(watched, PAIR[1])
    with pytest.raises(ValueError, match="feature names should match"):
        quick(validation=(watched[["b", "a", "c", "d"]], PAIR[1])).fit(frame, Y)


def test_a_pair_survives_being_cloned():
    method = quick(validation=PAIR, early_stopping=2)
    assert_same_bits(clone(method).fit(X, Y), method.fit(X, Y))


# Early stopping ----------------------------------------------------------------------------------


def learner(**parameters):
    """Return a method whose predictions still change after the first epoch."""
    return quick(**{"learning_rate": 0.03, "ramp_epochs": 1, **parameters})


@pytest.fixture(scope="module")
def settled_by_4():
    """Rows to watch whose labels are what is predicted after epoch 4: the rate is 1 there."""
    labels = learner(epochs=4).fit(X, Y).predict(PAIR[0])
    first = learner(epochs=1).fit(X, Y).predict(PAIR[0])
    assert (labels != first).any()  # or the first epoch would be the best, whatever is kept
    return PAIR[0], labels


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_training_stops_when_the_best_epoch_is_long_ago(settled_by_4, patience):
    method = learner(validation=settled_by_4, early_stopping=patience, epochs=40)
    rates = method.fit(X, Y).history_[RATE]
    assert len(rates) < 40
    assert len(rates) - 1 - rates.argmax() == patience


@pytest.mark.parametrize("epochs", [40, 6], ids=["stopped", "not stopped"])
def test_the_networks_of_the_best_epoch_are_kept(settled_by_4, epochs):
    method = learner(validation=settled_by_4, early_stopping=5, epochs=epochs)
    fitted = method.fit(X, Y)
    best = int(fitted.history_[RATE].argmax()) + 1
    assert 1 < best <= 4
    assert best < fitted.history_.n_epochs < 40
    expected = learner(validation=settled_by_4, epochs=best).fit(X, Y)
    np.testing.assert_array_equal(
        fitted.predict_proba_per_network(X), expected.predict_proba_per_network(X)
    )
    np.testing.assert_array_equal(
        fitted.candidate_confidence_.toarray(), expected.candidate_confidence_.toarray()
    )
    assert fitted.score(*settled_by_4) == 1


def test_without_patience_the_last_epoch_is_kept(settled_by_4):
    fitted = learner(validation=settled_by_4).fit(X, Y)
    assert fitted.history_[RATE].argmax() < 4
    np.testing.assert_array_equal(fitted.predict_proba(X), learner().fit(X, Y).predict_proba(X))


def test_of_equally_good_epochs_the_first_is_kept():
    # Every class is a candidate of every watched row: no epoch is better than another.
    everything = np.ones((40, 3), dtype=bool)
    fitted = quick(validation=(PAIR[0], everything), early_stopping=3, ramp_epochs=1).fit(X, Y)
    assert fitted.history_[RATE].tolist() == [1, 1, 1, 1]
    expected = quick(epochs=1, ramp_epochs=1).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)


def test_callbacks_see_the_epochs_that_were_trained_and_no_more(settled_by_4):
    counter = EpochCounter()
    method = learner(validation=settled_by_4, early_stopping=2, epochs=40, callbacks=[counter])
    fitted = method.fit(X, Y)
    assert counter.epochs == fitted.history_.n_epochs < 40


def test_a_share_of_the_rows_is_enough_to_stop_by():
    # No row tells its true label: every set has two candidates of three.
    mask = np.ones((60, 3), dtype=bool)
    mask[np.arange(60), np.random.default_rng(0).integers(0, 3, 60)] = False
    fitted = quick(validation=0.3, early_stopping=2, epochs=40).fit(X, mask)
    # 18 rows can become better 18 times, at least every second epoch.
    assert fitted.history_.n_epochs < 40


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (1.5, "'validation' must be a number from 0 to 1. Got 1.5"),
        (-0.1, "'validation' must be a number from 0 to 1. Got -0.1"),
        (float("nan"), "'validation' must be a number from 0 to 1. Got nan"),
        (0.001, "A share of 0.001 of 60 rows is 0. Give another share, or a pair"),
        (0.999, "A share of 0.999 of 60 rows is 60. Give another share, or a pair"),
        (0, "'validation' must leave rows to train on and rows to watch. A share of 0.0"),
        ((X,), r"'validation' must be a share of the rows, such as 0.1, or a pair \(X, y\)"),
        ((X, Y, Y), r"or a pair \(X, y\). Got tuple"),
        (object(), r"or a pair \(X, y\). Got object"),
        ("all", r"or a pair \(X, y\). Got str"),
        ("Xy", r"or a pair \(X, y\). Got str"),
        (True, r"or a pair \(X, y\). Got bool"),
        (False, r"or a pair \(X, y\). Got bool"),
        ({"X": X, "y": Y}, r"or a pair \(X, y\). Got dict"),
        (X[:2], r"or a pair \(X, y\). Got ndarray"),
    ],
)
def test_what_is_neither_a_share_nor_a_pair_is_refused(validation, message):
    with pytest.raises(ParameterError, match=message):
        quick(validation=validation).fit(X, Y)


def test_a_pair_whose_halves_do_not_fit_is_refused():
    with pytest.raises(CandidateError, match="'validation'.* Got 40 rows of features and 39 cand"):
        quick(validation=(PAIR[0], PAIR[1][:-1])).fit(X, Y)


def test_a_mask_with_other_columns_is_refused():
    with pytest.raises(CandidateError, match="Got 4 columns and 3 classes"):
        quick(validation=(PAIR[0], np.ones((40, 4), dtype=bool))).fit(X, Y)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (PAIR[0][:, :2], "X has 2 features, but NCPDClassifier is expecting 4"),
        (np.full((40, 4), np.nan), "contains NaN"),
    ],
)
def test_watched_features_are_checked_like_any_other(features, message):
    with pytest.raises(ValueError, match=message):
        quick(validation=(features, PAIR[1])).fit(X, Y)
