"""disambig review: served to one person, and every answer is on the disk."""

import contextlib
import json
import re
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from cli.command_runs import accepted, run_command_here, written
from disambig.tabular import read_decisions
from disambig.tabular.files.formats import read_table
from tabular.small_tables import three_clouds
from waiting import PATIENCE
from web.page_checks import check_self_contained
from web.review_process import ADDRESS, ReviewProcess


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    table = written(folder / "table.csv", three_clouds(30))
    words = ("--method=plknn", "--folds=2", "--ignore=truth", "--errors-to-find=1")
    accepted("clean", table, f"--out={folder / 'clean.csv'}", *words)
    return folder


@pytest.fixture
def review(made) -> Iterator[Callable[[], ReviewProcess]]:
    """Return what starts a review; in the end all of them are over."""
    started: list[ReviewProcess] = []

    def start() -> ReviewProcess:
        started.append(ReviewProcess(made / "clean.csv"))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_what_was_answered_survives_a_kill_and_counts_in_the_next_review(made, review, monkeypatch):
    kept = made / "clean.decisions.jsonl"
    frame = read_table(made / "table.csv")
    first = review()
    status, page = first.ask("GET", "")
    assert status == 200
    payload = check_self_contained(page, connects=True).data("doubtful")
    assert payload["savedIn"] == kept.name
    assert not kept.exists()
    row = payload["rows"][0][0]
    status, answer = first.ask("POST", "decisions", {"row": row, "label": "fox", "before": None})
    assert (status, json.loads(answer)) == (
        200,
        {"settled": [[row, "fox", None]], "undo": [row, None, None]},
    )
    first.end(signal.SIGKILL)
    assert read_decisions(read_table(kept), frame) == {row - 1: "fox"}
    second = review()
    assert second.said[:2] == ["1 row settled already, in", kept.name]
    assert second.token != first.token
    assert json.loads(second.ask("GET", "decisions")[1])["settled"] == [[row, "fox", None]]
    other = payload["rows"][1][0]
    assert second.ask("POST", "decisions", {"row": other, "label": "cat", "before": None})[0] == 200
    code, said = second.end(signal.SIGINT)
    assert code == 0
    assert f"2 rows settled, in\n{kept.name}\n" in said
    command = said[said.index("  disambig clean ") :].split("\n")[0]
    assert command.endswith(f" --decisions {kept.name}")
    assert "Traceback" not in said
    settled = {row - 1: "fox", other - 1: "cat"}
    assert read_decisions(read_table(kept), frame) == settled
    monkeypatch.chdir(made)
    accepted(*shlex.split(command)[1:], "--out=again.csv")  # of two, the last counts
    again = pd.read_csv(made / "again.csv")
    assert {place: again["chosen_label"][place] for place in settled} == settled


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are not counted together")
def test_the_owner_is_served_while_others_hold_more_connections_than_there_are_descriptors(
    made, tmp_path
):
    kept = tmp_path / "kept.jsonl"
    served = ReviewProcess(made / "clean.csv", f"--decisions={kept}", descriptors=256)
    try:
        with contextlib.ExitStack() as held:
            for number in range(400):
                address = ("127.0.0.1", served.port)
                stranger = held.enter_context(socket.create_connection(address, PATIENCE))
                if number % 2:
                    stranger.sendall(b"POST / HTTP/1.1\r\nContent-Length: 9\r\nHost: ")
            for row in range(1, 6):
                decision = {"row": row, "label": "fox", "before": None}
                assert served.ask("POST", "decisions", decision)[0] == 200
        code, said = served.end(signal.SIGINT)
    finally:
        served.end()
    assert code == 0
    *last, command = said.splitlines()[-5:]
    assert last == ["5 rows settled, in", str(kept), "", "Next, clean again:"]
    assert command.endswith(f" --decisions {kept}")
    assert set(said.splitlines()[:-5]) <= {"Press Ctrl-C to end the review."}
    assert len(kept.read_text().splitlines()) == 5


