import io

import numpy as np
from image_tables import SIGNS, draw
from PIL import Image
from sklearn.linear_model import LogisticRegression

from disambig.tabular.described.image_descriptor import BuiltInDescriptor


def content_of(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def numbers_of(*images: Image.Image) -> np.ndarray:
    return np.array(BuiltInDescriptor().describe([content_of(image) for image in images]))


def edges_of(image: Image.Image) -> np.ndarray:
    """Return the directions of edges in each of 6 x 6 cells."""
    return numbers_of(image)[0][: 36 * 9].reshape(6, 6, 9)


def stripes(*, upright: bool) -> Image.Image:
    pixels = np.zeros((48, 48), dtype=np.uint8)
    pixels[:, ::8] = pixels[:, 1::8] = pixels[:, 2::8] = pixels[:, 3::8] = 255
    return Image.fromarray(pixels if upright else pixels.T)


def test_every_image_has_as_many_finite_numbers_as_are_promised():
    numbers = numbers_of(Image.new("L", (1, 1)), Image.new("RGB", (300, 20), "red"))

    assert numbers.shape == (2, BuiltInDescriptor.width)
    assert numbers.dtype == np.float32
    assert np.isfinite(numbers).all()


def test_edges_count_in_the_bin_of_their_direction():
    across, along = edges_of(stripes(upright=True)), edges_of(stripes(upright=False))

    # From left to right the direction is 0 degrees, which only the first bin holds; down it is 90,
    # halfway between bins 4 and 5.
    inner = np.s_[1:-1, 1:-1]
    assert (across[inner].argmax(axis=-1) == 0).all()
    assert np.isin(along[inner].argmax(axis=-1), (4, 5)).all()
    np.testing.assert_allclose(along[inner][..., 4], along[inner][..., 5], rtol=1e-4)


def test_an_even_image_has_no_edges_and_its_own_shade_and_colour():
    numbers = numbers_of(Image.new("RGB", (60, 90), (255, 0, 0)))[0]
    edges, shades = numbers[:324], numbers[324:388]
    chroma, often = numbers[388:420].reshape(4, 4, 2), numbers[420:]

    assert not edges.any()
    np.testing.assert_allclose(shades, 0.299, atol=1e-6)
    np.testing.assert_allclose(chroma, np.broadcast_to([1 - 0.299, -0.299], (4, 4, 2)), atol=1e-5)
    np.testing.assert_array_equal(np.flatnonzero(often), [3 * 16])  # most red, least of the others
    assert often.sum() == 1


def test_numbers_of_a_version_do_not_change():
    """Where this fails, the descriptor has changed, and its ``fingerprint`` must count up."""
    numbers = numbers_of(draw("cross", seed=3))[0].astype(np.float64)

    assert BuiltInDescriptor.fingerprint == "1"
    sums = [part.sum() for part in np.split(numbers, [324, 388, 420])]
    np.testing.assert_allclose(sums, STORED, rtol=1e-3)


STORED = [20.003344, 20.579312, 0.955361, 2.257666]


def test_signs_can_be_told_apart_whatever_their_colour():
    images = [draw(SIGNS[seed % 3], seed) for seed in range(90)]
    labels = [seed % 3 for seed in range(90)]
    numbers = numbers_of(*images)

    model = LogisticRegression(max_iter=1000).fit(numbers[:45], labels[:45])

    assert model.score(numbers[45:], labels[45:]) > 0.9


def test_what_cannot_be_read_has_a_reason_in_its_place():
    first, second = BuiltInDescriptor().describe([b"nothing", content_of(draw("bar", seed=1))])

    assert "format is not known" in first
    assert len(second) == BuiltInDescriptor.width
