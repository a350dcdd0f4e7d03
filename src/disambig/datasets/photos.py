"""Made-up photos with captions: faces that come together, and the names that the caption has."""

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.parameters import RandomState, check_integer, check_real, make_generator
from disambig._core.typing import BoolArray, FloatArray, IntArray
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.groups import DEFAULT_STRENGTH, Promise, PromiseKind
from disambig.candidates.labels import CandidateLabels


def make_photo_dataset(
    n_photos: int = 150,
    n_people: int = 12,
    n_features: int = 16,
    *,
    faces: tuple[int, int] = (3, 5),
    extra_names: float = 0.5,
    missing_names: float = 0.05,
    popularity: float = 0.5,
    noise: float = 0.4,
    shared_noise: float = 0.2,
    promise: PromiseKind | Promise | None = None,
    strength: float = DEFAULT_STRENGTH,
    random_state: RandomState = None,
) -> PartialLabelDataset:
    """Make a synthetic set of photos: a row for every face, the names of the caption as its set.

    Nobody is in a photo twice, so "exclusive" holds. "Cover" does where the caption names nobody
    who is not in the photo. A face whose name is missing from the caption has a set without its
    true label.

    Parameters
    ----------
    n_photos, n_people, n_features : int
        Number of photos, of people who may be in them, and of features of a face.
    faces : tuple of two ints, default=(3, 5)
        Fewest and most faces in a photo; every number between is equally likely.
    extra_names : float, default=0.5
        Mean number of names in a caption of people who are not in the photo.
    missing_names : float, default=0.05
        Share of the faces whose name is missing from the caption. A caption without any name gets
        one of somebody else.
    popularity : float, default=0.5
        How unevenly people are photographed: person k is drawn in proportion to k ** -popularity.
        At 0 all are equally popular.
    noise : float, default=0.4
        Standard deviation of the faces of a person in every direction, relative to half the
        average distance between two people.
    shared_noise : float, default=0.2
        The same for what all faces of a photo have in common, such as its light. It is why rows of
        photos that were seen are easier than those of new photos.
    promise : {"cover", "exclusive"} or Promise, optional
        What the groups of the candidate sets promise. By default nothing.
    strength : float, default=0.9
        Share of the photos for which the promise is believed.
    random_state : int, generator or None, default=None
        Seed.

    Returns
    -------
    dataset : PartialLabelDataset
        Candidate sets with groups: the rows of a photo come together, one after the other.

    See Also
    --------
    make_partial_label_dataset : Rows that stand alone.
    disambig.candidates.CandidateLabels : Its ``with_groups`` says the same of your own sets.

    Examples
    --------
    >>> from disambig.datasets import make_photo_dataset
    >>> data = make_photo_dataset(50, promise="exclusive", random_state=6)
    >>> data.candidates.groups[:8].tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    >>> data.candidates.to_strings()[0], data.true_labels[:4].tolist()
    ('P01|P02|P04|P07', ['P01', 'P07', 'P02', 'P04'])
    """
    check_integer("n_photos", n_photos, minimum=1)
    check_integer("n_people", n_people, minimum=2)
    check_integer("n_features", n_features, minimum=1)
    _check_faces(faces, n_people)
    check_real("extra_names", extra_names, minimum=0)
    check_real("missing_names", missing_names, minimum=0, maximum=1)
    for name, value in (
        ("popularity", popularity),
        ("noise", noise),
        ("shared_noise", shared_noise),
    ):
        check_real(name, value, minimum=0)
    generator = make_generator(random_state)
    in_photo = _draw_people(generator, n_photos, n_people, faces, popularity)
    photo, person = np.nonzero(in_photo)
    # As np.nonzero has them, the faces of every photo would be in the order of their names.
    order = np.lexsort((generator.random(len(photo)), photo))
    photo, person = photo[order], person[order]
    captions = _write_captions(generator, in_photo, photo, person, extra_names, missing_names)
    names = [f"P{number:0{len(str(n_people))}}" for number in range(1, n_people + 1)]
    candidates = CandidateLabels.from_mask(captions[photo], names)
    return PartialLabelDataset(
        name="photos",
        X=_draw_faces(
            generator, photo, person, (n_photos, n_people, n_features), noise, shared_noise
        ),
        candidates=candidates.with_groups(photo, promise=promise, strength=strength),
        true_labels=np.array(names)[person],
        feature_names=[f"x{column}" for column in range(n_features)],
    )


def _check_faces(faces: tuple[int, int], n_people: int) -> None:
    try:
        fewest, most = faces
    except (TypeError, ValueError):
        raise ParameterError(
            f"'faces' must be two integers, the fewest and the most in a photo. Got {faces!r}."
        ) from None
    check_integer("faces", fewest, minimum=1, maximum=n_people)
    check_integer("faces", most, minimum=fewest, maximum=n_people)


def _draw_people(
    generator: np.random.Generator,
    n_photos: int,
    n_people: int,
    faces: tuple[int, int],
    popularity: float,
) -> BoolArray:
    """Draw who is in each photo, without repetition, popular people more often."""
    n_faces = generator.integers(faces[0], faces[1], size=n_photos, endpoint=True)
    log_shares = -popularity * np.log(np.arange(1, n_people + 1))
    # The largest of these sums are a draw without repetition: the Gumbel trick.
    ranks = (log_shares + generator.gumbel(size=(n_photos, n_people))).argsort(axis=1)[:, ::-1]
    in_photo = np.zeros((n_photos, n_people), dtype=bool)
    np.put_along_axis(in_photo, ranks, np.arange(n_people) < n_faces[:, np.newaxis], axis=1)
    return in_photo


def _write_captions(
    generator: np.random.Generator,
    in_photo: BoolArray,
    photo: IntArray,
    person: IntArray,
    extra_names: float,
    missing_names: float,
) -> BoolArray:
    """Return which names each caption has."""
    captions = in_photo.copy()
    unnamed = generator.choice(len(photo), size=round(missing_names * len(photo)), replace=False)
    captions[photo[unnamed], person[unnamed]] = False
    n_extra = generator.poisson(extra_names, size=len(captions))
    n_extra[(n_extra == 0) & ~captions.any(axis=1)] = 1
    # People who are not in the photo, in random order, before those who are.
    ranks = (generator.random(captions.shape) + in_photo).argsort(axis=1)
    n_extra = np.minimum(n_extra, (~in_photo).sum(axis=1))
    is_extra = np.zeros_like(captions)
    chosen = np.arange(captions.shape[1]) < n_extra[:, np.newaxis]
    np.put_along_axis(is_extra, ranks, chosen, axis=1)
    captions |= is_extra
    if not captions.any(axis=1).all():
        raise ParameterError(
            "A caption needs a name, and there is a photo of everybody in which all names are "
            "missing. Ask for more people, fewer faces or fewer missing names."
        )
    return captions


def _draw_faces(
    generator: np.random.Generator,
    photo: IntArray,
    person: IntArray,
    shape: tuple[int, int, int],
    noise: float,
    shared_noise: float,
) -> FloatArray:
    n_photos, n_people, n_features = shape
    centres = generator.standard_normal((n_people, n_features))
    lights = generator.standard_normal((n_photos, n_features))
    own = generator.standard_normal((len(photo), n_features))
    # Two standard normal centres are sqrt(2 d) apart on average.
    half = np.sqrt(2 * n_features) / 2
    X: FloatArray = centres[person] + half * (shared_noise * lights[photo] + noise * own)
    return X
