import numpy as np
import pytest
from sklearn.base import clone

from disambig import PLKNN, CandidateLabels, NCPDClassifier, load_dataset
from disambig._core.errors import ParameterError
from disambig._core.parameters import spawn_seeds
from disambig.bench import (
    ControlledCorruption,
    cross_validate,
    mean_and_std,
    mean_and_std_text,
    shuffled_folds,
)
from disambig.bench.evaluate import Predictions, compute_metrics
from disambig.bench.record import Job
from disambig.bench.trial import Split, make_trial
from disambig.candidates.dataset import PartialLabelDataset
from disambig.datasets import make_partial_label_dataset
from disambig.methods import (
    OracleClassifier,
    PartialLabelClassifier,
    RandomCandidateClassifier,
)
from disambig.methods.base import MethodCard
from disambig.metrics import METRICS
from methods.ncpd.examples import Diary


class Witness(PartialLabelClassifier):
    """Learns nothing and remembers what it was shown."""

    card = MethodCard(name="witness", title="Sees what a method sees")
    seen: list = []  # noqa: RUF012  # shared by the clones on purpose

    def __init__(self, *, random_state=None):
        self.random_state = random_state

    def _fit(self, X, candidates):
        self.seen.append((X, candidates, self.random_state))
        return candidates.prior()

    def _predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


@pytest.fixture
def seen():
    Witness.seen.clear()
    return Witness.seen


@pytest.fixture(scope="module")
def data():
    return make_partial_label_dataset(60, 3, 4, average_candidates=2, random_state=0)


@pytest.mark.parametrize("n_folds", [1, 61])
def test_an_impossible_number_of_folds_is_refused(data, n_folds):
    with pytest.raises(ParameterError, match="'n_folds' must be an integer from 2 to 60. Got"):
        list(cross_validate(PLKNN(), data, n_folds=n_folds))


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5])
def test_a_seed_that_is_none_is_refused(data, seed):
    with pytest.raises(ParameterError, match="must be .*integer"):
        list(cross_validate(PLKNN(), data, n_folds=3, seed=seed))


def test_a_method_sees_the_candidate_sets_of_the_training_rows_and_no_more(data, seen):
    list(cross_validate(Witness(), data, n_folds=3, seed=5))
    for (X, candidates, _), (train, _) in zip(seen, shuffled_folds(60, 3, 5), strict=True):
        np.testing.assert_array_equal(X, data.X[train])
        assert candidates == data.candidates[train]


def test_every_fold_has_its_own_seed_and_the_run_can_be_repeated(data, seen):
    list(cross_validate(Witness(), data, n_folds=3, seed=5))
    list(cross_validate(Witness(), data, n_folds=3, seed=5))
    seeds = [random_state for _, _, random_state in seen]
    assert len(set(seeds[:3])) == 3
    assert seeds[:3] == seeds[3:]


def test_a_fold_is_trained_when_its_score_is_asked_for(data, seen):
    scores = cross_validate(Witness(), data, n_folds=3)
    for fold in (1, 2, 3):
        next(scores)
        assert len(seen) == fold


def test_the_score_of_a_fold_is_that_of_a_fit_to_its_rows(data):
    method = NCPDClassifier(hidden=16, epochs=8, ramp_epochs=4, batch_size=16, device="cpu")
    scores = cross_validate(method, data, n_folds=3, seed=5)
    splits, seeds = shuffled_folds(60, 3, 5), spawn_seeds(5, 3)
    for score, (train, test), seed in zip(scores, splits, seeds, strict=True):
        alone = clone(method).set_params(random_state=spawn_seeds(seed, 2)[1])
        alone.fit(data.X[train], data.candidates[train])
        assert score.accuracy == np.mean(alone.predict(data.X[test]) == data.true_labels[test])
        chosen = alone.disambiguate()
        assert score.transductive_accuracy == np.mean(chosen == data.true_labels[train])


def test_a_fold_is_judged_by_every_metric(data):
    for number, score in enumerate(cross_validate(PLKNN(), data, n_folds=3, seed=5)):
        trial = make_trial(data, Split(seed=5, fold=number, n_folds=3))
        fitted = PLKNN().fit(trial.train.X, trial.train.candidates)
        probabilities = fitted.predict_proba(trial.test.X)
        predictions = Predictions.from_classifier(fitted, trial, probabilities)
        assert vars(score) == compute_metrics(trial, predictions)
        assert list(vars(score)) == list(METRICS)


