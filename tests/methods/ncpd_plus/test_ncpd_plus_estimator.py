import pickle
import random

import numpy as np
import pytest
import torch

from disambig import CandidateLabels, NCPDClassifier
from disambig._core.parameters import make_generator, spawn_seeds
from disambig.datasets import make_partial_label_dataset
from disambig.methods import fit_many
from disambig.methods.ncpd_plus import members, selection
from disambig.methods.ncpd_plus.selection import CONFIGURATIONS, compare
from disambig.methods.networks.plan import Start
from disambig.methods.scaling import FeatureScaler
from methods.ncpd.examples import EASY, NEW_X, Diary, X, Y, assert_same_bits
from methods.ncpd_plus.plus_examples import EVERY_PART, SCOUTING, SMALL, quick_mix, quick_single

# Of the rows to watch, of those held out from scouts, and of the trainings.
_, SCOUT_SEED, MEMBER_SEED = spawn_seeds(0, 3)


def assert_same_but_for_rounding(found, expected, rows):
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), atol=1e-5)
    np.testing.assert_allclose(
        found.candidate_confidence_.toarray(), expected.candidate_confidence_.toarray(), atol=1e-5
    )


# One configuration -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_networks": 3, "hidden": (12, 8)},
        {"cooperation": False, "scaling": "standard"},
        {"progressive": False, "batch_norm": False, "validation": 0.2, "early_stopping": 3},
    ],
    ids=str,
)
def test_without_its_parts_it_is_ncpd_to_the_bit(parameters):
    expected = NCPDClassifier(**{**SMALL, "ramp_epochs": 3, **parameters}).fit(X, Y)
    assert_same_bits(quick_single(guard=False, **parameters).fit(X, Y), expected)


def test_a_guard_that_sees_nothing_wrong_only_adds_to_the_history():
    guarded, plain = (quick_single(guard=guard).fit(X, Y) for guard in (True, False))
    np.testing.assert_array_equal(guarded.predict_proba(NEW_X), plain.predict_proba(NEW_X))
    assert set(guarded.history_) - set(plain.history_) == {"kept", "collapsed"}
    assert np.nanmax(guarded.history_["collapsed"]) == 0


@pytest.mark.parametrize(
    ("parameters", "others"),
    [
        ({"swap_noise": 0.3}, {}),
        ({"swap_noise": 0.3, "noise_from": 5}, {"swap_noise": 0.3}),
        ({"second_view": "quantile"}, {}),
        ({"second_view": "quantile"}, {"scaling": "quantile", "second_view": "half"}),
        ({"prior_correction": 0.5}, {}),
        ({"prior_correction": 1.0}, {"prior_correction": 0.5}),
    ],
    ids=str,
)
def test_every_part_makes_a_difference(parameters, others):
    found, expected = (quick_single(**own).fit(X, Y) for own in (parameters, others))
    assert np.abs(found.predict_proba(NEW_X) - expected.predict_proba(NEW_X)).max() > 1e-4


def test_networks_see_both_views_side_by_side():
    scalers = [FeatureScaler(kind).fit(X) for kind in ("standard", "quantile")]

    def both(rows):
        return np.hstack([scaler.transform(rows) for scaler in scalers])

    found = quick_single(scaling="standard", second_view="quantile").fit(X, Y)
    by_hand = quick_single(scaling="none").fit(both(X), Y)
    assert (found.n_features_in_, by_hand.n_features_in_) == (4, 8)
    np.testing.assert_array_equal(
        found.predict_proba_per_network(NEW_X), by_hand.predict_proba_per_network(both(NEW_X))
    )


def test_noise_that_begins_after_the_end_is_no_noise():
    plain = quick_single().fit(X, Y)
    assert_same_bits(quick_single(swap_noise=0.5, noise_from=13).fit(X, Y), plain)


@pytest.mark.parametrize("n_networks", [2, 3])
def test_all_parts_learn_what_is_easy(n_networks):
    method = quick_single(
        **EVERY_PART, n_networks=n_networks, learning_rate=0.02, dropout=0.1, epochs=25
    )
    found = method.fit(EASY.X, EASY.candidates)
    assert np.mean(found.predict(EASY.X) == EASY.true_labels) > 0.9
    assert found.predict_proba_per_network(EASY.X).shape == (n_networks, 120, 3)


# The mix -----------------------------------------------------------------------------------------


def test_a_mix_is_the_mean_of_its_members_by_weight(mix):
    weights = mix.selection_.weights
    assert sum(weights.values()) == pytest.approx(1)
    assert list(mix.members_) == list(weights)
    assert len(weights) > 1
    probabilities = sum(w * mix.members_[name].predict_proba(NEW_X) for name, w in weights.items())
    np.testing.assert_allclose(mix.predict_proba(NEW_X), probabilities, atol=1e-12)
    confidences = sum(
        w * mix.members_[name].candidate_confidence_.toarray() for name, w in weights.items()
    )
    np.testing.assert_allclose(mix.candidate_confidence_.toarray(), confidences, atol=1e-12)
    np.testing.assert_allclose(mix.candidate_confidence_.sum(axis=1), 1, atol=1e-12)
    assert ((mix.candidate_confidence_.toarray() > 0) == Y.to_mask()).all()


