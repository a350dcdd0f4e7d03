import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from disambig import SURE, CandidateLabels, NCPDPlusClassifier, find_misses
from disambig._core.errors import CandidateError, ParameterError
from disambig.candidates import corrupt_controlled, leave_out_truth
from disambig.methods import fit_many
from disambig.methods.misses import find_misses_side_by_side
from disambig.methods.ncpd_plus import estimator
from methods.ncpd_plus.plus_examples import quick_mix

JUDGE = SURE(max_iter=10)


def blobs(n_rows=160, seed=0):
    """Four well separated classes, with candidate sets that hold the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n_rows)
    X = rng.normal(size=(n_rows, 3)) + 6 * np.eye(4)[truth][:, :3]
    names = np.array(["ant", "bee", "cow", "dog"])[truth]
    return X, names, corrupt_controlled(names, p=0.6, r=1, random_state=seed)


X, TRUTH, COMPLETE = blobs()
SETS = leave_out_truth(COMPLETE, TRUTH, rate=0.15, random_state=1)
MISSING = ~SETS.contains(TRUTH)


def test_sets_without_the_truth_are_found_with_the_label_that_they_miss():
    found = find_misses(JUDGE, X, SETS, random_state=0)
    assert found.rate == pytest.approx(0.15, abs=0.05)
    low, high = found.interval
    assert 0 <= low < found.rate < high
    assert found.probability[MISSING].min() > found.probability[~MISSING].mean()
    assert (found.label[MISSING] == TRUTH[MISSING]).mean() > 0.9
    assert found.candidates.contains(TRUTH).mean() > 0.97
    # Nothing is taken out of a set.
    assert (found.candidates.to_mask() >= SETS.to_mask()).all()
    assert str(found).startswith(f"About {100 * found.rate:.0f} % of the sets (")


def test_sets_are_left_alone_where_all_hold_the_truth():
    found = find_misses(JUDGE, X, COMPLETE, random_state=0)
    assert found.candidates == COMPLETE
    assert found.rate < 0.02


def test_the_method_is_left_as_it_is_and_the_seed_decides():
    method = clone(JUDGE)
    first, again = (find_misses(method, X, SETS, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.probability, again.probability)
    with pytest.raises(NotFittedError):
        method.predict(X)


def test_a_known_rate_is_taken():
    found = find_misses(JUDGE, X, SETS, miss_rate=0.3, random_state=0)
    assert found.rate == 0.3
    assert found.interval == (0.3, 0.3)
    assert str(found) == "About 30 % of the sets do not contain the right label."


def test_a_known_rate_is_believed_however_small():
    found = find_misses(JUDGE, X, SETS, miss_rate=0.02, random_state=0)
    assert found.candidates.contains(TRUTH).mean() > SETS.contains(TRUTH).mean() + 0.05


def test_labels_of_one_class_miss_nothing():
    found = find_misses(JUDGE, X[:10], ["cow"] * 10, random_state=0)
    assert found.rate == 0
    assert found.label.tolist() == ["cow"] * 10


def test_a_label_that_is_added_weighs_as_much_as_the_set_is_doubted():
    weighted = CandidateLabels.from_mask(
        SETS.to_mask(), SETS.classes, weights=2 * SETS.to_mask().astype(float)
    )
    found = find_misses(JUDGE, X, weighted, random_state=0)
    added = found.candidates.to_mask() & ~SETS.to_mask()
    assert added[MISSING].any(axis=1).mean() > 0.9
    weights = found.candidates.prior().toarray()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights[added].min() > 0.05
    untouched = ~added.any(axis=1)
    np.testing.assert_allclose(weights[untouched], weighted.prior().toarray()[untouched])


def test_tables_side_by_side_are_judged_as_alone():
    other_X, other_truth, other = blobs(seed=5)
    other = leave_out_truth(other, other_truth, rate=0.3, random_state=2)
    tables = [(X, COMPLETE), (other_X, other)]
    together = find_misses_side_by_side([JUDGE] * 2, tables, "auto", [1, 2])
    for table, seed, found in zip(tables, (1, 2), together, strict=True):
        (alone,) = find_misses_side_by_side([JUDGE], [table], "auto", [seed])
        np.testing.assert_array_equal(found.probability, alone.probability)
        assert found.candidates == alone.candidates


def test_a_set_of_all_classes_proposes_its_likeliest_candidate():
    mask = SETS.to_mask()
    mask[:5] = True
    found = find_misses(JUDGE, X, CandidateLabels.from_mask(mask, SETS.classes), random_state=0)
    assert (found.probability[:5] == 0).all()
    assert found.label[:5].tolist() == TRUTH[:5].tolist()


@pytest.mark.parametrize("rate", [-0.1, 1, 1.5, True, None, "some", float("nan"), [0.1]], ids=str)
def test_a_bad_rate_is_refused(rate):
    message = r"'miss_rate' must be a number from 0 to below 1, .* or 'auto' .* Got "
    with pytest.raises(ParameterError, match=message):
        find_misses(JUDGE, X, SETS, miss_rate=rate)
    with pytest.raises(ParameterError, match=message):
        NCPDPlusClassifier(miss_rate=rate).fit(X, SETS)


def test_too_few_rows_are_refused():
    with pytest.raises(CandidateError, match=r"takes at least 5 rows. Got 4. Give more, lower"):
        find_misses(JUDGE, X[:4], SETS[:4])


def tolerant_plus(select, epochs=8, **parameters):
    """Return NCPD+ that finds misses, as a mix or alone, quick enough for a test."""
    few = {"hidden": 16, "epochs": epochs, "batch_size": 64, "learning_rate": 0.05}
    ramp = {} if select == "auto" else {"ramp_epochs": epochs // 3}
    return quick_mix(select=select, miss_rate="auto", **few, **ramp, **parameters)


class Counter:
    """A callback that counts fits."""

    def __init__(self):
        self.fits = 0

    def on_fit_end(self, _):
        self.fits += 1


@pytest.mark.parametrize("select", ["auto", "none"])
def test_callbacks_follow_the_fit_and_not_its_judges(select):
    tolerant, believing = Counter(), Counter()
    tolerant_plus(select, callbacks=[tolerant]).fit(X, COMPLETE)
    tolerant_plus(select, callbacks=[believing]).set_params(miss_rate=0.0).fit(X, COMPLETE)
    assert tolerant.fits == believing.fits > 0


@pytest.mark.parametrize("select", ["auto", "none"])
def test_a_checkpoint_is_gone_on_from_with_the_same_sets(select, tmp_path):
    first, again = (
        tolerant_plus(select, checkpoint=tmp_path / "fit").fit(X, SETS) for _ in range(2)
    )
    assert again.misses_.candidates == first.misses_.candidates
    np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))
    alone = tolerant_plus(select).fit(X, SETS)
    np.testing.assert_array_equal(alone.predict_proba(X), first.predict_proba(X))


def test_a_checkpoint_needs_a_seed_to_meet_the_same_sets(tmp_path):
    model = tolerant_plus("none", checkpoint=tmp_path / "fit").set_params(random_state=None)
    with pytest.raises(ParameterError, match="'checkpoint' with 'miss_rate' needs an integer"):
        model.fit(X, SETS)


@pytest.mark.parametrize("select", ["auto", "none"])
def test_rows_are_watched_by_their_own_sets(select):
    with pytest.raises(ParameterError, match=r"Got validation=0.2: give a pair \(X, y\)"):
        tolerant_plus(select, validation=0.2).fit(X, SETS)
    model = tolerant_plus(select, validation=(X[:40], SETS[:40])).fit(X[40:], SETS[40:])
    assert len(model.misses_.probability) == len(X) - 40
    watched = SETS[:40].contains(model.predict(X[:40])).mean()
    assert model.history_["validation_covering_rate"][-1] == pytest.approx(watched)


def test_judges_that_collapse_are_not_warned_of(monkeypatch):
    # Not in members.py, so that the mix itself leaves nothing out.
    monkeypatch.setattr(estimator, "has_collapsed", lambda _: True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tolerant_plus("auto").fit(X, SETS)


@pytest.mark.parametrize("select", ["auto", "none"])
def test_ncpd_plus_learns_from_widened_sets_and_chooses_inside_the_given_ones(select, tmp_path):
    model = tolerant_plus(select, epochs=15).fit(X, SETS)
    misses = model.misses_
    assert misses.probability[MISSING].mean() > 5 * misses.probability[~MISSING].mean()
    assert (model.predict(X)[MISSING] == TRUTH[MISSING]).mean() > 0.8
    assert SETS.contains(model.disambiguate()).all()
    model.save(tmp_path / "model")
    loaded = NCPDPlusClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-6)
    model.set_params(miss_rate=0.0).fit(X, SETS)
    assert model.misses_ is None


def test_ncpd_plus_finds_misses_side_by_side_as_alone():
    tasks = [(X, SETS, 1), (X, COMPLETE, 2)]
    together = list(fit_many(tolerant_plus("auto"), tasks, at_once=2))
    for (features, sets, seed), model in zip(tasks, together, strict=True):
        alone = tolerant_plus("auto", random_state=seed).fit(features, sets)
        assert model.misses_.candidates == alone.misses_.candidates
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-3)


def test_a_model_file_from_before_misses_were_found_can_be_read(tmp_path):
    model = quick_mix().fit(X, SETS)
    for written in (model, *model.members_.values()):
        del written._fitted_with["miss_rate"]
    model.save(tmp_path / "model")
    loaded = NCPDPlusClassifier.load(tmp_path / "model")
    assert loaded.miss_rate == 0
    assert loaded.misses_ is None
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