def test_callbacks_are_called_in_every_fold(data):
    diary = Diary()
    method = NCPDClassifier(hidden=16, epochs=2, ramp_epochs=1, device="cpu", callbacks=[diary])
    list(cross_validate(method, data, n_folds=3))
    assert diary.epochs == [1, 2] * 3


def test_one_checkpoint_for_all_folds_is_refused(data, tmp_path):
    method = NCPDClassifier(epochs=2, ramp_epochs=1, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(ParameterError, match="'checkpoint' names one file, and there are many"):
        next(cross_validate(method, data, n_folds=3))
    assert not list(tmp_path.iterdir())


def test_corruption_is_made_for_training_rows_and_is_the_same_for_every_method(data, seen):
    corruption = ControlledCorruption(p=0.5, r=2)
    list(cross_validate(Witness(), data, n_folds=3, corruption=corruption))
    list(cross_validate(Witness(random_state=3), data, n_folds=3, corruption=corruption))
    for (_, first, _), (_, second, _), (train, _) in zip(
        seen[:3], seen[3:], shuffled_folds(60, 3, 0), strict=True
    ):
        assert first == second
        assert sorted(np.unique(first.sizes)) == [1, 3]
        assert (first.sizes == 3).sum() == 20
        assert first.contains(data.true_labels[train]).all()
        assert first.classes.tolist() == [0, 1, 2, 3]


def test_corruption_is_drawn_anew_for_every_fold_and_seed(data, seen):
    for seed in (0, 1):
        corruption = ControlledCorruption(p=0.5, r=2)
        list(cross_validate(Witness(), data, n_folds=3, seed=seed, corruption=corruption))
    # All have 40 training rows: the same seed would choose the same places.
    assert len({tuple(candidates.sizes) for _, candidates, _ in seen}) == 6


def test_only_the_oracle_is_shown_the_truth(data):
    scores = list(cross_validate(OracleClassifier(), data, n_folds=3))
    assert [score.transductive_accuracy for score in scores] == [1, 1, 1]


def test_accuracy_is_measured_on_held_out_rows():
    # Labels are noise: whatever is learned by heart, held-out accuracy is that of a guess.
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 4, 400)
    X, y = generator.normal(size=(400, 3)), CandidateLabels.from_labels(labels)
    noise = PartialLabelDataset("noise", X, y, labels, feature_names=["a", "b", "c"])
    scores = list(cross_validate(PLKNN(n_neighbors=1), noise, n_folds=5))
    assert np.mean([score.accuracy for score in scores]) < 0.35


def test_a_blind_guess_sets_one_in_two_right(data):
    scores = list(cross_validate(RandomCandidateClassifier(), data, n_folds=10))
    assert abs(np.mean([score.transductive_accuracy for score in scores]) - 0.5) < 0.1


def test_true_labels_are_needed(data):
    blind = PartialLabelDataset("blind", data.X, data.candidates, None, data.feature_names)
    with pytest.raises(ParameterError, match="blind has none. For a table, name"):
        list(cross_validate(PLKNN(), blind))


def test_mean_and_sample_standard_deviation():
    mean, std = mean_and_std([1.0, 2.0, 4.0])
    assert mean == pytest.approx(7 / 3)
    assert std == pytest.approx(np.sqrt(7 / 3))
    assert mean_and_std_text([1.0, 2.0, 4.0]) == "2.333 ± 1.528"


@pytest.mark.realdata
def test_plknn_on_lost_is_where_others_found_it():
    method = PLKNN(unit_rows=True)
    scores = [score.accuracy for score in cross_validate(method, load_dataset("lost"))]
    assert abs(np.mean(scores) - 0.615) < 0.02


def test_misses_are_those_of_a_study(data):
    Witness.seen.clear()
    list(cross_validate(Witness(), data, n_folds=3, seed=1, corruption=None, miss=0.2))
    for fold, (_, candidates, _) in enumerate(Witness.seen):
        job = Job("plknn", "", Split(seed=1, fold=fold, n_folds=3), miss=0.2)
        assert candidates == job.trial_on(data).train.candidates
    plain = make_trial(data, Split(seed=1, n_folds=3)).train.candidates
    assert Witness.seen[0][1] != plain
