"""CSV and TSV are read as they are written, and their faults are named."""

import csv
import io
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from disambig._core.errors import ParameterError, TableError
from disambig.tabular.files.formats import read_table


@pytest.fixture
def read(tmp_path):
    def write_and_read(content, name="toys.csv", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, **options)

    return write_and_read


def cells(frame):
    return frame.to_numpy(dtype=object).tolist()


def test_cells_stay_exactly_as_they_are_written(read):
    frame = read("a,b,c\n007,NA,\n 1.10 ,null,nan\n")
    assert cells(frame) == [["007", "NA", ""], [" 1.10 ", "null", "nan"]]
    assert list(frame.columns) == ["a", "b", "c"]
    assert (frame.dtypes == "str").all()
    assert frame.index.tolist() == [0, 1]


def test_quoted_cells_hold_delimiters_quotes_and_ends_of_lines(read):
    frame = read('a,b\n"x,y","say ""hi"""\n"two\nlines","lone\rreturn"\n5" pipe,"\x1a"\n')
    assert cells(frame) == [
        ["x,y", 'say "hi"'],
        ["two\nlines", "lone\rreturn"],
        ['5" pipe', "\x1a"],
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way_and_blank_ones_are_no_rows(read, end):
    frame = read(end.join(["", "a,b", "", "1,2", "   ", ",", "3,4", "", ""]))
    assert cells(frame) == [["1", "2"], ["", ""], ["3", "4"]]


def test_in_a_table_of_one_column_quotes_and_spaces_make_a_row(read):
    assert cells(read('a\n\n""\n  \nx\n')) == [[""], ["  "], ["x"]]


def test_a_tsv_is_split_at_tabs_and_a_delimiter_can_be_given(read):
    assert cells(read("a\tb\n1,2\t3\n", "toys.tsv")) == [["1,2", "3"]]
    assert cells(read("a;b\n1,2;3\n", delimiter=";")) == [["1,2", "3"]]


def test_a_cell_may_be_longer_than_the_csv_module_allows_by_itself(read):
    before = csv.field_size_limit()
    frame = read(f"a,b\n{'x' * 300_000},1\n")
    assert len(frame["a"][0]) == 300_000
    assert csv.field_size_limit() == before


def test_many_rows_keep_their_order(read):
    frame = read("n,half\n" + "".join(f"{n},{n // 2}\n" for n in range(5_001)))
    assert frame["n"].tolist() == [str(n) for n in range(5_001)]
    assert frame["half"].iloc[-1] == "2500"


@pytest.mark.parametrize(
    "content",
    [
        "é,b\nö,2\n".encode(),
        "\ufeffé,b\nö,2\n".encode(),
        "é,b\nö,2\n".encode("utf-16"),
        "\ufeffé,b\nö,2\n".encode("utf-16-be"),
        "é,b\nö,2\n".encode("utf-32"),
    ],
    ids=["utf-8", "utf-8 marked", "utf-16", "utf-16-be marked", "utf-32"],
)
def test_marks_of_encodings_are_understood(read, content):
    frame = read(content)
    assert list(frame.columns) == ["é", "b"]
    assert cells(frame) == [["ö", "2"]]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le", "UTF8"])
def test_an_encoding_can_be_given_with_or_without_a_mark(read, encoding):
    mark = "" if encoding == "latin-1" else "\ufeff"
    assert cells(read(f"{mark}a,b\nö,2\n".encode(encoding), encoding=encoding)) == [["ö", "2"]]


def test_another_encoding_is_named_by_its_first_byte(read):
    with pytest.raises(
        TableError,
        match=r"toys\.csv cannot be read as utf-8\. "
        r"Byte 8 \(0xf6, in line 2: row 1, column 'b'\) does not fit\. "
        r".*--encoding latin-1",
    ):
        read("a,b\n1,dög\n".encode("latin-1"))


def test_a_wrong_byte_far_into_a_file_is_found_in_its_line(read):
    content = b"a,b\n" + b"1,2\n" * 10_000 + b"1,\xff\n"
    with pytest.raises(TableError, match=r"Byte 40,007 \(0xff, in line 10,002: row 10,0"):
        read(content)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"a,\xff\n1,2\n", "in line 1: column 2 of the header"),
        (b"\xffa,b\n1,2\n", "in line 1: column 1 of the header"),
        (b'a,b\n"x\ny,z",2\n1,2\n\xff,1\n', "in line 5: row 3, column 'a'"),
        (b'a,b\n"x\ny,\xff",2\n', "in line 3: row 1, column 'a'"),
        (b"\n\na,b\n\n1,2,3\xff\n", "in line 5: row 1, column '3'"),
    ],
)
def test_a_wrong_byte_is_named_by_row_and_column(read, content, place):
    with pytest.raises(TableError, match=rf"\(0xff, {place}\) does not fit"):
        read(content)


def test_half_a_character_is_refused_when_it_is_read(read):
    content = "a,b\n1,\ud800\n".encode("utf-7", "surrogatepass")
    with pytest.raises(TableError, match=r"Line 2 holds half of a character, '\\ud800'"):
        read(content, encoding="utf-7")


