import bz2
import contextlib
import gzip
import io
import lzma
import sys
import warnings
import zipfile

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig import load_dataset
from disambig._core.errors import DisambigError, MissingExtraError, TableError
from disambig.tabular import read_table, write_table
from disambig.tabular.files import packed
from disambig.tabular.files.formats import find_format, split_name

CSV = b"size,label\n1,cat|dog\n2,dog\n"
CELLS = {"size": ["1", "2"], "label": ["cat|dog", "dog"]}


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def packed_by(suffix, content):
    match suffix:
        case ".gz":
            return gzip.compress(content)
        case ".bz2":
            return bz2.compress(content)
        case ".xz":
            return lzma.compress(content)
        case ".zip":
            return zipped(**{"pets.csv": content})
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


def unpacked_by(suffix, content):
    match suffix:
        case ".gz":
            return gzip.decompress(content)
        case ".bz2":
            return bz2.decompress(content)
        case ".xz":
            return lzma.decompress(content)
        case ".zip":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                (name,) = archive.namelist()
                return archive.read(name)
    return pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()


@pytest.fixture
def write(tmp_path):
    def write_bytes(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write_bytes


@pytest.mark.parametrize("suffix", packed.PACKED_SUFFIXES)
def test_a_packed_table_is_read_by_the_suffixes_of_its_name(suffix, write):
    path = write(f"pets.csv{suffix}", packed_by(suffix, CSV))
    assert read_table(path).to_dict("list") == CELLS
    capitals = write(f"PETS.CSV{suffix.upper()}", packed_by(suffix, CSV))
    assert read_table(capitals).to_dict("list") == CELLS
    nameless = write(f"pets{suffix}", packed_by(suffix, CSV))
    assert read_table(nameless, format="csv").to_dict("list") == CELLS
    assert load_dataset(path).candidates.to_sets() == [{"cat", "dog"}, {"dog"}]


@pytest.mark.parametrize("suffix", packed.PACKED_SUFFIXES)
@pytest.mark.parametrize("form", [".csv", ".tsv", ".json", ".jsonl"])
def test_a_table_is_packed_as_its_name_says_and_always_into_the_same_bytes(suffix, form, tmp_path):
    frame, path = pd.DataFrame(CELLS), tmp_path / f"pets{form}{suffix}"
    write_table(frame, path)
    plain = tmp_path / f"pets{form}"
    write_table(frame, plain)
    assert unpacked_by(suffix, path.read_bytes()) == plain.read_bytes()
    assert read_table(path).to_dict("list") == CELLS
    before = path.read_bytes()
    write_table(frame, path)
    assert path.read_bytes() == before
    if suffix == ".zip":
        assert zipfile.ZipFile(path).namelist() == [f"pets{form}"]


@pytest.mark.parametrize("suffix", packed.PACKED_SUFFIXES)
def test_what_is_packed_from_too_many_bytes_is_refused_while_it_is_unpacked(suffix, write):
    bomb = packed_by(suffix, b"a,label\n" + b"1,cat\n" * 2_000_000)
    assert len(bomb) < 200_000
    path = write(f"bomb.csv{suffix}", bomb)
    with pytest.raises(TableError, match=r"bomb.csv.* more than 5MB of memory.*--memory 10MB "):
        read_table(path, max_memory="5MB")


def test_cells_of_a_packed_table_count_too(write):
    path = write("gaps.csv.gz", packed_by(".gz", b"a,b,c,d\n" + b"1,,,\n" * 100_000))
    with pytest.raises(TableError, match="cells of .* would take"):
        read_table(path, max_memory="2MB")


@pytest.mark.parametrize("suffix", packed.PACKED_SUFFIXES)
def test_a_file_that_is_not_packed_as_its_name_says_is_refused(suffix, write):
    path = write(f"pets.csv{suffix}", CSV)
    with pytest.raises(TableError, match=r"not packed by .*, as its name says.* to pets\.csv; "):
        read_table(path)
    with pytest.raises(TableError, match="not packed by"):
        read_table(path, format="csv")


def test_a_file_that_is_packed_in_another_way_is_told_its_name(write):
    with pytest.raises(TableError, match=r"packed by zip, and not by gzip.* to pets\.csv\.zip"):
        read_table(write("pets.csv.gz", packed_by(".zip", CSV)))
    with pytest.raises(TableError, match=r"packed by bzip2, and not by xz.* to pets\.csv\.bz2"):
        read_table(write("pets.csv.xz", packed_by(".bz2", CSV)))


@pytest.mark.parametrize("suffix", packed.PACKED_SUFFIXES)
@pytest.mark.parametrize("options", [{}, {"encoding": "latin-1"}])
def test_a_packed_file_under_a_plain_name_is_told_its_name(suffix, options, write):
    path = write("pets.csv", packed_by(suffix, CSV))
    with pytest.raises(TableError, match=rf"begins like a packed file: .* in \{suffix}"):
        read_table(path, **options)


def test_text_that_begins_with_the_letters_of_a_packed_file_is_read(write):
    assert read_table(write("a.csv", b"PK,label\n1,cat\n")).columns.tolist() == ["PK", "label"]
    assert read_table(write("b.csv", b"BZh,label\n1,cat\n")).columns.tolist() == ["BZh", "label"]


@pytest.mark.parametrize("suffix", packed.PACKED_SUFFIXES)
def test_a_packed_file_cut_anywhere_is_refused(suffix, write):
    content = packed_by(suffix, CSV * 50)
    for length in range(0, len(content), max(len(content) // 20, 1)):
        with pytest.raises(TableError, match="damaged|not packed by"):
            read_table(write(f"pets.csv{suffix}", content[:length]))


@given(st.sampled_from(packed.PACKED_SUFFIXES), st.data())
def test_a_packed_file_with_a_wrong_byte_is_read_or_refused(tmp_path_factory, suffix, data):
    content = bytearray(packed_by(suffix, CSV * 20))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("wrong") / f"pets.csv{suffix}"
    path.write_bytes(content)
    with contextlib.suppress(DisambigError), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert len(read_table(path)) > 0


def test_a_zip_needs_to_hold_one_file_besides_what_a_mac_adds(write):
    mac = {"data/": b"", "data/pets.tsv": b"a\tlabel\n1\tcat\n", "__MACOSX/data/._pets.tsv": b"x"}
    frame = read_table(write("archive.zip", zipped(**mac, **{"data/.DS_Store": b"y"})))
    assert frame.columns.tolist() == ["a", "label"]  # by the name of the file inside
    with pytest.raises(TableError, match=r"to hold one file. .*two\.csv\.zip holds 2: 'a.csv', 'b"):
        read_table(write("two.csv.zip", zipped(**{"a.csv": CSV, "b.csv": CSV})))
    with pytest.raises(TableError, match="holds 0. Unpack it"):
        read_table(write("none.csv.zip", zipped(**{"data/": b""})))


def test_a_zip_that_names_a_place_before_its_beginning_is_damaged(write):
    content = bytearray(packed_by(".zip", CSV))
    end = content.rindex(b"PK\x05\x06")
    directory = int.from_bytes(content[end + 16 : end + 20], "little")
    content[end + 16 : end + 20] = (directory + 1000).to_bytes(4, "little")
    with pytest.raises(TableError, match="damaged: it cannot be unpacked by zip"):
        read_table(write("pets.csv.zip", bytes(content)))


def test_a_zip_with_a_password_is_refused(write):
    content = bytearray(packed_by(".zip", CSV))
    content[6] |= 1
    directory = content.rindex(b"PK\x01\x02")
    content[directory + 8] |= 1
    with pytest.raises(TableError, match="protected by a password"):
        read_table(write("pets.csv.zip", bytes(content)))


def test_formats_that_are_packed_in_themselves_are_not_packed_again(tmp_path):
    assert find_format("pets.parquet.gz") is None
    with pytest.raises(TableError, match=r"pets\.parquet\.gz ends in '\.parquet\.gz'"):
        write_table(pd.DataFrame(CELLS), tmp_path / "pets.parquet.gz")


def test_a_missing_library_for_zstandard_is_named_before_any_work(write, monkeypatch, tmp_path):
    path = write("pets.csv.zst", packed_by(".zst", CSV))
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for attempt in (lambda: read_table(path), lambda: write_table(pd.DataFrame(CELLS), path)):
        with pytest.raises(MissingExtraError, match=r"disambig\[parquet\]"):
            attempt()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("folder/pets.csv", ("pets", ".csv")),
        ("pets.v2.csv.gz", ("pets.v2", ".csv.gz")),
        ("pets.gz", ("pets", ".gz")),
        ("pets", ("pets", "")),
        (".csv", (".csv", "")),
    ],
)
def test_a_name_is_split_into_a_stem_and_suffixes(name, parts):
    assert split_name(name) == parts
