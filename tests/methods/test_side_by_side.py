import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from disambig import PLKNN, CandidateLabels, NCPDClassifier
from disambig._core.errors import CandidateError, ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods import AverageClassifier, RandomCandidateClassifier, fit_many
from methods.ncpd.examples import Diary


def networks(**parameters):
    small = {"hidden": 16, "epochs": 6, "ramp_epochs": 3, "batch_size": 16, "device": "cpu"}
    return NCPDClassifier(**{**small, "random_state": 0, **parameters})


def task(seed, n_rows=60, n_features=4, n_classes=3):
    average = 1 + 0.3 * (seed % 3)
    data = make_partial_label_dataset(
        n_rows, n_features, n_classes, average_candidates=average, random_state=seed
    )
    return data.X, data.candidates, seed


def assert_close_to_fits_alone(method, tasks, found, tolerance=1e-5):
    found = list(found)
    assert len(found) == len(tasks)
    for fitted, (X, y, seed) in zip(found, tasks, strict=True):
        alone = type(method)(**{**method.get_params(), "random_state": seed}).fit(X, y)
        np.testing.assert_allclose(fitted.predict_proba(X), alone.predict_proba(X), atol=tolerance)
        np.testing.assert_allclose(
            fitted.candidate_confidence_.toarray(),
            alone.candidate_confidence_.toarray(),
            atol=tolerance,
        )


@pytest.mark.parametrize("at_once", [1, 2, 10])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"cooperation": False, "hidden": (12, 8)},
        {"n_networks": 3, "batch_norm": False},
        {"progressive": False, "activation": "gelu", "scaling": "standard"},
    ],
    ids=str,
)
def test_networks_side_by_side_learn_what_each_learns_alone(at_once, parameters):
    # The numbers of rows differ, that of batches does not: all can share one stack.
    tasks = [task(1, 60), task(2, 64), task(3, 51), task(4, 60)]
    method = networks(**parameters)
    assert_close_to_fits_alone(method, tasks, fit_many(method, tasks, at_once=at_once))


@pytest.mark.parametrize("at_once", [3, 100])
def test_tasks_of_different_shapes_keep_their_order(at_once):
    tasks = [
        task(1),
        task(2, n_features=7),
        task(3, n_rows=100),
        task(4, n_classes=5),
        task(5),
        task(6, n_features=7),
        task(7, n_rows=2),
        task(8, n_rows=1),
    ]
    method = networks()
    found = list(fit_many(method, tasks, at_once=at_once))
    assert [fitted.n_features_in_ for fitted in found] == [4, 7, 4, 4, 4, 7, 4, 4]
    assert [len(fitted.classes_) for fitted in found] == [3, 3, 3, 5, 3, 3, 3, 3]
    assert [fitted.candidate_confidence_.shape[0] for fitted in found[:4]] == [60, 60, 100, 60]
    assert_close_to_fits_alone(method, tasks, found)


def test_histories_are_those_of_each_alone():
    tasks = [task(1, 60), task(2, 64)]
    for fitted, (X, y, seed) in zip(fit_many(networks(), tasks, at_once=2), tasks, strict=True):
        alone = networks(random_state=seed).fit(X, y).history_.to_frame()
        pd.testing.assert_frame_equal(fitted.history_.to_frame(), alone, atol=1e-5)


def test_one_at_a_time_gives_the_same_bits_as_alone():
    X, y, _ = task(1)
    (fitted,) = fit_many(networks(), [(X, y, 5)])
    expected = networks(random_state=5).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


def test_the_same_data_with_other_seeds_gives_other_networks():
    X, y, _ = task(1)
    first, second, again = fit_many(networks(), [(X, y, 1), (X, y, 2), (X, y, 1)], at_once=3)
    assert np.abs(first.predict_proba(X) - second.predict_proba(X)).max() > 1e-3
    np.testing.assert_allclose(again.predict_proba(X), first.predict_proba(X), atol=1e-6)


def test_without_a_seed_the_methods_own_is_used():
    X, y, _ = task(1)
    (fitted,) = fit_many(networks(random_state=3), [(X, y, None)])
    assert fitted.random_state == 3
    expected = networks(random_state=3).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)


@pytest.mark.parametrize("at_once", [1, 2])
def test_what_follows_one_training_does_not_mix_with_others(tmp_path, at_once):
    tasks = [task(1), task(2)]
    method = networks(validation=0.2, early_stopping=2, epochs=30)
    found = list(fit_many(method, tasks, at_once=at_once))
    assert_close_to_fits_alone(method, tasks, found, tolerance=0)
    for fitted in found:
        assert len(fitted.history_["validation_covering_rate"]) == fitted.history_.n_epochs