def test_text_without_the_mark_that_its_encoding_needs_is_refused(read):
    with pytest.raises(TableError, match="cannot be read as utf-16"):
        read("a,b\n1,2\n".encode("utf-16-le"), encoding="utf-16")


@pytest.mark.parametrize("encoding", ["klingon", "hex", "utf\0"])
def test_an_unknown_encoding_is_refused(read, encoding):
    with pytest.raises(ParameterError, match="The encoding must be one that Python knows"):
        read("a,b\n1,2\n", encoding=encoding)


def test_a_nul_character_is_refused_with_its_line(read):
    with pytest.raises(TableError, match="needs to be text. Line 3 holds a NUL character"):
        read("a,b\n1,2\n1,x\0\n")


@pytest.mark.parametrize("content", ["", "\n\n", "  \n", "\ufeff"])
def test_an_empty_file_is_refused(read, content):
    with pytest.raises(TableError, match=r"toys\.csv needs a header and rows\. It is empty"):
        read(content)


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\n\n  \n"])
def test_a_header_alone_is_refused(read, content):
    with pytest.raises(TableError, match=r"toys\.csv needs at least one row\. .*header only"):
        read(content)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("a,,c", "Column 2 of 3 has none"),
        ("a,b,a", "Columns 1 and 3 are both called 'a'"),
    ],
)
def test_columns_without_a_name_of_their_own_are_refused(read, header, message):
    with pytest.raises(TableError, match=message):
        read(f"{header}\n{header}\n")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,2\n3\n", r"the header, 2\. Row 2 \(line 3\) has 1\."),
        ("1,2\n\n3,4,5\n", r"the header, 2\. Row 2 \(line 4\) has 3\."),
        ("1,2,3\n1,5,6\n", r"the header, 2\. Row 1 \(line 2\) has 3\."),
        ('"1\n1",2\n3,"4\n4"\n\x1a\n', r"the header, 2\. Row 3 \(line 6\) has 1\."),
        ("1,2\n" * 3_000 + "1\n", r"Row 3,001 \(line 3,002\) has 1\."),
    ],
)
def test_a_row_with_too_many_or_too_few_cells_is_named(read, rows, message):
    with pytest.raises(TableError, match=message):
        read(f"a,b\n{rows}")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ('1,2\n3,"4\n5,6\n', r"Row 2 \(line 3\) begins a quoted cell that never ends"),
        ('1,2\n3,"4"x\n5,6\n', r"Row 2 \(line 3\) has text behind a closing quote"),
    ],
)
def test_broken_quotes_are_named(read, rows, message):
    with pytest.raises(TableError, match=message):
        read(f"a,b\n{rows}")


def test_a_broken_quote_in_the_header_is_named(read):
    with pytest.raises(TableError, match="The header begins a quoted cell that never ends"):
        read('a,"b\n1,2\n')


@pytest.mark.parametrize("content", ["label\ncat|dog\ndog\n", "a;b\nx\ny\n", "a|b\n"])
def test_a_single_column_is_read_unless_another_delimiter_fits_every_line(read, content):
    if content.count("\n") == 1:
        with pytest.raises(TableError, match="header only"):
            read(content)
    else:
        assert read(content).shape == (2, 1)


def test_a_delimiter_that_is_given_is_not_doubted(read):
    assert cells(read("a;b\n1;2\n", delimiter=",")) == [["1;2"]]


def test_without_pyarrow_the_same_cells_are_read(tmp_path):
    path = tmp_path / "toys.csv"
    path.write_text("a,b\n" + "".join(f"{n},NA\n" for n in range(12_000)))
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from disambig.tabular.files.formats import read_table\n"
        f"frame = read_table({str(path)!r})\n"
        "assert (frame.dtypes == 'str').all()\n"
        "assert frame['a'].tolist() == [str(n) for n in range(12_000)]\n"
        "assert set(frame['b']) == {'NA'}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


VALID = 'name,size,"text, free"\nAnn,1.5,"says ""hi"", twice"\nÖzil,007,"two\nlines"\n\n,NA,é\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@st.composite
def damaged(draw):
    content = bytearray(VALID.encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-16"]))))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(content) - 1, 0)))
        match draw(st.sampled_from(["cut", "flip", "insert"])):
            case "cut":
                del content[place : place + draw(st.integers(1, 40))]
            case "flip" if content:
                content[place] ^= draw(st.integers(1, 255))
            case _:
                odd = [b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"\x1a", b'""', b" \n", b'"\n']
                content[place:place] = draw(st.sampled_from(odd) | st.binary(max_size=3))
    return bytes(content)


@settings(max_examples=150)
@given(content=damaged())
@example(content=b"")
@example(content=b'"')
@example(content=b"a\r\r\nb")
def test_a_damaged_file_is_refused_or_read_with_every_row(content, folder):
    path = folder / "any.csv"
    path.write_bytes(content)
    try:
        frame = read_table(path)
    except TableError:
        return
    is_utf_16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = content.decode("utf-16" if is_utf_16 else "utf-8-sig")
    records = list(csv.reader(io.StringIO(text, newline="")))
    width = frame.shape[1]
    filled = [row for row in records if row and (len(row) == width or row[0].strip())]
    assert cells(frame) == filled[1:]
