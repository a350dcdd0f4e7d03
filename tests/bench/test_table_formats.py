import csv
import io
import re

from disambig.bench import Table, to_csv, to_latex, to_markdown

TABLE = Table(
    title="Made of 50% & more",
    header=("data", "w/o NC", "a_b (oracle)"),
    rows=(
        ("glass, p=0.3", "0.790 ± 0.055 •", "0.800 ± 0.010 ◦"),
        ('so "called"', "-", "[0.1] {x} $5 #1 a\\b ~ ^ < > |"),
        ("win/tie/loss", "1/0/0", ""),
    ),
    notes=("•/◦: better * worse.", "p < 0.001"),
    emphasised=frozenset({(0, 2)}),
    n_summary_rows=1,
)


def test_csv_reads_back_as_header_and_rows():
    header, *rows = csv.reader(io.StringIO(to_csv(TABLE)))
    assert tuple(header) == TABLE.header
    assert tuple(rows[1]) == TABLE.rows[1]
    assert tuple(rows[2]) == TABLE.rows[2]
    # What stands out does here too.
    assert rows[0] == ["glass, p=0.3", "0.790 ± 0.055 •", "0.800 ± 0.010 ◦ *"]


def test_markdown_has_as_many_columns_in_every_line():
    lines = to_markdown(TABLE).splitlines()
    assert lines[0] == "## Made of 50% & more"
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + len(TABLE.rows)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}


def test_markdown_escapes_its_own_signs_and_sets_the_best_in_bold():
    text = to_markdown(TABLE)
    assert "| **0.800 ± 0.010 ◦** |" in text
    assert r"a\_b (oracle)" in text
    assert r"- •/◦: better \* worse." in text
    assert to_markdown(Table("*a* b", ("x",), ())).startswith(r"## \*a\* b")


def test_latex_environments_and_braces_are_balanced():
    text = to_latex(TABLE)
    assert re.findall(r"\\begin{(\w+)}", text) == ["table", "tabular"]
    assert re.findall(r"\\end{(\w+)}", text) == ["tabular", "table"]
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0


def test_latex_rows_have_as_many_cells_as_there_are_columns():
    text = to_latex(TABLE)
    columns = re.search(r"\\begin{tabular}{(l+r*)}", text).group(1)
    rows = [line for line in text.splitlines() if line.endswith(r" \\")]
    assert len(columns) == len(TABLE.header)
    assert len(rows) == 1 + len(TABLE.rows)
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(TABLE.header) - 1}


def test_latex_rules_stand_around_the_rows_and_above_the_summary():
    lines = to_latex(TABLE).splitlines()
    rules = [line for line in lines if line.endswith("rule")]
    assert rules == [r"\toprule", r"\midrule", r"\midrule", r"\bottomrule"]
    assert lines[lines.index(r"\bottomrule") - 1].startswith("win/tie/loss")
    assert lines[lines.index(r"\bottomrule") - 2] == r"\midrule"


def test_latex_writes_marks_and_special_signs_as_commands():
    text = to_latex(TABLE)
    assert r"\caption{Made of 50\% \& more}" in text
    assert r"0.790 $\pm$ 0.055 $\bullet$" in text
    assert r"\textbf{0.800 $\pm$ 0.010 $\circ$}" in text
    assert r"a\_b (oracle)" in text
    escaped = (
        r"[0.1] \{x\} \$5 \#1 a\textbackslash{}b \textasciitilde{} \textasciicircum{} $<$ $>$ $|$"
    )
    assert escaped in text
    assert text.isascii()


def test_a_row_that_begins_with_a_bracket_is_no_length_to_latex():
    # After a line break, "[" would be read as the space to add.
    table = Table("t", ("a", "b"), (("x", "y"), ("[1]", "z")))
    assert "\n{[1]} & z" in to_latex(table)


def test_notes_follow_the_table_in_latex_and_markdown():
    latex, markdown = to_latex(TABLE), to_markdown(TABLE)
    assert latex.index(r"\end{tabular}") < latex.index("p $<$ 0.001") < latex.index(r"\end{table}")
    assert markdown.rstrip().endswith(r"- p \< 0.001")


def test_wide_tables_are_set_in_small_type():
    wide = Table("t", ("x" * 20,) * 10, ())
    assert "\\tiny\n" in to_latex(wide)
    assert "\\normalsize\n" in to_latex(TABLE)


def test_a_table_without_notes_and_summary_has_neither():
    plain = Table("t", ("a", "b"), (("1", "2"),))
    assert to_markdown(plain) == "## t\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n"
    assert to_latex(plain).count(r"\midrule") == 1


def test_names_that_a_spreadsheet_would_run_get_an_apostrophe_if_asked_for():
    table = Table("A title", ("data", "=cmd"), (("@lost", "-0.5"), ("+x", "0.7")))
    plain, safe = to_csv(table), to_csv(table, excel_safe=True)
    assert plain == "data,=cmd\n@lost,-0.5\n+x,0.7\n"
    assert safe == "data,'=cmd\n'@lost,-0.5\n'+x,0.7\n"
