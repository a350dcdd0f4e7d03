"""Whole groups held out: in folds, hold-outs, inner folds, cross-validation and studies."""

import csv
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from bench.small_studies import write_table
from disambig import PLKNN
from disambig._core.errors import CandidateError, DisambigError, ParameterError, StudyError
from disambig.bench import ControlledCorruption, Study, cross_validate, shuffled_folds
from disambig.bench.entries import Protocol
from disambig.bench.folds import Split
from disambig.bench.plan import make_plan
from disambig.bench.record import data_fingerprint
from disambig.bench.trial import (
    GridSelection,
    choose_parameters,
    leave_out_of_training,
    make_trial,
)
from disambig.candidates import Promise
from disambig.datasets import make_partial_label_dataset, make_photo_dataset
from disambig.methods import OracleClassifier, PartialLabelClassifier
from disambig.methods.base import MethodCard


@pytest.fixture(scope="module")
def photos():
    return make_photo_dataset(24, 6, 4, promise="exclusive", random_state=0)


def regrouped(data, groups, promise=None):
    return replace(data, candidates=data.candidates.with_groups(groups, promise=promise))


def torn_apart(groups, train, test):
    """Return the groups that have rows on both sides."""
    return set(groups[train].tolist()) & set(groups[test].tolist())


def assert_same_groups(one, other):
    """Check that the same rows come together, whatever numbers groups have."""
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    assert len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


# Folds -------------------------------------------------------------------------------------------


def test_folds_of_groups_cover_every_row_once_and_tear_no_group_apart():
    groups = np.random.default_rng(0).integers(0, 20, 90)
    folds = shuffled_folds(90, 5, seed=3, groups=groups)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(90))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(90))
        assert not torn_apart(groups, train, test)
    largest = np.bincount(groups).max()
    sizes = [len(test) for _, test in folds]
    assert max(sizes) - min(sizes) <= largest


def test_folds_of_groups_follow_the_seed():
    groups = np.repeat(np.arange(12), 3)

    def held_out(seed):
        return [test.tolist() for _, test in shuffled_folds(36, 3, seed, groups)]

    assert held_out(1) == held_out(1) != held_out(2)


def test_names_of_groups_do_not_matter():
    numbers = np.repeat([5, 2, 9, 0], 2)
    names = [f"photo {number}" for number in numbers]
    for one, other in zip(
        shuffled_folds(8, 2, 0, numbers), shuffled_folds(8, 2, 0, names), strict=True
    ):
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0] * 5 + [1] * 5, "3 folds of whole groups need as many groups. Got 2"),
        ([0, 1, 2], "must name a group for each of the 10 rows. Got 3"),
    ],
)
def test_folds_that_cannot_be_dealt_are_refused(groups, message):
    with pytest.raises((ParameterError, CandidateError), match=message):
        shuffled_folds(10, 3, 0, groups)


def test_a_hold_out_takes_whole_groups_of_about_the_share():
    groups = np.repeat(np.arange(25), 4)
    held_out = []
    for seed in range(5):
        train, test = Split(seed=seed, test_share=0.2).rows(100, groups)
        assert sorted([*train, *test]) == list(range(100))
        assert not torn_apart(groups, train, test)
        assert len(test) == 20
        held_out.append(tuple(test.tolist()))
    assert len(set(held_out)) == 5


def test_a_hold_out_of_the_only_group_is_refused():
    with pytest.raises(ParameterError, match="takes two groups or more. Got one"):
        Split(seed=0, test_share=0.5).rows(6, np.zeros(6, dtype=int))


# Trials ------------------------------------------------------------------------------------------


def test_a_trial_of_sets_with_groups_holds_out_whole_groups_and_keeps_what_they_promise(photos):
    groups = photos.candidates.groups
    for fold in range(4):
        trial = make_trial(photos, Split(seed=1, fold=fold, n_folds=4))
        assert not torn_apart(groups, trial.train.numbers, trial.test.numbers)
        for rows in (trial.train, trial.test):
            assert rows.candidates == photos.candidates[rows.numbers]
            assert rows.candidates.promise == Promise("exclusive")


