"""Made-up photos: who is in them, what captions say, and that promises help."""

import numpy as np
import pytest

from disambig import PLKNN
from disambig._core.errors import ParameterError
from disambig.bench import cross_validate
from disambig.candidates import Promise
from disambig.datasets import PartialLabelDataset, make_photo_dataset
from disambig.methods import EMClassifier


def rows_of_photos(data: PartialLabelDataset) -> list[np.ndarray]:
    groups = data.candidates.groups
    assert groups is not None
    return [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]


def people_of(data: PartialLabelDataset) -> list[list[str]]:
    return [np.asarray(data.true_labels)[rows].tolist() for rows in rows_of_photos(data)]


def captions_of(data: PartialLabelDataset) -> list[set[str]]:
    """Return the caption of every photo, after a check that all its faces have it."""
    sets = data.candidates.to_sets()
    for rows in rows_of_photos(data):
        assert all(sets[row] == sets[rows[0]] for row in rows)
    return [sets[rows[0]] for rows in rows_of_photos(data)]


def test_nobody_is_in_a_photo_twice_and_photos_have_as_many_faces_as_asked_for() -> None:
    data = make_photo_dataset(300, 8, 3, faces=(1, 5), random_state=0)
    people = people_of(data)
    assert len(people) == 300
    assert all(len(set(photo)) == len(photo) for photo in people)
    counts = np.bincount([len(photo) for photo in people])
    assert counts[0] == 0
    assert len(counts) == 6
    # Each of five numbers is as likely as the others: 60 of 300, give or take four deviations.
    assert (np.abs(counts[1:] - 60) < 28).all()


def test_the_rows_of_a_photo_follow_each_other_in_no_order_of_names() -> None:
    data = make_photo_dataset(50, random_state=0)
    groups = data.candidates.groups
    assert groups is not None
    assert (np.diff(groups) >= 0).all()
    assert any(photo != sorted(photo) for photo in people_of(data))


def test_without_extra_and_missing_names_a_caption_names_who_is_in_the_photo() -> None:
    data = make_photo_dataset(80, extra_names=0, missing_names=0, random_state=0)
    assert captions_of(data) == [set(photo) for photo in people_of(data)]


def test_extra_names_are_of_people_who_are_not_in_the_photo_and_as_many_as_asked_for() -> None:
    data = make_photo_dataset(2000, extra_names=0.7, missing_names=0, random_state=0)
    extra = [
        caption - set(photo)
        for caption, photo in zip(captions_of(data), people_of(data), strict=True)
    ]
    # Poisson: a standard error of .019.
    assert np.mean([len(names) for names in extra]) == pytest.approx(0.7, abs=0.08)
    assert data.candidates.contains(np.asarray(data.true_labels)).all()


def test_a_share_of_the_faces_has_no_name_in_the_caption() -> None:
    data = make_photo_dataset(400, extra_names=0, missing_names=0.2, random_state=0)
    named = data.candidates.contains(np.asarray(data.true_labels))
    assert (~named).sum() == round(0.2 * len(named))


def test_a_caption_has_a_name_even_if_all_are_missing() -> None:
    data = make_photo_dataset(40, faces=(1, 2), extra_names=0, missing_names=1.0, random_state=0)
    assert data.candidates.sizes.tolist() == [1] * len(data.X)
    assert not data.candidates.contains(np.asarray(data.true_labels)).any()


def test_popularity_makes_some_people_more_frequent() -> None:
    even, uneven = (
        make_photo_dataset(3000, 10, 2, faces=(1, 1), popularity=popularity, random_state=0)
        for popularity in (0, 1)
    )
    shares = np.array([1 / rank for rank in range(1, 11)])
    for data, expected in ((even, np.full(10, 0.1)), (uneven, shares / shares.sum())):
        _, counts = np.unique(np.asarray(data.true_labels), return_counts=True)
        np.testing.assert_allclose(counts / 3000, expected, atol=0.035)


def test_noise_is_the_spread_of_a_person_and_what_a_photo_shares() -> None:
    n_features = 40
    data = make_photo_dataset(
        400, 3, n_features, faces=(3, 3), noise=0.4, shared_noise=0.9, random_state=0
    )
    truth = np.asarray(data.true_labels)
    centred = data.X.copy()
    for name in np.unique(truth):
        centred[truth == name] -= data.X[truth == name].mean(axis=0)
    by_photo = np.array([centred[rows].mean(axis=0) for rows in rows_of_photos(data)])
    groups = data.candidates.groups
    assert groups is not None
    half = np.sqrt(2 * n_features) / 2
    # The mean of three faces keeps what they share, and a third of their own variance.
    assert by_photo.var() / half**2 == pytest.approx(0.9**2 + 0.4**2 / 3, rel=0.05)
    own = centred - by_photo[groups]
    assert own.var() / half**2 == pytest.approx(0.4**2 * 2 / 3, rel=0.05)


def test_groups_promise_what_the_caller_says() -> None:
    assert make_photo_dataset(5, random_state=0).candidates.promise is None
    data = make_photo_dataset(5, promise="cover", strength=0.7, random_state=0)
    assert data.candidates.promise == Promise("cover", 0.7)


def test_the_same_seed_gives_the_same_bits_whatever_is_promised() -> None:
    first, second = (
        make_photo_dataset(30, promise=promise, random_state=3) for promise in (None, "cover")
    )
    other = make_photo_dataset(30, random_state=4)
    assert first.X.tobytes() == second.X.tobytes() != other.X.tobytes()
    assert first.candidates == second.candidates.with_rows_of(first.candidates)


@pytest.mark.parametrize("method", [PLKNN(), EMClassifier()], ids=["PLKNN", "EM"])
def test_with_the_defaults_each_promise_sets_more_training_rows_right(method) -> None:
    def set_right(promise):
        data = make_photo_dataset(promise=promise, random_state=0)
        folds = cross_validate(method, data, n_folds=3, seed=0)
        return np.mean([score.transductive_accuracy for score in folds])

    alone = set_right(None)
    # Over two sets of photos and four folds it was .06 to .10.
    assert set_right("cover") > alone + 0.03
    assert set_right("exclusive") > alone + 0.03


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_photos": 0}, "'n_photos' must be"),
        ({"n_people": 1}, "'n_people' must be"),
        ({"n_features": 0}, "'n_features' must be"),
        ({"faces": 3}, "'faces' must be two integers, the fewest and the most"),
        ({"faces": (0, 2)}, "'faces' must be an integer from 1 to 12"),
        ({"faces": (3, 2)}, "'faces' must be an integer from 3 to 12"),
        ({"faces": (1, 13)}, "'faces' must be an integer from 1 to 12"),
        ({"extra_names": -1}, "'extra_names' must be"),
        ({"missing_names": 1.5}, "'missing_names' must be"),
        ({"popularity": -1}, "'popularity' must be"),
        ({"noise": -0.1}, "'noise' must be"),
        ({"shared_noise": -0.1}, "'shared_noise' must be"),
        ({"n_people": 2, "faces": (2, 2), "missing_names": 1}, "A caption needs a name"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message) -> None:
    with pytest.raises(ParameterError, match=message):
        make_photo_dataset(**parameters)
