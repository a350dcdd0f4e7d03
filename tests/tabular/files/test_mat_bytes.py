"""No more bytes are taken than there are, and none are inflated that were not asked for."""

import io
import random
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig.tabular.files.mat_bytes import BytesLeft, InflatedBytes, MatFileError


def take_all(body: BytesLeft, count: int) -> bytes:
    taken = body.take(count).tobytes()
    body.check_end()
    return taken


@given(
    content=st.binary(max_size=2000),
    counts=st.lists(st.integers(0, 900)),
    repeats=st.sampled_from([1, 700]),
)
def test_compressed_bytes_are_inflated_in_pieces_of_any_length(
    content: bytes, counts: list[int], repeats: int
) -> None:
    whole = content * repeats
    packed = zlib.compress(whole)
    body = InflatedBytes(io.BytesIO(packed), len(packed))
    body.left = len(whole)
    taken = [body.take(min(count, body.left)).tobytes() for count in [*counts, len(whole)]]
    assert b"".join(taken) == whole
    body.check_end()


def test_bytes_that_hardly_shrink_are_inflated_from_many_reads() -> None:
    whole = random.Random(0).randbytes(300_000)
    packed = zlib.compress(whole)
    body = InflatedBytes(io.BytesIO(packed + b"something else"), len(packed))
    body.left = len(whole)
    assert take_all(body, len(whole)) == whole


@pytest.mark.parametrize("missing", [1, 4, 5, 50])
def test_compressed_bytes_that_were_cut_off_are_refused(missing: int) -> None:
    whole = np.random.default_rng(0).bytes(200)
    packed = zlib.compress(whole)[:-missing]
    body = InflatedBytes(io.BytesIO(packed), len(packed))
    body.left = len(whole)
    with pytest.raises(MatFileError, match="something compressed in it"):
        take_all(body, len(whole))


def test_more_than_is_left_is_refused_before_there_is_memory_for_it() -> None:
    with pytest.raises(MatFileError, match="claims to be longer than the whole"):
        BytesLeft(io.BytesIO(bytes(100)), 100).take(2**62)


def test_a_file_that_has_become_shorter_is_refused() -> None:
    with pytest.raises(MatFileError, match="it ends too early"):
        BytesLeft(io.BytesIO(bytes(50)), 100).take(60)
