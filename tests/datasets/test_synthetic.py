"""Made-up data has the shape, the ambiguity and the difficulty asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from disambig._core.errors import ParameterError
from disambig.datasets import PartialLabelDataset, make_partial_label_dataset


@given(
    n_samples=st.integers(1, 60),
    n_features=st.integers(1, 6),
    n_classes=st.integers(2, 8),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
def test_any_shape_and_average_are_met_with_the_truth_inside(
    n_samples: int, n_features: int, n_classes: int, share: float, seed: int
) -> None:
    average = 1 + share * (n_classes - 1)
    dataset = make_partial_label_dataset(
        n_samples, n_features, n_classes, average_candidates=average, random_state=seed
    )
    assert dataset.X.shape == (n_samples, n_features)
    assert dataset.candidates.shape == (n_samples, n_classes)
    assert abs(dataset.candidates.sizes.mean() - average) <= 1 / n_samples
    assert dataset.candidates.contains(dataset.true_labels).all()


@given(n_samples=st.integers(1, 60), n_classes=st.integers(2, 8))
def test_class_sizes_differ_by_at_most_one(n_samples: int, n_classes: int) -> None:
    dataset = make_partial_label_dataset(n_samples, 1, n_classes, random_state=0)
    counts = np.bincount(dataset.true_labels, minlength=n_classes)
    assert counts.max() - counts.min() <= 1


def test_the_shape_of_yahoo_news_is_made() -> None:
    dataset = make_partial_label_dataset(22991, 163, 219, average_candidates=1.91, random_state=0)
    assert dataset.X.shape == (22991, 163)
    assert len(dataset.candidates.classes) == 219
    assert dataset.candidates.sizes.sum() == round(1.91 * 22991)
    assert dataset.candidates.contains(dataset.true_labels).all()


def test_the_same_seed_gives_the_same_bits() -> None:
    first, second = (make_partial_label_dataset(random_state=7) for _ in range(2))
    assert first.X.tobytes() == second.X.tobytes()
    assert first.candidates == second.candidates
    assert first.true_labels.tobytes() == second.true_labels.tobytes()


def test_another_seed_gives_other_data() -> None:
    first, second = (make_partial_label_dataset(random_state=seed) for seed in (7, 8))
    assert not np.array_equal(first.X, second.X)
    assert first.candidates != second.candidates


def test_the_global_random_state_is_left_alone() -> None:
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    make_partial_label_dataset()
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def test_without_overlap_every_class_is_a_point_of_its_own() -> None:
    dataset = make_partial_label_dataset(100, 3, 5, overlap=0, random_state=0)
    points = {
        (tuple(row), label) for row, label in zip(dataset.X, dataset.true_labels, strict=True)
    }
    assert len(points) == len({point for point, _ in points}) == 5


def test_more_overlap_means_more_errors_of_the_nearest_centre() -> None:
    errors = [_nearest_centre_error(overlap, 4000, 20, 5) for overlap in (0, 0.25, 0.5, 1, 2, 4)]
    assert errors[0] == 0
    assert errors == sorted(errors)
    assert errors[-1] > 0.5


def test_two_classes_are_confused_as_often_as_the_description_says() -> None:
    error = _nearest_centre_error(1, 4000, 400, 2)
    assert error == pytest.approx(norm.cdf(-1), abs=0.03)


def _nearest_centre_error(overlap: float, *shape: int) -> float:
    dataset = make_partial_label_dataset(*shape, overlap=overlap, random_state=0)
    # The same seed without spread puts every row on the centre of its class.
    pure = make_partial_label_dataset(*shape, overlap=0, random_state=0)
    centres = np.array([pure.X[pure.true_labels == label][0] for label in pure.candidates.classes])
    # Squared distances up to a term that is the same for all centres.
    distances = (centres**2).sum(axis=1) - 2 * dataset.X @ centres.T
    return float((distances.argmin(axis=1) != dataset.true_labels).mean())


def test_it_is_a_dataset_without_a_card() -> None:
    dataset = make_partial_label_dataset(10, 2, 3, random_state=0)
    assert isinstance(dataset, PartialLabelDataset)
    assert (dataset.name, dataset.feature_names, dataset.card) == ("synthetic", ["x0", "x1"], None)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, r"'n_samples' must be an integer >= 1\. Got 0"),
        ({"n_samples": 10.0}, r"'n_samples' must be an integer >= 1\. Got 10\.0"),
        ({"n_features": 0}, r"'n_features' must be an integer >= 1\. Got 0"),
        ({"n_classes": 1}, r"'n_classes' must be an integer >= 2\. Got 1"),
        ({"overlap": -0.1}, r"'overlap' must be a number >= 0\. Got -0\.1"),
        ({"overlap": float("nan")}, r"'overlap' must be a number >= 0\. Got nan"),
        ({"average_candidates": 0.9}, r"'average_candidates' must be a number from 1 to 5"),
        ({"average_candidates": 5.1}, r"'average_candidates' must be a number from 1 to 5"),
        ({"random_state": -1}, r"'random_state' must be None, an integer >= 0"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(parameters: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_partial_label_dataset(**parameters)