def test_networks_of_a_mix_are_those_of_its_members_one_after_the_other(mix):
    found = mix.predict_proba_per_network(NEW_X)
    expected = [own.predict_proba_per_network(NEW_X) for own in mix.members_.values()]
    np.testing.assert_array_equal(found, np.concatenate(expected))
    assert len(found) == 2 * len(mix.members_)


def dealt_rows():
    """The rows of scouts, and those held out."""
    order = make_generator(SCOUT_SEED).permutation(60)
    return order[12:], order[:12]


def scout_of(name):
    scout = quick_single(
        **CONFIGURATIONS[name].parameters(SCOUTING), epochs=SCOUTING, random_state=MEMBER_SEED
    )
    scout._start = Start(scout._fitted_views(X))
    scout._hands_on = True
    rows, _ = dealt_rows()
    return scout.fit(X[rows], Y[rows])


def test_members_go_on_from_where_their_scouts_have_ended(mix):
    for name, member in mix.members_.items():
        scout = scout_of(name)
        alone = quick_single(
            **CONFIGURATIONS[name].parameters(SCOUTING),
            decay=1 - SCOUTING / 12,
            random_state=MEMBER_SEED,
        )
        assert alone.get_params() == member.get_params()
        alone._start = scout._handed_on
        assert_same_bits(member, alone.fit(X, Y))
        losses = member.history_["loss"]
        assert losses[:SCOUTING].tolist() == scout.history_["loss"].tolist()
        assert len(losses) == 12


def test_the_selection_is_that_of_scouts_on_four_fifths_of_the_rows(mix):
    _, held_out = dealt_rows()
    said = {name: scout_of(name).predict_proba(X[held_out]) for name in CONFIGURATIONS}
    expected = compare(Y[held_out], said)
    assert dict(mix.selection_) == dict(expected)
    assert list(mix.selection_) == list(expected)


def test_every_configuration_has_a_scout_and_every_member_goes_on():
    diary = Diary()
    fitted = quick_mix(callbacks=[diary]).fit(X, Y)
    scouts = 3 * list(range(1, SCOUTING + 1))
    assert diary.epochs == scouts + len(fitted.members_) * list(range(SCOUTING + 1, 13))


def test_the_fewer_members_there_are_the_longer_each_is_trained(monkeypatch):
    monkeypatch.setattr(members, "_SCOUT_EPOCHS", 2)
    monkeypatch.setattr(members, "_EPOCHS_AFTER", (11, 5, 3))
    diary = Diary()
    fitted = quick_mix(epochs=None, callbacks=[diary]).fit(X, Y)
    length = 2 + 11 // len(fitted.members_)
    assert {own.history_.n_epochs for own in fitted.members_.values()} == {length}
    assert max(diary.epochs) == length


@pytest.mark.parametrize("kind", ["half", "quantile"])
def test_features_are_scaled_by_all_rows_that_members_train_on(kind):
    # A value that no scout has seen must not come to its member as large as it is.
    _, held_out = dealt_rows()
    rows = np.column_stack([X, np.zeros(60)])
    rows[held_out[0], 4] = 1e13
    fitted = quick_mix(scaling=kind).fit(rows, Y)
    expected = FeatureScaler(kind).fit(rows).to_arrays()
    for member in fitted.members_.values():
        found = member._views.scalers[0].to_arrays()
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)


def test_nothing_of_the_scouts_is_kept(mix):
    for member in mix.members_.values():
        assert member._start is None
        assert member._handed_on is None


def test_the_history_is_that_of_the_heaviest_member(mix):
    expected = mix.members_[mix.selection_.choice].history_
    np.testing.assert_equal(mix.history_.to_dict(), expected.to_dict())


def test_the_same_seed_gives_the_same_bits(mix):
    again = quick_mix().fit(X, Y)
    assert_same_bits(again, mix)
    assert dict(again.selection_) == dict(mix.selection_)


def test_another_seed_gives_another_mix(mix):
    other = quick_mix(random_state=1).fit(X, Y)
    assert np.abs(other.predict_proba(X) - mix.predict_proba(X)).max() > 1e-3


def test_a_generator_is_drawn_from_once():
    first, second = (quick_mix(random_state=np.random.default_rng(5)).fit(X, Y) for _ in "ab")
    assert_same_bits(first, second)


def test_global_random_states_are_neither_read_nor_changed(mix):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002  # the state that is not to be touched
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # noqa: NPY002
    assert_same_bits(quick_mix().fit(X, Y), mix)
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[2])


def test_a_mix_may_have_more_networks_and_layers():
    fitted = quick_mix(n_networks=3, hidden=(8, 8)).fit(X, Y)
    assert fitted.predict_proba_per_network(X).shape == (3 * len(fitted.members_), 60, 3)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1, atol=1e-6)