def test_a_dataset_without_groups_is_split_as_ever(photos):
    alone = replace(photos, candidates=photos.candidates.with_groups(None))
    split = Split(seed=1, fold=2, n_folds=4)
    _, expected = shuffled_folds(len(photos.X), 4, 1)[2]
    np.testing.assert_array_equal(make_trial(alone, split).test.numbers, expected)


def test_who_reads_true_labels_gets_groups_and_no_promise(photos):
    train = make_trial(photos, Split(seed=1, n_folds=4)).train
    shown = train.visible_to(OracleClassifier())
    assert_same_groups(shown.groups, train.candidates.groups)
    assert shown.promise is None
    assert shown.sizes.max() == 1


def test_corrupted_sets_keep_their_groups(photos):
    corruption = ControlledCorruption(p=0.5, r=1)
    split = Split(seed=1, n_folds=4)
    trial = make_trial(photos, split, corruption)
    for rows in (trial.train, trial.test):
        assert_same_groups(rows.candidates.groups, photos.candidates.groups[rows.numbers])
        # It says something about true labels, whatever the sets are.
        assert rows.candidates.promise == Promise("exclusive")
    missing = leave_out_of_training(trial, split, 0.2).train.candidates
    assert_same_groups(missing.groups, trial.train.candidates.groups)
    assert missing.promise == Promise("exclusive")


def test_labels_drawn_at_random_cannot_be_promised_to_cover_a_group(photos):
    covering = regrouped(photos, photos.candidates.groups, "cover")
    with pytest.raises(ParameterError, match="groups cannot promise 'cover'. photos does"):
        make_trial(covering, Split(seed=0, n_folds=3), ControlledCorruption(p=0.5, r=1))


def test_random_groups_over_corrupted_data_change_nothing_but_the_folds():
    data = make_partial_label_dataset(60, 3, 4, random_state=0)
    grouped = regrouped(data, np.random.default_rng(0).integers(0, 20, 60))
    corruption = ControlledCorruption(p=0.5, r=1)
    for fold in range(3):
        split = Split(seed=4, fold=fold, n_folds=3)
        rows, groups = (make_trial(one, split, corruption) for one in (data, grouped))
        assert (rows.method_seed, rows.selection_seed) == (
            groups.method_seed,
            groups.selection_seed,
        )
        assert not np.array_equal(rows.test.numbers, groups.test.numbers)
        # A method that holds nothing out learns the same from the same rows.
        train = groups.train
        without = train.candidates.with_groups(None)
        with_them, alone = (PLKNN().fit(train.X, y) for y in (train.candidates, without))
        np.testing.assert_array_equal(
            with_them.predict_proba(groups.test.X), alone.predict_proba(groups.test.X)
        )


class Watchful(PartialLabelClassifier):
    """Remembers the groups of every fit in a list that all its copies share."""

    card: ClassVar[MethodCard] = MethodCard(name="watchful", title="Remembers groups")
    seen: ClassVar[list] = []

    def __init__(self, *, a=0):
        self.a = a

    def _fit(self, X, candidates):
        self.seen.append(set(candidates.groups.tolist()))
        return candidates.prior()

    def _predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_inner_folds_that_choose_parameters_hold_out_whole_groups(photos):
    trial = make_trial(photos, Split(seed=1, n_folds=4))
    Watchful.seen.clear()
    choose_parameters(Watchful(), {"a": [0]}, trial, GridSelection("covering_rate", 3))
    groups = trial.train.candidates.groups
    folds = shuffled_folds(len(groups), 3, trial.selection_seed, groups)
    assert Watchful.seen == [set(groups[train].tolist()) for train, _ in folds]
    # Every group is left out of exactly one of the three.
    left_out = [set(groups.tolist()) - seen for seen in Watchful.seen]
    assert sorted(group for one in left_out for group in one) == sorted(set(groups.tolist()))


