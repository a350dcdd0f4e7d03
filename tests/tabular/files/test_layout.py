import io
import warnings

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disambig._core.errors import TableError
from disambig.tabular import read_table, write_table
from disambig.tabular.columns.plan import plan_columns


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, name="toys.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_table(path, **options)

    return write_and_read


def content(frame):
    return frame.to_dict("list")


# ---- a first column without a name


FRAME = pd.DataFrame({"size": [1.5, 2.0], "label": ["cat", "dog"]}, index=["ann", "bob"])


def test_the_index_that_pandas_writes_is_the_first_column(read):
    expected = {"Unnamed: 0": ["ann", "bob"], "size": ["1.5", "2.0"], "label": ["cat", "dog"]}
    text = FRAME.to_csv()
    assert content(read(text)) == expected
    assert content(read(text)) == content(pd.read_csv(io.StringIO(text), dtype=str))
    assert content(read(FRAME.to_csv(sep="\t"), "toys.tsv")) == expected


def test_the_index_in_an_excel_file_is_the_first_column(tmp_path):
    path = tmp_path / "toys.xlsx"
    FRAME.to_excel(path)
    assert list(read_table(path).columns) == ["Unnamed: 0", "size", "label"]


def test_row_names_of_r_are_the_first_column(read):
    quoted = '"","size","label"\n"1",1.5,"cat"\n"2",2,"dog"\n'  # write.csv
    expected = {"Unnamed: 0": ["1", "2"], "size": ["1.5", "2"], "label": ["cat", "dog"]}
    assert content(read(quoted)) == expected
    short = '"size" "label"\n"1" 1.5 "cat"\n"2" 2 "dog"\n'  # write.table
    with pytest.warns(UserWarning, match="one cell more than .* to name the row, as R"):
        assert content(read(short, delimiter=" ")) == expected
    with pytest.warns(UserWarning, match="one cell more"):
        assert content(read(short.replace(" ", "\t"), "toys.tsv")) == expected


@pytest.mark.parametrize("delimiter", [" ", "\t", ";"])
def test_a_delimiter_of_r_is_found_though_the_header_is_one_name_short(read, delimiter, tmp_path):
    text = '"size" "label"\n"1" 1.5 "a cat"\n"2" 2 "dog"\n'.replace(" ", delimiter)
    expected = {"Unnamed: 0": ["1", "2"], "size": ["1.5", "2"]}
    with pytest.warns(UserWarning, match="into 3 columns"), pytest.warns(match="as R writes it"):
        frame = read(text)
    assert content(frame[["Unnamed: 0", "size"]]) == expected
    again = tmp_path / "again.csv"
    write_table(frame, again)
    assert again.read_text()[10] == ("," if delimiter == " " else delimiter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert content(read_table(again)) == content(frame)


def test_spaces_between_words_are_not_between_cells_where_something_else_is(read):
    with pytest.warns(UserWarning, match="as separated by ';'"):
        assert list(read("my size;my label\n1 cm;a cat\n2 cm;a dog\n")) == ["my size", "my label"]
    assert list(read("some text\nhello you\ngood bye\n")) == ["some text"]


@pytest.mark.parametrize("text", ["My toys\nsize,label\n1,cat\n", "text\nHello, you\nBye, all\n"])
def test_one_name_above_two_cells_names_no_rows(read, text):
    with pytest.raises(TableError, match=r"as the header, 1\. Row 1 \(line 2\) has 2.* is a title"):
        read(text)


def test_a_title_above_the_header_is_pointed_to(read):
    with pytest.raises(TableError, match=r"Column 2 of 2 has none.* If 'My toys' is a title, take"):
        read("My toys,\n,\nsize,label\n1,cat\n")


def test_a_header_that_is_one_name_short_is_refused_where_the_first_cells_name_no_rows(read):
    with pytest.raises(TableError, match=r"as the header, 2\. Row 1 \(line 2\) has 3"):
        read("size,label\n1,2,cat\n1,3,dog\n")


def test_the_name_of_an_index_does_not_take_that_of_another_column(read):
    frame = read(",Unnamed: 0,a\n1,2,3\n")
    assert list(frame.columns) == ["Unnamed: 0.1", "Unnamed: 0", "a"]


@pytest.mark.parametrize("index", [range(30), range(60, 0, -2), [f"r{n}" for n in range(30)]])
def test_nothing_is_learned_from_an_index_and_one_notice_says_so(read, index):
    frame = pd.DataFrame({"size": [n % 7 / 2 for n in range(30)]}, index=index)
    plan, _, notices = plan_columns(read(frame.to_csv()))
    assert plan.names == ["size"]
    (notice,) = notices
    assert "Left out 'Unnamed: 0' (the first column, which has no name), which" in notice


def test_an_index_that_repeats_is_learned_from_and_people_are_told(read):
    frame = pd.DataFrame({"size": [n % 7 / 2 for n in range(30)]}, index=[1, 2, 3, 4, 4] * 6)
    plan, _, notices = plan_columns(read(frame.to_csv()))
    assert plan.names == ["Unnamed: 0", "size"]
    assert notices == [
        "The first column has no name, and is learned from as 'Unnamed: 0': it does not number or "
        "name the rows."
    ]


def test_an_index_of_parquet_by_another_library_is_an_identifier():
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.5], "__index_level_0__": [7, 3, 5]})
    assert plan_columns(frame)[0].names == ["x"]


