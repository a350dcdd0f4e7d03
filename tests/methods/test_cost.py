"""How long a fit takes, estimated: by a clock that stands still unless a fit moves it."""

import copy
import warnings
from itertools import count

import numpy as np
import pytest
from scipy import sparse

from disambig.datasets import make_partial_label_dataset
from disambig.methods import estimate_fit_seconds, growth
from disambig.methods.base import MethodCard, PartialLabelClassifier
from disambig.methods.growth import extrapolated_seconds
from disambig.methods.ncpd import NCPDClassifier
from disambig.methods.ncpd_plus.estimator import NCPDPlusClassifier
from disambig.methods.networks import pace
from methods.instances import INSTANCES

DATA = make_partial_label_dataset(300, 4, 3, random_state=0)


class Clock:
    """Moves only when somebody moves it; a fit to some rows takes ``of(rows)`` seconds."""

    def __init__(self, monkeypatch, of):
        self.now = 0.0
        self.sizes = []
        self._of = of
        monkeypatch.setattr(growth.time, "perf_counter", lambda: self.now)

    def fit(self, rows):
        self.sizes.append(len(rows))
        assert len(np.unique(rows)) == len(rows)
        self.now += self._of(len(rows))


@pytest.mark.parametrize(
    ("of", "power"),
    [
        (lambda n: 1e-3 * n, None),
        (lambda n: 1e-6 * n**2, None),
        (lambda n: 1e-8 * n**3, None),
        (lambda n: 0.02 + 1e-5 * n, None),
        (lambda n: 0.05, None),
        (lambda n: 0.02 + 1e-4 * n + 1e-7 * n**2, 2),
    ],
    ids=["linear", "square", "cube", "with a constant", "constant", "of known power"],
)
def test_growth_is_found_and_little_is_spent_on_it(monkeypatch, of, power):
    clock = Clock(monkeypatch, of)
    whole = of(20_000)
    assert extrapolated_seconds(clock.fit, 20_000, power=power) == pytest.approx(whole, rel=0.05)
    least = sum(map(of, clock.sizes[:2]))
    assert clock.now - least <= max(0.3, min(1.0, 0.05 * whole)) * 1.1


def test_what_the_first_fit_has_to_load_does_not_count(monkeypatch):
    calls = count()
    clock = Clock(monkeypatch, lambda n: 1e-3 * n + (0.4 if next(calls) == 0 else 0.0))
    assert extrapolated_seconds(clock.fit, 20_000) == pytest.approx(20.0)


def test_a_factored_matrix_counts_even_where_no_small_fit_shows_it(monkeypatch):
    clock = Clock(monkeypatch, lambda n: 0.02 + 1e-7 * n**2 + 1e-10 * n**3 / 6)
    monkeypatch.setattr(growth, "_seconds_per_multiplication", lambda: 1e-10)
    whole = 0.02 + 1e-7 * 30_000**2 + 1e-10 * 30_000**3 / 6
    assert extrapolated_seconds(clock.fit, 30_000, power=3) == pytest.approx(whole, rel=0.1)


def test_a_slow_first_fit_is_the_only_one(monkeypatch):
    clock = Clock(monkeypatch, lambda n: 0.1 * n)
    assert extrapolated_seconds(clock.fit, 640) == pytest.approx(64.0)
    assert clock.sizes == [64]


def test_to_see_growth_a_second_fit_may_take_longer(monkeypatch):
    clock = Clock(monkeypatch, lambda n: 0.3 * n / 200)
    assert extrapolated_seconds(clock.fit, 100_000, n_classes=100) == pytest.approx(150.0)
    # Two rows for every class to begin with, which may have to load something. The second takes
    # 0.6 s, and the third, which takes 1.2, is worth it.
    assert clock.sizes == [200, 400, 800]


def test_what_grows_steeply_is_seen_from_the_first_two_fits(monkeypatch):
    clock = Clock(monkeypatch, lambda n: 0.9 * (n / 200) ** 2.2)
    found = extrapolated_seconds(clock.fit, 3000, n_classes=100)
    assert found == pytest.approx(0.9 * 15**2.2)
    assert clock.sizes == [200, 400]


def test_of_few_rows_half_are_fitted_at_most(monkeypatch):
    clock = Clock(monkeypatch, lambda n: 1e-5 * n)
    assert extrapolated_seconds(clock.fit, 20) == pytest.approx(20e-5)
    assert max(clock.sizes) <= 10
    assert extrapolated_seconds(clock.fit, 1) > 0


class Patient(PartialLabelClassifier):
    """Takes a second a row, by a clock of its own."""

    card = MethodCard(name="patient", title="Waits")

    def __init__(self, clock=None):
        self.clock = clock

    def __sklearn_clone__(self):
        return Patient(self.clock)

    def _fit(self, X, candidates):
        assert X.shape[0] == len(candidates)
        self.clock.fit(np.arange(len(candidates)))
        return candidates.prior()

    def _predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_a_method_of_the_user_is_fitted_to_some_rows_and_left_unfitted(monkeypatch):
    method = Patient(Clock(monkeypatch, lambda n: 1.0 * n))
    assert estimate_fit_seconds(method, DATA.X, DATA.candidates) == pytest.approx(300.0)
    assert method.clock.sizes == [38]
    assert not hasattr(method, "classes_")


