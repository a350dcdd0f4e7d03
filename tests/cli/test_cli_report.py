"""disambig report: a page of a cleaned table, or of a model, in one file."""

import json
import re
import shlex
from pathlib import Path

import pytest

from cli.command_runs import accepted, run_command_here, written
from tabular.small_tables import three_clouds
from web.page_checks import check_self_contained
from web.page_parts import Elements

NETWORK = ("--method=ncpd", "--set=epochs=4", "--set=ramp_epochs=2", "--set=hidden=8", "--folds=2")
OLDER = "<p>an older page</p>"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Return a folder with a table, its cleaned form and a model."""
    folder = tmp_path_factory.mktemp("made")
    frame = three_clouds(30).assign(key=[f"r{number:02}" for number in range(30)])
    frame["truth"] = frame["truth"].where(frame.index % 3 == 0, "")
    table = written(folder / "table.csv", frame)
    words = ("--truth=truth", "--id=key", *NETWORK)
    accepted("clean", table, f"--out={folder / 'clean.csv'}", *words)
    accepted("fit", table, f"--out={folder / 'model'}", *words)
    return folder


@pytest.fixture
def page(tmp_path) -> Path:
    return tmp_path / "new" / "page.html"


def test_a_cleaned_table_becomes_one_page(made, page):
    before = sorted(path.name for path in made.iterdir())
    run = accepted("report", made / "clean.csv", f"--out={page}")
    assert f"Open this page in a browser:\n{page}\n" in run.err
    assert run.out == ""
    assert [path.name for path in page.parent.iterdir()] == ["page.html"]
    assert sorted(path.name for path in made.iterdir()) == before
    read = check_self_contained(page.read_text(encoding="utf-8"))
    payload = read.data("doubtful")
    assert payload["id"] == "key"
    # Neither candidate labels, which are shown by themselves, nor true ones.
    assert payload["columns"] == ["length", "width", "colour", "key"]
    assert payload["totals"]["rows"] == 30
    assert all(len(row[4]) == 2 for row in payload["rows"])  # two networks
    assert "How training went" in read.text
    assert "epochs=4" in read.text


def test_the_terminal_says_what_the_page_says_first(made, page):
    run = accepted("report", made / "clean.csv", f"--out={page}")
    lines = run.err.splitlines()
    read = check_self_contained(page.read_text(encoding="utf-8"))
    assert lines[0] in read.text
    assert "of the 30 labels are right." in lines[0]
    assert lines[1].startswith("Next: look at ")
    assert lines[1] in read.text
    assert lines[2] == "Open this page in a browser:"


def test_the_page_names_the_table_and_the_commands_that_make_it_again(made, page, monkeypatch):
    details = json.loads((made / "clean.csv.details.json").read_text())
    table = str(made / "table.csv")
    out = f"--out={page}"
    # Options may come before the file.
    details["command"] = ["clean", "--truth", "truth", "--in-sample", table, out, "--new-option"]
    cleaned = page.parent.parent / "clean.csv"
    cleaned.write_bytes((made / "clean.csv").read_bytes())
    cleaned.with_name("clean.csv.details.json").write_text(json.dumps(details))
    arguments = ["report", str(cleaned), out]
    monkeypatch.setattr("sys.argv", ["disambig", *arguments])
    accepted(*arguments)
    elements = Elements(page.read_text(encoding="utf-8"))
    (made_by,) = elements.named("section", id="details")
    entries = ["".join(one.itertext()) for one in made_by.iter("dt")][:4]
    assert entries == ["cleaned on", "from", "clean again", "make this page again"]
    assert "".join(list(made_by.iter("dd"))[1].itertext()) == table
    commands = [shlex.split(line) for line in elements.texts("code")][-2:]
    assert commands == [["disambig", *details["command"]], ["disambig", *arguments]]


def test_as_many_rows_as_wanted_are_on_the_page(made, page):
    accepted("report", made / "clean.csv", f"--out={page}", "--rows=2")
    payload = check_self_contained(page.read_text()).data("doubtful")
    assert len(payload["rows"]) == 2
    assert payload["totals"]["doubtful"] > 2


def test_another_column_may_name_the_rows(made, page):
    run = run_command_here("report", made / "clean.csv", f"--out={page}", "--id=colour")
    assert run.code == 2
    assert "Make it unique, or name another column: --id" in run.err
    accepted("report", made / "clean.csv", f"--out={page}", "--id=length")
    assert check_self_contained(page.read_text()).data("doubtful")["id"] == "length"


@pytest.mark.parametrize("names", [["b1", "b2", "b1"], ["b1", None, "b3"]])
def test_names_that_do_not_tell_rows_apart_are_a_note(names, tmp_path, page):
    frame = three_clouds(30).assign(name=names * 10)
    table = written(tmp_path / "table.csv", frame)
    words = ("--method=plknn", "--folds=2", "--ignore=truth", "--id=name")
    accepted("clean", table, f"--out={tmp_path / 'clean.csv'}", *words)
    run = accepted("report", tmp_path / "clean.csv", f"--out={page}")
    assert "Column 'name' should name the rows" in run.err
    assert "rows go by their numbers" in run.err
    assert check_self_contained(page.read_text()).data("doubtful")["id"] is None


def test_a_model_becomes_one_page(made, page):
    run = accepted("report", made / "model", f"--out={page}")
    read = check_self_contained(page.read_text())
    assert read.data("doubtful")["totals"]["rows"] == 30
    assert read.data("doubtful")["columns"] == []
    assert "covering rate" in read.text
    assert "Model model" in read.text
    assert "overconfident: expect more errors" in read.text
    assert re.search(r"Models that had not seen the row were right for \d+ % \(.* of 10", read.text)
    assert "overconfident: expect more errors" in run.err


def test_without_details_the_page_has_less_on_it(made, tmp_path, page):
    (tmp_path / "clean.csv").write_bytes((made / "clean.csv").read_bytes())
    run = accepted("report", tmp_path / "clean.csv", f"--out={page}")
    assert "Note" not in run.err
    read = check_self_contained(page.read_text())
    assert "How training went" not in read.text
    assert "clean again" not in read.text
    assert read.data("doubtful")["id"] is None


def test_details_of_another_table_are_a_note(made, tmp_path, page):
    lines = (made / "clean.csv").read_text().splitlines()
    (tmp_path / "clean.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    (tmp_path / "clean.csv.details.json").write_bytes(
        (made / "clean.csv.details.json").read_bytes()
    )
    run = accepted("report", tmp_path / "clean.csv", f"--out={page}")
    assert "Note: The details beside the table belong to another cleaning" in run.err
    assert "How training went" not in page.read_text()


def test_a_table_with_another_delimiter_is_read(tmp_path, page):
    three_clouds(30).to_csv(tmp_path / "t.csv", sep=";", index=False)
    words = ("--delimiter=;", "--method=plknn", "--folds=2", "--ignore=truth")
    accepted("clean", tmp_path / "t.csv", f"--out={tmp_path / 'c.csv'}", *words)
    accepted("report", tmp_path / "c.csv", f"--out={page}", "--delimiter=;")
    assert check_self_contained(page.read_text()).data("doubtful")["totals"]["rows"] == 30


@pytest.mark.parametrize("name", ["page", "page.pdf", "page.html.csv", ".html"])
def test_a_page_is_called_html(made, tmp_path, name):
    run = run_command_here("report", made / "clean.csv", f"--out={tmp_path / name}")
    assert run.code == 2
    assert "needs a name that ends in .html" in run.err
    assert list(tmp_path.iterdir()) == []


def refused(source: Path, page: Path) -> str:
    """Return why a page cannot be made; the one that is there stays."""
    page.parent.mkdir(exist_ok=True)
    page.write_text(OLDER)
    run = run_command_here("report", source, f"--out={page}")
    assert run.code == 2, run.err
    assert "Traceback" not in run.err
    assert "mistake in disambig" not in run.err
    assert page.read_text() == OLDER
    assert [path.name for path in page.parent.iterdir()] == ["page.html"]
    return run.err


def test_what_is_not_there_is_refused(made, page):
    assert "There is no" in refused(made / "nothing.csv", page)


def test_a_table_that_was_not_cleaned_is_refused(made, page):
    assert "The table has not been cleaned yet" in refused(made / "table.csv", page)


def test_a_damaged_model_is_refused(made, tmp_path, page):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.json").write_text("{}")
    assert "is not a model folder that disambig can read" in refused(folder, page)


def test_damaged_details_are_refused_with_what_to_do(made, tmp_path, page):
    (tmp_path / "clean.csv").write_bytes((made / "clean.csv").read_bytes())
    (tmp_path / "clean.csv.details.json").write_text('{"kind": "mine"}')
    assert "Move it away, or clean again" in refused(tmp_path / "clean.csv", page)


def test_a_choice_changed_by_hand_is_refused_with_its_row(made, tmp_path, page):
    text = (made / "clean.csv").read_text().replace(",cat,", ",cow,")
    (tmp_path / "clean.csv").write_text(text)
    assert "what people decide goes into a file of decisions" in refused(
        tmp_path / "clean.csv", page
    )