def test_labels_may_have_other_names_in_every_task():
    X, y, _ = task(1)
    named = CandidateLabels.from_mask(y.to_mask(), ["wolf", "cat", "dog"])
    numbered, texts = fit_many(networks(), [(X, y, 1), (X, named, 1)], at_once=2)
    names = np.array(["wolf", "cat", "dog"])
    assert names[numbered.predict(X)].tolist() == texts.predict(X).tolist()


def test_plain_labels_and_frames_are_taken_as_in_fit():
    X, y, _ = task(1)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    by_frame, by_list = fit_many(networks(), [(frame, y, 1), (X.tolist(), [0, 1] * 30, 1)])
    assert by_frame.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert by_list.classes_.tolist() == [0, 1]


def test_other_methods_are_fitted_one_after_the_other():
    tasks = [task(1), task(2, n_features=7), task(3, n_classes=5)]
    for at_once in (None, 2):
        for fitted, (X, y, _) in zip(fit_many(PLKNN(), tasks, at_once=at_once), tasks, strict=True):
            expected = PLKNN().fit(X, y)
            np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
            np.testing.assert_array_equal(
                fitted.candidate_confidence_.toarray(), expected.candidate_confidence_.toarray()
            )


def test_a_seed_reaches_every_method_that_takes_one():
    X, y, _ = task(1)
    first, second = fit_many(RandomCandidateClassifier(), [(X, y, 1), (X, y, 2)])
    assert (first.random_state, second.random_state) == (1, 2)
    (fitted,) = fit_many(AverageClassifier(), [(X, y, 1)])
    assert fitted.predict(X).shape == (60,)


@pytest.mark.parametrize("method", [networks(), PLKNN()], ids=["networks", "neighbours"])
def test_the_method_itself_is_left_as_it_is(method):
    before = dict(vars(method))
    fitted = list(fit_many(method, [task(1), task(2)], at_once=2))
    assert vars(method) == before
    assert method not in fitted
    with pytest.raises(NotFittedError, match="not fitted yet"):
        method.predict(task(1)[0])


def test_a_fitted_method_stays_fitted():
    X, y, _ = task(1)
    method = networks().fit(X, y)
    expected = method.predict_proba(X)
    list(fit_many(method, [task(2), task(3)], at_once=2))
    np.testing.assert_array_equal(method.predict_proba(X), expected)


@pytest.mark.parametrize(("at_once", "taken_for_one"), [(1, 1), (2, 2), (None, 1)])
def test_tasks_are_taken_as_they_are_needed(at_once, taken_for_one):
    taken = []

    def tasks():
        for seed in range(5):
            taken.append(seed)
            yield task(seed)

    fits = fit_many(networks(epochs=1, ramp_epochs=1), tasks(), at_once=at_once)
    assert taken == []
    next(fits)
    assert len(taken) == taken_for_one
    assert len(list(fits)) == 4
    assert len(taken) == 5


def test_no_tasks_give_no_fits():
    assert list(fit_many(networks(), [])) == []
    assert list(fit_many(networks(), [], at_once=3)) == []


@pytest.mark.parametrize("at_once", [0, -1, 1.5, True, "all"])
def test_an_impossible_number_at_once_is_refused(at_once):
    with pytest.raises(ParameterError, match="'at_once' must be an integer >= 1. Got"):
        fit_many(networks(), [task(1)], at_once=at_once)  # at the call, before any task is taken


@pytest.mark.parametrize("at_once", [None, 1, 2])
def test_one_checkpoint_for_many_trainings_is_refused_at_once(tmp_path, at_once):
    method = networks(checkpoint=tmp_path / "checkpoint")
    with pytest.raises(ParameterError, match="'checkpoint' names one file, and there are many"):
        fit_many(method, [task(1), task(2)], at_once=at_once)


@pytest.mark.parametrize("at_once", [None, 1, 2])
def test_callbacks_are_called_in_every_training(at_once):
    diary = Diary()
    list(fit_many(networks(epochs=3, callbacks=[diary]), [task(1), task(2)], at_once=at_once))
    assert diary.epochs == [1, 2, 3] * 2


def test_bad_parameters_and_data_are_refused_as_in_fit():
    X, y, _ = task(1)
    with pytest.raises(ParameterError, match="'epochs' must be an integer >= 1. Got 0"):
        list(fit_many(networks(epochs=0), [(X, y, 1)]))
    fits = fit_many(networks(), [(X, y, 1), (X, y[:-1], 2)])
    assert next(fits).predict(X).shape == (60,)
    with pytest.raises(CandidateError, match="Got 60 rows of features and 59 candidate sets"):
        next(fits)