class Wordy(Patient):
    """Takes a second for every column."""

    accepts_sparse = True

    def __sklearn_clone__(self):
        return Wordy(self.clock)

    def _fit(self, X, candidates):
        self.clock.fit(np.arange(X.shape[1]))
        return candidates.prior()


def test_a_fit_to_some_rows_has_the_words_of_these_alone(monkeypatch):
    words = sparse.csr_array(np.eye(300))
    method = Wordy(Clock(monkeypatch, lambda n: 1.0 * n))
    estimate_fit_seconds(method, words, DATA.candidates)
    assert method.clock.sizes in ([38], [39])
    nothing = sparse.csr_array((300, 5))
    assert estimate_fit_seconds(method, nothing, DATA.candidates) > 0


# ---- networks: every look at the clock is a second later


@pytest.fixture
def ticking(monkeypatch):
    ticks = count()
    monkeypatch.setattr(pace.time, "perf_counter", lambda: float(next(ticks)))


def network(**parameters):
    settings = {"hidden": 8, "epochs": 20, "ramp_epochs": 10, "batch_size": 64, "device": "cpu"}
    return NCPDClassifier(**(settings | parameters))


# 300 rows are five batches. One of them is an epoch of a second, and to ask about its 60 rows
# takes another.
STEPS, PER_ROW = 5, 1 / 60


@pytest.mark.usefixtures("ticking")
def test_networks_take_all_steps_and_are_asked_about_all_rows():
    seconds = estimate_fit_seconds(network(), DATA.X, DATA.candidates)
    assert seconds == pytest.approx(20 * STEPS + 300 * PER_ROW)


@pytest.mark.usefixtures("ticking")
def test_rows_held_out_are_asked_about_in_every_epoch_and_not_trained_on():
    # 270 rows are five batches too; 150 are three.
    seconds = estimate_fit_seconds(network(validation=0.5), DATA.X, DATA.candidates)
    assert seconds == pytest.approx(20 * 3 + (300 + 20 * 150) * PER_ROW)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("miss_rate", [0.0, 0.1])
def test_a_mix_has_three_scouts_two_members_and_judges_where_sets_may_miss_the_truth(miss_rate):
    method = NCPDPlusClassifier(
        hidden=8, epochs=20, batch_size=64, device="cpu", miss_rate=miss_rate
    )
    # Scouts and judges see four fifths of the rows, which are four batches: 7 epochs each for the
    # scouts, and 8 for judges, of which three rounds of five folds are trained.
    scouts, members, judge = 3 * 7 * 4, 2 * (13 * STEPS + 300 * PER_ROW), 8 * 4
    expected = scouts + members + (scouts + 15 * judge if miss_rate else 0)
    assert estimate_fit_seconds(method, DATA.X, DATA.candidates) == pytest.approx(expected)


@pytest.mark.usefixtures("ticking")
def test_one_configuration_is_trained_once():
    method = NCPDPlusClassifier(
        select="none", hidden=8, epochs=20, ramp_epochs=9, batch_size=64, device="cpu"
    )
    seconds = estimate_fit_seconds(method, DATA.X, DATA.candidates)
    assert seconds == pytest.approx(20 * STEPS + 300 * PER_ROW)


class Intruder:
    """Fails if it is called."""

    def on_fit_start(self, training):
        raise AssertionError("the real fit has not started")

    on_epoch_end = on_fit_start


def test_nobody_hears_of_a_measured_fit_and_no_file_is_written(tmp_path):
    path = tmp_path / "training"
    method = network(callbacks=[Intruder()], checkpoint=path, verbose=1, epochs=3)
    estimate_fit_seconds(method, DATA.X, DATA.candidates)
    assert list(tmp_path.iterdir()) == []
    assert isinstance(method.callbacks[0], Intruder)
    assert method.checkpoint == path


# ---- all methods


@pytest.mark.parametrize("name", INSTANCES)
def test_a_fit_after_an_estimate_gives_the_same_bits(name):
    method = INSTANCES[name]
    y = DATA.true_labels if method.card.reads_true_labels else DATA.candidates
    plain = copy.deepcopy(method)
    if "random_state" in method.get_params():
        plain.set_params(random_state=np.random.default_rng(3))
    estimated = copy.deepcopy(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seconds = estimate_fit_seconds(estimated, DATA.X, y)
    assert 0 < seconds < 600
    assert set(vars(estimated)) == set(vars(plain))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, after = plain.fit(DATA.X, y), estimated.fit(DATA.X, y)
    assert np.array_equal(before.predict_proba(DATA.X), after.predict_proba(DATA.X))