@pytest.mark.parametrize("module", ["starlette", "uvicorn"])
def test_without_its_extra_it_says_how_to_install_it(made, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    run = run_command_here("review", made / "clean.csv")
    assert run.code == 2
    assert f"This needs {module}" in run.err
    assert "pip install 'disambig[review]'" in run.err


def refusal(monkeypatch: pytest.MonkeyPatch, *words: object) -> str:
    """Return why a review does not begin; it must not wait for anybody."""
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: pytest.fail("it was served"))
    run = run_command_here("review", *words)
    assert run.code == 2, run.err
    assert "Open http" not in run.err
    assert "mistake in disambig" not in run.err
    return run.err


def test_a_table_that_was_not_cleaned_is_refused(made, monkeypatch):
    assert "The table has not been cleaned yet" in refusal(monkeypatch, made / "table.csv")
    assert "nothing.csv" in refusal(monkeypatch, made / "nothing.csv")


def test_a_file_of_something_else_is_not_taken_for_decisions(made, tmp_path, monkeypatch):
    for name, message in (("notes.jsonl", "Got 'my notes'"), ("notes.csv", "ends in .jsonl")):
        notes = tmp_path / name
        notes.write_text("my notes")
        assert message in refusal(monkeypatch, made / "clean.csv", f"--decisions={notes}")
        assert notes.read_text() == "my notes"


def test_options_that_cannot_be_are_refused_before_anybody_waits(made, tmp_path, monkeypatch):
    clean = made / "clean.csv"
    assert "'weight'" in refusal(monkeypatch, clean, "--show=weight")
    assert "'label', which holds candidate labels" in refusal(monkeypatch, clean, "--show=label")
    both = refusal(monkeypatch, clean, "--conflicts", f"--queue={tmp_path / 'q.jsonl'}")
    assert "Leave one of them out" in both
    queue = tmp_path / "q.jsonl"
    queue.write_text("my notes")
    assert "my notes" in refusal(monkeypatch, clean, f"--queue={queue}")
    from_python = tmp_path / "clean.csv"  # without the file that says how it was made
    from_python.write_bytes(clean.read_bytes())
    assert "takes the command that made it" in refusal(monkeypatch, from_python, "--watch")


def test_where_reviewers_agree_there_is_no_conflict_to_settle(made, tmp_path, monkeypatch):
    kept = tmp_path / "kept.jsonl"
    for name in ("Ann", "Ben"):
        review = ReviewProcess(made / "clean.csv", f"--decisions={kept}", f"--reviewer={name}")
        try:
            for row in (1, 2):
                decision = {"row": row, "label": "fox", "before": None}
                assert review.ask("POST", "decisions", decision)[0] == 200
            code, said = review.end(signal.SIGINT)
        finally:
            review.end()
    assert code == 0
    assert "Ann and Ben decided alike in 100 % of 2 rows" in said
    run = run_command_here("review", made / "clean.csv", f"--decisions={kept}", "--conflicts")
    assert (run.code, run.err) == (0, "Reviewers disagree on no row.\n")


def test_names_that_do_not_tell_rows_apart_are_refused(made, monkeypatch):
    assert "Make it unique" in refusal(monkeypatch, made / "clean.csv", "--id=colour")


def test_a_review_without_decisions_says_so_and_leaves_no_file(made, tmp_path, monkeypatch):
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    kept = tmp_path / "kept.jsonl"
    run = run_command_here("review", made / "clean.csv", f"--decisions={kept}")
    assert run.code == 0
    assert "No rows have been settled." in run.err
    assert not kept.exists()
    assert any(map(ADDRESS.match, run.err.splitlines()))
    assert run.out == ""


def test_the_server_listens_on_this_machine_alone(made, monkeypatch):
    import uvicorn

    places = []

    def note(self: uvicorn.Server, sockets: list) -> None:
        places.extend(one.getsockname()[0] for one in sockets)
        assert self.config.access_log is False  # it would show the token

    monkeypatch.setattr(uvicorn.Server, "run", note)
    assert run_command_here("review", made / "clean.csv").code == 0
    assert places == ["127.0.0.1"]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_browser_is_opened_only_if_wanted(made, monkeypatch, wanted):
    import webbrowser

    import uvicorn

    opened: list[str] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    run = run_command_here("review", made / "clean.csv", *["--browser"] * wanted)
    assert run.code == 0
    assert opened == re.findall(r"http://\S+", run.err) * wanted