@pytest.mark.parametrize(
    ("header", "place"), [("a,,b", 2), ("a, ,b", 2), (",,b", 2), ("a,b,", 3), ("", 1)]
)
def test_any_other_column_needs_a_name(read, header, place):
    text = f"{header}\n1,2,3\n4,5,6\n" if header else '""\n1\n2\n'
    with pytest.raises(TableError, match=f"Column {place} of . has none"):
        read(text)


# ---- delimiters


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_another_delimiter_is_taken_if_it_alone_fits_and_written_again(read, delimiter, tmp_path):
    text = "a;b;label\n1,5;2;x\n3;4,4;y\n".replace(";", delimiter)
    with pytest.warns(UserWarning, match="into 3 columns. If that is wrong, use --d"):
        frame = read(text)
    assert content(frame) == {"a": ["1,5", "3"], "b": ["2", "4,4"], "label": ["x", "y"]}
    out = tmp_path / "out.csv"
    write_table(frame, out)
    assert out.read_text() == text
    write_table(frame, out, delimiter=",")
    assert out.read_text().startswith("a,b,label\n")
    write_table(frame, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text().startswith("a\tb\tlabel\n")


def test_another_delimiter_is_taken_where_names_or_cells_hold_the_usual_one(read):
    with pytest.warns(UserWarning, match="as separated by ';', into 2 columns"):
        assert content(read("size, in cm;label\n1,5;cat\n2;dog\n")) == {
            "size, in cm": ["1,5", "2"],
            "label": ["cat", "dog"],
        }
    assert read("a;b,c\n1;2,3\n").columns.tolist() == ["a;b", "c"]  # as it always was


def test_two_delimiters_that_fit_are_refused(read):
    with pytest.raises(TableError, match=r"It looks separated by '\\t', into 2 columns: use --del"):
        read("a;\tb\n1;\t2\n3;\t4\n")


def test_the_first_line_of_excel_says_the_delimiter(read):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read("\ufeffsep=;\r\na;b\r\n1,5;x\r\n2;y\r\n")
        assert content(read('"sep=|"\na|b\n1|x\n')) == {"a": ["1"], "b": ["x"]}
        assert content(read("sep=\t\na\tb\n1\tx\n")) == {"a": ["1"], "b": ["x"]}
        assert content(read("SEP=,;;\na,b\n1,x\n")) == {"a": ["1"], "b": ["x"]}
        given = read("sep=;\na,b\n1,x\n", delimiter=",")
    assert content(frame) == {"a": ["1,5", "2"], "b": ["x", "y"]}
    assert content(given) == {"a": ["1"], "b": ["x"]}


@pytest.mark.parametrize("first", ["sep=", "sep=a"])
def test_a_first_line_that_says_no_delimiter_is_a_header(read, first):
    assert content(read(f"{first}\n1\n2\n")) == {first: ["1", "2"]}


def test_rows_are_counted_behind_the_first_line_of_excel(read):
    with pytest.raises(TableError, match=r"Row 2 \(line 4\) has 1"):
        read("sep=;\na;b\n1;x\n2\n")


# ---- ends without content


def test_blank_columns_and_rows_at_the_end_are_left_out_with_a_notice(read):
    with pytest.warns(UserWarning, match="Left out") as caught:
        frame = read("a,label,,\n1,cat,,\n,,,\n2,dog,,\n,,,\n , ,,\n")
    assert content(frame) == {"a": ["1", "", "2"], "label": ["cat", "", "dog"]}
    (warning,) = caught
    assert "Left out 2 columns and 2 rows at the end of" in str(warning.message)
    assert str(warning.message).endswith("toys.csv without any content.")


def test_a_delimiter_at_the_end_of_rows_alone_makes_no_column(read):
    with pytest.warns(UserWarning, match="Left out 1 column at the end"):
        assert content(read("a,label\n1,cat,\n1,dog,\n")) == {
            "a": ["1", "1"],
            "label": ["cat", "dog"],
        }


def test_a_cell_far_down_in_a_column_without_a_name_is_not_lost(read):
    rows = "1,cat,\n" * 5_000
    with pytest.raises(TableError, match="Column 3 of 3 has none"):
        read(f"a,label,\n{rows}1,cat,here\n{rows}")


def test_many_blank_rows_take_little(read):
    with pytest.warns(UserWarning, match="Left out 6,000 rows at the end"):
        assert len(read("a,b,label\n" + "1,2,cat\n" * 3_000 + ",,\n" * 6_000)) == 3_000


def test_a_table_of_blank_rows_has_none(read):
    with pytest.raises(TableError, match="needs at least one row"):
        read("a,b\n,\n,\n")


def test_blank_cells_of_a_single_column_are_rows(read):
    assert content(read('label\ncat\n" "\n""\n')) == {"label": ["cat", " ", ""]}


cells = st.sampled_from(["", "", " ", "1", "1,5", "a;b", '"', "x|y", "sep=;", "\t", "2\n3"])


@given(
    st.lists(st.lists(cells, min_size=0, max_size=4), max_size=6),
    st.sampled_from(",;\t|"),
    st.sampled_from(["", "sep=;\n", "\ufeff"]),
)
def test_any_layout_is_read_or_refused_and_keeps_its_cells(
    tmp_path_factory, rows, delimiter, start
):
    path = tmp_path_factory.mktemp("any") / "any.csv"
    text = "\n".join(delimiter.join(row) for row in rows)
    path.write_text(start + text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            frame = read_table(path)
        except TableError:
            return
        again = path.with_name("again.csv")
        write_table(frame, again)
        back = read_table(again, delimiter=frame.attrs.get("delimiter", ","))
    assert content(back) == content(frame)
    assert all(name.strip() for name in frame.columns)