def test_cross_validation_of_sets_with_groups_goes_by_group(photos):
    scores = list(cross_validate(PLKNN(), photos, n_folds=4, seed=1))
    truth = np.asarray(photos.true_labels)
    folds = shuffled_folds(len(truth), 4, 1, photos.candidates.groups)
    for score, (train, test) in zip(scores, folds, strict=True):
        fitted = PLKNN().fit(photos.X[train], photos.candidates[train])
        assert score.accuracy == pytest.approx(
            np.mean(fitted.predict(photos.X[test]) == truth[test])
        )
        chosen = np.mean(fitted.disambiguate() == truth[train])
        assert score.transductive_accuracy == pytest.approx(chosen)


# Studies -----------------------------------------------------------------------------------------


def write_groups(path, n_groups=10, n_rows=30):
    """Write a table of ``write_table`` with a column of words that says which rows are together."""
    with write_table(path, n_rows).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*header, "photo"])
        for number, row in enumerate(rows):
            writer.writerow([*row, f"photo {number % n_groups}"])
    return path


@pytest.fixture
def table(tmp_path):
    return write_groups(tmp_path / "photos.csv")


def study_on(table, protocol, methods=("plknn",), **entry):
    given = {"path": str(table), "truth": "truth", "group": "photo", **entry}
    return Study(name="groups", datasets=[given], methods=list(methods), protocol=protocol)


def groups_of(planned):
    return planned.dataset.candidates.groups


def test_by_default_rows_are_held_out_and_a_column_of_groups_is_no_feature(table):
    for planned in make_plan(study_on(table, {"folds": 3})).jobs:
        assert groups_of(planned) is None
        assert planned.dataset.feature_names == ["number", "a", "b"]
        assert planned.data_title == "photos"


def test_keys_without_groups_are_those_of_the_same_data_without_such_a_column(table, tmp_path):
    plain = write_table(tmp_path / "plain.csv", 30)
    study = Study(
        name="plain",
        datasets=[{"path": str(plain), "truth": "truth"}],
        methods=["plknn"],
        protocol={"folds": 3},
    )
    expected = [planned.job.key for planned in make_plan(study).jobs]
    assert [
        planned.job.key for planned in make_plan(study_on(table, {"folds": 3})).jobs
    ] == expected
    named = study_on(table, {"folds": 3, "groups": False})
    assert [planned.job.key for planned in make_plan(named).jobs] == expected


def test_groups_in_a_file_of_arrays_are_held_out_if_the_protocol_says_so(tmp_path):
    file, groups = tmp_path / "arrays.npz", np.arange(30) % 10
    mask = np.ones((30, 3), dtype=bool)
    np.savez(file, X=np.eye(30), candidates=mask, true_labels=np.arange(30) % 3, groups=groups)
    study = Study(
        name="arrays",
        datasets=[{"path": str(file), "promise": ["none", "cover"]}],
        methods=["plknn"],
        protocol={"folds": 3, "groups": [False, True]},
    )
    jobs = make_plan(study).jobs
    by_title = {planned.data_title: groups_of(planned) for planned in jobs}
    assert list(by_title) == ["arrays", "arrays, new groups", "arrays, new groups, cover"]
    alone, *grouped = by_title.values()
    assert alone is None
    for found in grouped:
        assert_same_groups(found, groups)


def test_both_protocols_and_every_promise_are_data_of_their_own(table):
    study = study_on(table, {"folds": 3, "groups": [False, True]}, promise=["none", "cover"])
    jobs = make_plan(study).jobs
    titles = ["photos", "photos, new groups", "photos, new groups, cover"]
    assert list(dict.fromkeys(planned.data_title for planned in jobs)) == titles
    assert len({planned.job.key for planned in jobs}) == len(jobs) == 3 * 3 * 3
    promises = {planned.data_title: planned.dataset.candidates.promise for planned in jobs}
    assert list(promises.values()) == [None, None, Promise("cover")]
    for planned in jobs:
        trial = planned.job.trial_on(planned.dataset)
        if groups_of(planned) is not None:
            assert not torn_apart(groups_of(planned), trial.train.numbers, trial.test.numbers)