def test_a_mix_learns_what_is_easy():
    method = quick_mix(learning_rate=0.02, dropout=0.1)
    found = method.fit(EASY.X, EASY.candidates)
    assert np.mean(found.predict(EASY.X) == EASY.true_labels) > 0.9
    assert np.mean(found.disambiguate() == EASY.true_labels) > 0.9


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5])
def test_a_few_rows_are_enough(n_rows):
    fitted = quick_mix(epochs=3).fit(X[:n_rows], Y[:n_rows])
    assert np.isfinite(fitted.predict_proba(NEW_X)).all()
    assert fitted.candidate_confidence_.shape == (n_rows, 3)


def test_a_class_may_be_a_candidate_in_rows_held_out_only():
    mask = np.column_stack([Y.to_mask(), np.zeros(60, dtype=bool)])
    mask[make_generator(SCOUT_SEED).permutation(60)[0], 3] = True
    fitted = quick_mix().fit(X, mask)
    assert fitted.predict_proba(NEW_X).shape == (25, 4)


def test_names_of_classes_and_columns_do_not_matter(mix):
    named = CandidateLabels.from_mask(Y.to_mask(), ["wolf", "cat", "dog"])
    found = quick_mix().fit(X, named)
    np.testing.assert_array_equal(found.predict_proba(X), mix.predict_proba(X))
    assert set(found.predict(X)) <= {"wolf", "cat", "dog"}


@pytest.mark.parametrize(
    "make", [quick_mix, lambda: quick_single(**EVERY_PART)], ids=["mix", "one"]
)
def test_many_side_by_side_learn_what_each_learns_alone(make):
    tasks = []
    for seed, n_rows in [(1, 60), (2, 64), (3, 51)]:
        data = make_partial_label_dataset(n_rows, 4, 3, average_candidates=1.7, random_state=seed)
        tasks.append((data.X, data.candidates, seed))
    found = list(fit_many(make(), tasks, at_once=3))
    assert len(found) == 3
    for fitted, (rows, sets, seed) in zip(found, tasks, strict=True):
        alone = make().set_params(random_state=seed).fit(rows, sets)
        assert_same_but_for_rounding(fitted, alone, rows)


def test_mixes_side_by_side_are_trained_as_long_as_alone(monkeypatch):
    monkeypatch.setattr(members, "_SCOUT_EPOCHS", 2)
    monkeypatch.setattr(members, "_EPOCHS_AFTER", (12, 6, 4))
    counts = iter([1, 2, 3, 1, 1, 2, 3, 1])

    def weigh_some(candidates, probabilities, left_out=()):
        left_out = list(probabilities)[next(counts) :]
        return compare(candidates, probabilities, left_out)

    monkeypatch.setattr(members, "compare", weigh_some)
    monkeypatch.setattr(selection, "_SMALLEST_WEIGHT", 0.0)
    tasks = []
    # The last two take 7 steps an epoch as members, and 5 or 6 as scouts.
    for seed, n_rows in enumerate([64, 64, 64, 61]):
        data = make_partial_label_dataset(n_rows, 4, 3, average_candidates=1.7, random_state=seed)
        tasks.append((data.X, data.candidates, seed))
    method = quick_mix(epochs=None, batch_size=10)
    together, alone = (list(fit_many(method, tasks, at_once=at_once)) for at_once in (4, 1))
    assert [len(fitted.members_) for fitted in together] == [1, 2, 3, 1]
    for found, expected, (rows, _, _) in zip(together, alone, tasks, strict=True):
        assert found.history_.n_epochs == 2 + 12 // len(found.members_)
        assert_same_but_for_rounding(found, expected, rows)


# One object, fitted again and again --------------------------------------------------------------


def test_a_method_that_is_fitted_again_says_what_was_fitted_last(mix):
    method = quick_mix().fit(X, Y)
    method.set_params(select="none", ramp_epochs=3).fit(X, Y)
    single = quick_single().fit(X, Y)
    assert_same_bits(method, single)
    assert vars(method).keys() == vars(single).keys()
    method.set_params(select="auto", ramp_epochs=100).fit(X, Y)
    assert_same_bits(method, mix)
    assert vars(method).keys() == vars(mix).keys()


def test_what_is_set_after_a_fit_does_not_change_what_is_said(mix):
    method = quick_mix().fit(X, Y)
    method.set_params(select="none", n_networks=5, second_view="quantile")
    np.testing.assert_array_equal(method.predict_proba(NEW_X), mix.predict_proba(NEW_X))


def test_a_pickled_mix_says_the_same(mix):
    assert_same_bits(pickle.loads(pickle.dumps(mix)), mix)


def test_progress_ends_with_a_table_of_the_selection(capsys):
    fitted = quick_mix(verbose=1).fit(X, Y)
    assert str(fitted.selection_) in capsys.readouterr().out
