import io
import os
import tracemalloc
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from disambig.tabular.described.describers import UnreadableCellError
from disambig.tabular.described.image_files import is_image_path, open_image, read_image_file

COLOURS = np.random.default_rng(0).integers(0, 256, (9, 12, 3), dtype=np.uint8)


def content_of(image: Image.Image, kind: str, **options) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def pixels_of(content: bytes) -> np.ndarray:
    image = open_image(content, smallest=1)
    assert image.mode == "RGB"
    return np.asarray(image)


PNG = content_of(Image.fromarray(COLOURS), "PNG")
GIF = content_of(Image.fromarray(COLOURS), "GIF")


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM"])
def test_pixels_come_back_from_every_exact_format(kind):
    content = content_of(Image.fromarray(COLOURS), kind)

    np.testing.assert_array_equal(pixels_of(content), COLOURS)


def test_a_palette_and_black_and_white_become_colours():
    palette = Image.fromarray(COLOURS).quantize(16)
    bits = Image.fromarray(COLOURS).convert("1")

    np.testing.assert_array_equal(pixels_of(content_of(palette, "PNG")), palette.convert("RGB"))
    assert set(np.unique(pixels_of(content_of(bits, "PNG")))) == {0, 255}


def test_transparent_pixels_are_white():
    see_through = np.dstack([COLOURS, np.full((9, 12), 255, np.uint8)])
    see_through[:4, :, 3] = 0

    pixels = pixels_of(content_of(Image.fromarray(see_through), "PNG"))

    assert (pixels[:4] == 255).all()
    np.testing.assert_array_equal(pixels[4:], COLOURS[4:])


def test_sixteen_bits_keep_their_shades():
    shades = np.linspace(0, 65535, 9 * 12).reshape(9, 12).astype(np.uint16)

    pixels = pixels_of(content_of(Image.fromarray(shades), "PNG"))

    np.testing.assert_allclose(pixels[..., 0], shades / 257, atol=0.51)


def test_an_image_of_many_shades_takes_little_memory_to_bring_to_bytes():
    side = 1500
    shades = np.zeros((side, side), dtype=np.uint16)
    content = content_of(Image.fromarray(shades), "PNG")
    tracemalloc.start()

    open_image(content, smallest=48)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * side**2


def test_floating_point_images_are_brought_to_bytes():
    shares = np.linspace(0, 1, 9 * 12, dtype=np.float32).reshape(9, 12)

    for scale in (1, 255, 40_000):
        pixels = pixels_of(content_of(Image.fromarray(shares * scale), "TIFF"))
        top = 65535 if scale == 40_000 else scale
        np.testing.assert_allclose(pixels[..., 0], 255 * shares * scale / top, atol=0.51)


def test_a_photo_is_turned_as_its_camera_was():
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera lay on its side

    pixels = pixels_of(content_of(Image.fromarray(COLOURS), "TIFF", exif=exif))

    np.testing.assert_array_equal(pixels, np.rot90(COLOURS, -1))


def test_of_a_moving_picture_the_first_is_taken():
    first, second = (Image.new("RGB", (8, 8), colour) for colour in ("red", "blue"))

    pixels = pixels_of(content_of(first, "GIF", save_all=True, append_images=[second]))

    assert (pixels == [255, 0, 0]).all()


def test_a_large_photo_comes_smaller_but_not_too_small():
    photo = Image.fromarray(np.tile(COLOURS, (50, 50, 1)))

    image = open_image(content_of(photo, "JPEG"), smallest=48)

    assert 48 <= min(image.size) < 200


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (PNG[:-30], "damaged"),
        (b"", "format is not known"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "format is not known"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "format is not known"),
    ],
)
def test_what_is_not_a_whole_image_is_refused_with_its_reason(content, reason):
    with pytest.raises(UnreadableCellError, match=reason):
        open_image(content, smallest=48)


@pytest.mark.parametrize("side", [9_000, 30_000])
def test_an_image_of_too_many_pixels_is_refused_before_it_is_unpacked(side):
    header = content_of(Image.new("1", (1, 1)), "PNG")
    # The width and the height stand behind the signature and the name of the first chunk.
    sides = side.to_bytes(4, "big") * 2
    chunk = b"IHDR" + sides + header[24:29]
    content = header[:12] + chunk + zlib.crc32(chunk).to_bytes(4, "big") + header[33:]

    with pytest.raises(UnreadableCellError, match="more than 80,000,000 pixels"):
        open_image(content, smallest=48)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_bytes_give_an_image_or_a_reason_and_nothing_else(data):
    content = bytearray(data.draw(st.sampled_from([PNG, GIF])))
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))

    with suppress(UnreadableCellError):
        assert open_image(bytes(content), smallest=48).mode == "RGB"


def test_paths_begin_in_the_folder_or_are_whole(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(PNG)

    assert read_image_file(tmp_path, "pictures/a.png") == PNG
    assert read_image_file(Path("elsewhere"), str(tmp_path / "pictures" / "a.png")) == PNG
    assert read_image_file(tmp_path, r"pictures\a.png") == PNG


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("missing.png", "is not there"),
        (".", "is not a file"),
        ("empty.png", "is an empty file"),
        ("nul\0.png", "cannot be opened|is not there"),
        ("x" * 5000 + ".png", "cannot be opened|is not there"),
        ("https://example.org/a.png", "nothing is fetched"),
        ("FILE:///etc/hostname", "nothing is fetched"),
    ],
)
def test_cells_that_name_no_file_are_refused_with_their_reason(tmp_path, cell, reason):
    (tmp_path / "empty.png").touch()

    with pytest.raises(UnreadableCellError, match=reason):
        read_image_file(tmp_path, cell)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.png")

    with pytest.raises(UnreadableCellError, match="is not a file"):
        read_image_file(tmp_path, "a.png")


def test_paths_are_known_by_their_suffix():
    assert is_image_path("pictures/A.JPG")
    assert not is_image_path("pictures/jpg")
