"""What is seen of a study while it runs: the events of a real run, fed into both views."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click import unstyle
from rich.console import Console

from bench.small_studies import diligent, write_table
from disambig.bench import RecordStore, Study, StudyListener, StudyResult, run_study
from disambig.bench.execute import execute
from disambig.bench.plan import PlannedJob, make_plan
from disambig.bench.record import Record
from disambig.cli.study_view import LiveView, PlainLog

Event = tuple[str, tuple[Any, ...]]
VIEWS = [PlainLog, LiveView]
N_JOBS = 4 * 3


class Recorder(StudyListener):
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_start(self, *arguments: Any) -> None:
        self.events.append(("on_start", arguments))

    def on_jobs_start(self, *arguments: Any) -> None:
        self.events.append(("on_jobs_start", arguments))

    def on_job_end(self, *arguments: Any) -> None:
        self.events.append(("on_job_end", arguments))

    def on_wait(self) -> None:
        self.events.append(("on_wait", ()))


@dataclass
class Run:
    """A study that has run, and its events."""

    study: Study
    store: Path
    damaged: Path
    result: StudyResult
    events: list[Event] = field(default_factory=list)

    def until(self, wanted: Callable[[Event], bool], count: int = 1) -> list[Event]:
        """Return the events up to the one that is wanted for the given time."""
        places = [i for i, event in enumerate(self.events) if wanted(event)]
        return self.events[: places[count - 1] + 1]


def is_failure(event: Event) -> bool:
    return event[0] == "on_job_end" and not event[1][1].is_done


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, quick_workers: None) -> Run:
    """Run a study with three jobs done before, one of them damaged, and one job that fails."""
    folder = tmp_path_factory.mktemp("view")
    table = write_table(folder / "odd [b].csv")
    methods = [
        {"name": "plknn", "title": "[red]PLKNN"},
        diligent(fails_without=7, strength=2.0) | {"title": "shy [/b]"},
    ]
    study = Study(
        name="view",
        datasets=[{"path": str(table), "truth": "truth"}],
        methods=methods,
        protocol={"folds": 3},
    )
    store = RecordStore(folder / "records")
    done = [planned for planned in make_plan(study).jobs if "PLKNN" in planned.method_title]
    for planned in done:
        store.write(*execute(planned.dataset, [planned.job])[0])
    damaged = store.path(done[1].job.key)
    damaged.write_text(damaged.read_text("utf-8").replace("accuracy", "agility"), "utf-8")
    recorder = Recorder()
    result = run_study(study, store.folder, jobs=2, listener=recorder)
    return Run(study, store.folder, damaged, result, recorder.events)


def shown(
    kind: type[PlainLog | LiveView], events: list[Event], *, terminal: bool = False
) -> tuple[str, str]:
    """Feed events into a view; return all that it wrote, and the same without control codes."""
    file = StringIO()
    with kind(Console(file=file, force_terminal=terminal, width=120)) as view:
        for name, arguments in events:
            getattr(view, name)(*arguments)
    return file.getvalue(), unstyle(re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", file.getvalue()))


def last_frame(events: list[Event]) -> str:
    """Return what the live view shows after these events."""
    _, text = shown(LiveView, events, terminal=True)
    return text[text.rindex("mean accuracy so far") :]


def bar_of(frame: str) -> tuple[int, int, int, int]:
    """Return the jobs done and all jobs, those running and those failed."""
    found = re.search(r"(\d+)/(\d+) jobs done, (\d+) running(?:, (\d+) failed)?", frame)
    assert found, frame
    return tuple(int(number or 0) for number in found.groups())  # type: ignore[return-value]


# Both views --------------------------------------------------------------------------------------


def test_the_run_has_all_that_is_looked_for(run: Run) -> None:
    _, (plan, done, damaged) = run.events[0]
    assert len(plan.jobs) == N_JOBS
    assert len(done) == 2
    assert len(damaged) == 1
    assert sum(is_failure(event) for event in run.events) == 1


@pytest.mark.parametrize("kind", VIEWS)
def test_jobs_done_before_are_counted(kind: type[PlainLog], run: Run) -> None:
    _, text = shown(kind, run.events, terminal=kind is LiveView)
    assert text.count(f"2 of {N_JOBS} jobs were done before.") == 1


@pytest.mark.parametrize("kind", VIEWS)
def test_nothing_is_said_of_jobs_before_where_there_are_none(
    kind: type[PlainLog], run: Run
) -> None:
    plan = run.result.plan
    _, text = shown(kind, [("on_start", (plan, {}, []))], terminal=kind is LiveView)
    assert "before" not in text
    assert "damaged" not in text


@pytest.mark.parametrize("kind", VIEWS)
def test_a_damaged_record_is_reported_with_its_file(kind: type[PlainLog], run: Run) -> None:
    _, text = shown(kind, run.events[:1], terminal=kind is LiveView)
    assert (
        f"{run.damaged} is damaged. Its content does not fit its seal. Its job is run again."
        in text
    )


@pytest.mark.parametrize("kind", VIEWS)
def test_a_failure_is_reported_at_once_with_all_that_is_known_and_signs_as_they_are(
    kind: type[PlainLog], run: Run
) -> None:
    ((planned, _),) = run.result.failed
    until_then = run.until(is_failure)
    _, before = shown(kind, until_then[:-1], terminal=kind is LiveView)
    _, after = shown(kind, until_then, terminal=kind is LiveView)
    line = (
        f"Failed: shy [/b] on odd [b], seed 0, fold {planned.job.split.fold}: "
        "ArithmeticError: row 7 is not there"
    )
    assert line not in before
    assert after.count(line) == 1


def test_a_message_is_shown_as_it_is_without_control_characters(run: Run) -> None:
    ((planned, record),) = run.result.failed
    odd = replace(record, error={"type": "Oops", "message": "[bold]no[/bold] [/x] \\[y]\x1b]0;"})
    for kind in VIEWS:
        events = [run.events[0], ("on_job_end", (planned, odd))]
        _, text = shown(kind, events, terminal=kind is LiveView)
        assert "Oops: [bold]no[/bold] [/x] \\[y]\\x1b]0;" in text


# The plain log -----------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time, which stands still until it is set."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


class Log:
    """A plain log, and the lines it has written."""

    def __init__(self) -> None:
        self.file = StringIO()
        self.view = PlainLog(Console(file=self.file, width=40))

    def lines(self) -> list[str]:
        """Return what was written since it was last asked for."""
        text = self.file.getvalue()
        self.file.seek(0)
        self.file.truncate()
        return text.splitlines()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_log_has_no_control_codes(run: Run, terminal: bool) -> None:
    raw, _ = shown(PlainLog, run.events, terminal=terminal)
    assert raw.isprintable() or set(re.findall(r"[^\x20-\x7e]", raw)) == {"\n"}


def test_the_log_has_a_line_every_ten_seconds_and_no_more(run: Run, clock: list[float]) -> None:
    log = Log()
    log.view.on_start(run.result.plan, {}, [])
    for seconds, expected in ((0, 0), (9.9, 0), (10, 1), (10.1, 0), (19.9, 0), (20, 1), (75, 1)):
        clock[0] = 1000.0 + seconds
        log.view.on_wait()
        assert len(log.lines()) == expected, seconds


def with_cost(record: Record, seconds: float) -> Record:
    return replace(record, seconds={"fit": seconds - 0.5, "predict": 0.5})


def by_method(run: Run) -> dict[str, list[tuple[PlannedJob, Record]]]:
    found: dict[str, list[tuple[PlannedJob, Record]]] = {}
    for planned, record in run.result.jobs():
        found.setdefault(planned.method_title, []).append((planned, record))
    return found


def test_a_line_counts_jobs_done_running_and_failed_and_says_how_long_it_takes(
    run: Run, clock: list[float]
) -> None:
    log, jobs = Log(), by_method(run)
    first, second, third = jobs["[red]PLKNN"]
    log.view.on_start(run.result.plan, {first[0].job.key: with_cost(first[1], 2.0)}, [])
    log.lines()

    def line_after(seconds: float) -> str:
        clock[0] += seconds
        log.view.on_wait()
        (line,) = log.lines()
        return line

    log.view.on_jobs_start([second[0], third[0]])
    assert line_after(10) == "1 of 12 jobs done, 2 running"
    log.view.on_job_end(second[0], with_cost(second[1], 4.0))
    assert line_after(10) == "2 of 12 jobs done, 1 running"
    ((failed, record),) = run.result.failed
    log.view.on_jobs_start([failed])
    log.view.on_job_end(failed, record)
    log.lines()
    # Two methods have not been met.
    assert line_after(10) == "3 of 12 jobs done, 1 running, 1 failed"
    ended = {first[0].job.key, second[0].job.key, failed.job.key}
    for title in ("LR on a random candidate", "LR on true labels"):
        planned, own_record = jobs[title][0]
        log.view.on_job_end(planned, with_cost(own_record, 2.0))
        ended.add(planned.job.key)
    # Work of 8 s took 40 s. Of the method that failed, whose cost is unknown, two jobs are left,
    # as costly as others on average, 2.5 s; one of PLKNN, 3 s; four of 2 s: 16 s of work.
    assert line_after(10) == "5 of 12 jobs done, 1 running, 1 failed, about 80 s left"
    for pairs in jobs.values():
        for planned, own_record in pairs:
            if planned.job.key not in ended:
                log.view.on_job_end(planned, with_cost(own_record, 2.0))
    assert line_after(10) == "12 of 12 jobs done, 0 running, 1 failed"


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (1.0, "about 10 s left"),
        (8.9, "about 89 s left"),
        (9.0, "about 2 min left"),
        (60.0, "about 10 min left"),
        (540.0, "about 1.5 h left"),
        (3600.0, "about 10.0 h left"),
    ],
)
def test_time_left_is_reported_in_seconds_minutes_or_hours(
    cost: float, text: str, run: Run, clock: list[float]
) -> None:
    log, jobs = Log(), by_method(run)
    pairs = jobs["[red]PLKNN"] + jobs["LR on true labels"]
    done = {planned.job.key: record for pairs in jobs.values() for planned, record in pairs}
    pending, last = pairs[-1], pairs[0]
    del done[pending[0].job.key], done[last[0].job.key]
    log.view.on_start(
        run.result.plan, {key: replace(one, seconds={"fit": cost}) for key, one in done.items()}, []
    )
    log.lines()
    log.view.on_job_end(last[0], replace(last[1], seconds={"fit": 1.0}))
    clock[0] += 10
    log.view.on_wait()
    (line,) = log.lines()
    assert line == f"11 of 12 jobs done, 0 running, {text}"


# The live view -----------------------------------------------------------------------------------


def test_the_live_view_counts_jobs_done_running_and_failed_after_every_event(run: Run) -> None:
    done, running, failed = 2, 0, 0
    for i, (name, arguments) in enumerate(run.events):
        if name == "on_wait":
            continue
        if name == "on_jobs_start":
            running += len(arguments[0])
            continue  # seen with the next event
        if name == "on_job_end":
            done, running = done + 1, running - 1
            failed += is_failure((name, arguments))
        assert bar_of(last_frame(run.events[: i + 1])) == (done, N_JOBS, running, failed)
    assert (done, running, failed) == (N_JOBS, 0, 1)


def test_what_runs_is_seen_while_time_passes(run: Run) -> None:
    started = next(event for event in run.events if event[0] == "on_jobs_start")
    events = [run.events[0], started, ("on_wait", ())]
    assert bar_of(last_frame(events)) == (2, N_JOBS, len(started[1][0]), 0)


def words_of(frame: str, start: str) -> list[str]:
    """Return the words of the line of a frame that begins with a text, without bars."""
    (line,) = [line for line in frame.splitlines() if line.strip(" │┃|").startswith(start)]
    return re.sub("[│┃|]", " ", line).split()


def test_the_live_view_has_a_row_for_the_data_and_mean_accuracies_that_fill(run: Run) -> None:
    first, final = last_frame(run.events[:1]), last_frame(run.events)
    titles = "data [red]PLKNN shy [/b] LR on a random candidate LR on true labels"
    assert words_of(first, "data") == words_of(final, "data") == titles.split()

    def mean(records: list[tuple[PlannedJob, Record]]) -> str:
        scores = [record.metrics["accuracy"] for _, record in records if record.is_done]
        return f"{np.mean(scores):.3f}"

    jobs = by_method(run)
    before = [pair for pair in jobs["[red]PLKNN"] if pair[0].job.key in run.events[0][1][1]]
    assert len(before) == 2
    assert words_of(first, "odd") == ["odd", "[b]", mean(before)]
    assert words_of(final, "odd") == ["odd", "[b]", *(mean(pairs) for pairs in jobs.values())]


def test_the_live_view_says_how_long_it_takes_once_every_method_was_met(run: Run) -> None:
    events = [run.events[0]]
    before = run.events[0][1][1]
    met = {run.result.plan.by_key[key].method_title for key in before}
    for planned, record in run.result.jobs():
        if planned.method_title not in met:
            assert "left" not in last_frame(events)
            met.add(planned.method_title)
            events.append(("on_job_end", (planned, with_cost(record, 1.0))))
    assert re.search(r"running.*, about \d+ s left", last_frame(events))
    assert "left" not in last_frame(run.events)


def test_before_a_tenth_is_done_nothing_is_said_of_the_time_left(
    run: Run, clock: list[float]
) -> None:
    log = Log()
    by_key = run.result.plan.by_key
    others = {f"{key} {n}": job for key, job in by_key.items() for n in range(9)}
    log.view.on_start(SimpleNamespace(by_key=by_key | others), {}, [])  # type: ignore[arg-type]
    clock[0] += 100
    ended = [(planned, with_cost(record, 1.0)) for planned, record in run.result.jobs()]
    for planned, record in ended[:-1]:  # of all methods
        log.view.on_job_end(planned, record)
        assert "left" not in log.view._status()
    log.view.on_job_end(*ended[-1])
    assert "left" in log.view._status()


def screen_after(raw: str) -> list[str]:
    """Return what a terminal shows in the end; it knows only the codes that are needed here."""
    lines, row, column = [""], 0, 0
    for code, number, letter, sign in re.findall(r"(\x1b\[(\??[\d;]*)([A-Za-z]))|([^\x1b])", raw):
        if code and letter == "A":
            row -= int(number or 1)
        elif code and (number, letter) == ("2", "K"):
            lines[row] = ""
        elif sign == "\r":
            column = 0
        elif sign == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif sign:
            lines[row] = lines[row][:column].ljust(column) + sign + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines if line.strip()]


def test_the_live_view_leaves_only_what_was_said_behind(run: Run) -> None:
    raw, _ = shown(LiveView, run.events, terminal=True)
    assert "mean accuracy so far" in raw
    damaged, before, failed = screen_after(raw)
    assert damaged.endswith("Its job is run again.")
    assert before == f"2 of {N_JOBS} jobs were done before."
    assert failed.startswith("Failed: shy [/b] on odd [b], ")


def test_a_live_view_listens_to_a_run(run: Run) -> None:
    file = StringIO()
    with LiveView(Console(file=file, force_terminal=True, width=120)) as view:
        result = run_study(run.study, run.store, listener=view)
    text = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", file.getvalue())
    assert len(result.failed) == 1
    assert f"{N_JOBS - 1} of {N_JOBS} jobs were done before." in text
    assert text.count("ArithmeticError: row 7 is not there") == 1
    assert bar_of(text[text.rindex("mean accuracy so far") :]) == (N_JOBS, N_JOBS, 0, 1)