def test_a_strength_of_ones_own_is_part_of_the_title(table):
    study = study_on(table, {"folds": 3, "groups": True}, promise="exclusive", strength=0.5)
    (title,) = {planned.data_title for planned in make_plan(study).jobs}
    assert title == "photos, new groups, exclusive 0.5"


def test_the_fingerprint_of_data_changes_with_groups_and_with_what_they_promise(photos):
    groups = photos.candidates.groups
    others = [
        regrouped(photos, None),
        regrouped(photos, groups),
        regrouped(photos, np.arange(len(groups))),
        regrouped(photos, groups, "cover"),
        regrouped(photos, groups, Promise("cover", 0.5)),
    ]
    assert len({data_fingerprint(one) for one in [photos, *others]}) == 6
    renumbered = regrouped(photos, groups.max() - groups, "exclusive")
    assert data_fingerprint(renumbered) == data_fingerprint(photos)


@pytest.mark.parametrize(
    ("protocol", "sentence"),
    [
        ({}, "10 folds, seed 0"),
        ({"groups": True}, "10 folds, whole groups held out, seed 0"),
        (
            {"groups": [False, True]},
            "10 folds, held out as single rows and again as whole groups, seed 0",
        ),
        ({"kind": "holdout"}, "20% of the rows held out, seed 0"),
        ({"kind": "holdout", "groups": True}, "20% of the rows, whole groups held out, seed 0"),
    ],
)
def test_the_protocol_says_what_is_held_out(protocol, sentence):
    assert Protocol(**protocol).sentence == sentence


@pytest.mark.parametrize(
    ("protocol", "methods", "entry", "message"),
    [
        ({"folds": 11, "groups": True}, ["plknn"], {}, "11 folds of whole groups need as many"),
        (
            {"folds": 2, "groups": True, "inner_folds": 6},
            [{"name": "plknn", "grid": {"n_neighbors": [3, 5]}}],
            {},
            "'inner_folds' must be an integer from 2 to 5",
        ),
        ({"groups": True}, ["plknn"], {"group": "foto"}, "has no column 'foto'"),
        ({"groups": True}, ["plknn"], {"group": None}, "come together is not known"),
    ],
)
def test_what_cannot_be_dealt_is_refused_before_anything_runs(
    table, protocol, methods, entry, message
):
    with pytest.raises(StudyError, match=message):
        make_plan(study_on(table, protocol, methods, **entry))


@pytest.mark.parametrize(
    ("protocol", "entry", "message"),
    [
        ({}, {"promise": "cover"}, "a 'promise' is one of groups: set groups = true"),
        ({"groups": True}, {"strength": 0.5}, "'strength' is that of a promise"),
        ({"groups": True}, {"promise": "none", "strength": 0.5}, "'strength' is that of a promise"),
        ({"groups": True}, {"promise": "covers"}, "promise"),
        ({"groups": "yes"}, {}, "groups"),
        (
            {"groups": True},
            {"promise": "cover", "corruption": {"p": 0.5, "r": 1}},
            "false labels that are drawn at random belong to no row",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(table, protocol, entry, message):
    with pytest.raises(StudyError, match=message):
        study_on(table, protocol, **entry)


def test_a_named_dataset_has_no_column_of_groups():
    with pytest.raises(StudyError, match="a named dataset has no column of groups"):
        Study(name="a", datasets=[{"name": "glass", "group": "photo"}], methods=["plknn"])


def test_named_data_that_nobody_knows_groups_of_is_refused():
    study = Study(
        name="a", datasets=["glass"], methods=["plknn"], protocol={"groups": True, "folds": 3}
    )
    with pytest.raises(DisambigError, match=r"datasets\[0\]: How rows of glass come together"):
        make_plan(study)


def test_jobs_of_every_promise_count_towards_the_limit(table):
    study = study_on(table, {"folds": 3, "groups": [False, True]}, promise=["none", "cover"])
    with pytest.raises(StudyError, match="has 27 jobs, and the limit is 26"):
        make_plan(study, max_jobs=26)
    assert len(make_plan(study, max_jobs=27).jobs) == 27
