"""``disambig study`` runs the study in a file, reports, and says how it went."""

import importlib.util
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import Result
from joblib.externals.loky import ProcessPoolExecutor

from bench.in_process import InThisProcess
from bench.small_studies import fits_in, metrics_of, write_table
from bench.study_methods import LOG_VARIABLE
from disambig._core.errors import DisambigError
from disambig.bench import RecordStore, Study, StudyResult, backends
from disambig.bench.backends import BACKENDS
from disambig.bench.execute import execute
from disambig.bench.plan import make_plan
from disambig.bench.record import Job
from disambig.cli import study_view
from disambig.cli.main import main
from processes import PROCESSES
from waiting import PATIENCE, open_gate, wait_until

Invoke = Callable[..., Result]
End = tuple[int, str, str]

STUDY = """
name = "tiny"
about = "What [b]readers[/b] should know."
methods = ["plknn", "sure"]

[[datasets]]
name = "glass"
corruption = { p = [0.3, 0.6], r = 1 }

[protocol]
folds = 2
"""

GOOD = 'name = "a"\nmethods = ["plknn"]\ndatasets = ["glass"]\n'

OWN_STUDY = """
name = "own"
methods = ["plknn", { name = "my_methods:Shy", title = "Shy [b]" }]

[[datasets]]
path = "../data/mine [b].csv"
truth = "truth"

[protocol]
folds = 3
"""

# The first feature of the table is the number of the row.
OWN_METHODS = """
from disambig.methods import PLKNN

class Shy(PLKNN):
    def _fit(self, X, candidates):
        if 7 not in X[:, 0]:
            raise ArithmeticError("I miss [7]")
        return super()._fit(X, candidates)
"""

# The second method waits, so that the study cannot end before it is interrupted.
WAITING_STUDY = """
name = "waiting"
datasets = [{ path = "small.csv", truth = "truth" }]
methods = ["plknn", { name = "bench.study_methods:Diligent", parameters = { gate = "gate" } }]

[protocol]
folds = 3
"""


def with_path(folder: Path) -> str:
    """Return a search path for Python with one more folder."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def dying_worker(count: int) -> ProcessPoolExecutor:
    """Return a worker that dies before its first job."""
    return ProcessPoolExecutor(
        max_workers=count, context=PROCESSES, initializer=os._exit, initargs=(3,)
    )


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def times_of(store: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in store.glob("*.[jn][sp]*")}


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., End]:
    """Return what runs the command as it is installed, for its exit code and messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")

    def run(*arguments: str) -> End:
        monkeypatch.setattr(sys, "argv", ["disambig", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out, shown.err

    return run


@pytest.fixture(autouse=True, scope="module")
def no_progress_lines() -> Iterator[None]:
    """However long a study takes, no line on its progress is due: what is printed is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_view, "_SECONDS_BETWEEN_LINES", math.inf)
        yield


pytestmark = pytest.mark.usefixtures("quick_workers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    (folder / "tiny.toml").write_text(STUDY, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def arguments(folder: Path) -> list[str]:
    names = ["tiny.toml", "records", "out"]
    file, store, out = (str(folder / name) for name in names)
    return ["study", file, "--store", store, "--out", out, "--jobs", "2"]


@pytest.fixture(scope="module")
def finished(invoke: Invoke, arguments: list[str], quick_workers: None) -> Result:
    """Return how a study went, run for all tests that look at it."""
    return invoke(*arguments)


# It runs and reports -----------------------------------------------------------------------------


def test_a_study_ends_well_and_prints_what_was_found(finished: Result, folder: Path) -> None:
    assert finished.exit_code == 0
    lines = finished.stdout.splitlines()
    assert lines[0] == "tiny: What [b]readers[/b] should know."
    assert any(re.search(r"glass, p=0\.\d.*\d\.\d{3}", line) for line in lines)
    page = folder / "out" / "tiny" / "report.html"
    *sentences, nothing, where, its_folder, what, last = lines[-8:]
    assert [line.partition(" ")[0] for line in sentences] == ["Mean", "PLKNN", "For"]
    assert nothing == ""
    assert [where, its_folder] == ["All tables, tests and figures are in", str(page.parent)]
    assert [what, last] == ["Open this page in a browser:", str(page)]
    assert page.is_file()


def test_every_file_of_the_report_is_there(finished: Result, folder: Path) -> None:
    expected = {"jobs.csv", "report.md", "report.html", "study.json"}
    expected |= {"accuracy_curves.png", "accuracy_curves.svg"}
    for table in ("accuracy", "accuracy_tests", "accuracy_wins"):
        expected |= {f"{table}.{suffix}" for suffix in ("md", "tex", "csv")}
    assert set(content_of(folder / "out" / "tiny")) == expected


def test_every_job_has_a_row_and_a_record(finished: Result, folder: Path) -> None:
    header, *rows = (folder / "out" / "tiny" / "jobs.csv").read_text("utf-8").splitlines()
    keys = {row.split(",")[-1] for row in rows}
    assert header.split(",")[-1] == "key"
    assert len(keys) == len(rows) == 4 * 2 * 2
    store = RecordStore(folder / "records")
    assert all(store.read(key).is_done for key in keys)  # type: ignore[union-attr]


def test_what_is_printed_is_plain_text_without_a_terminal(finished: Result) -> None:
    assert re.search(r"[^\n\x20-\x7e±•◦─-╿]", finished.stdout) is None
    assert "running" not in finished.stdout


def test_the_page_names_the_command_and_the_protocol(finished: Result, folder: Path) -> None:
    page = (folder / "out" / "tiny" / "report.md").read_text("utf-8")
    assert "Made by `disambig study tiny.toml`" in page
    assert "Protocol: 2 folds, seed 0. 16 jobs, 0 failed" in page


def test_the_same_command_again_runs_nothing_and_writes_the_same(
    finished: Result, folder: Path, arguments: list[str], invoke: Invoke
) -> None:
    times, files = times_of(folder / "records"), content_of(folder / "out" / "tiny")
    assert len(times) == 2 * 16
    again = invoke(*arguments[:-1], "1")
    assert again.exit_code == 0
    assert "16 of 16 jobs were done before." in again.stdout
    notice = "16 of 16 jobs were done before.\n"
    assert again.stdout.replace(notice, "") == finished.stdout
    assert times_of(folder / "records") == times
    assert content_of(folder / "out" / "tiny") == files


def test_results_of_other_code_are_run_again_with_a_word_why(
    finished: Result,
    folder: Path,
    command: Callable[..., End],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = shutil.copytree(folder / "records", tmp_path / "records")
    find_code = Job.find_code

    def find_other_code(job: Job) -> dict[str, str]:
        other = {"disambig.solvers.neighbors": "0"} if job.method == "plknn" else {}
        return {**find_code(job), **other}

    monkeypatch.setattr(Job, "find_code", find_other_code)
    monkeypatch.setitem(BACKENDS, "local", lambda jobs, address: nullcontext(InThisProcess()))
    code, shown, _ = command("study", str(folder / "tiny.toml"), "--store", str(store))
    assert code == 0
    assert shown.splitlines()[2:4] == [
        "4 of 16 jobs (PLKNN) were recorded with other code: disambig.solvers.neighbors changed. "
        "They are run again; the old records stay in the store.",
        "12 of 16 jobs were done before.",
    ]
    assert len(list(store.glob("*.json"))) == 20


def test_a_terminal_has_the_live_view(
    finished: Result, arguments: list[str], invoke: Invoke
) -> None:
    again = invoke(*arguments, FORCE_COLOR="1")
    assert again.exit_code == 0
    assert "mean accuracy so far" in again.stdout
    assert "mean accuracy so far" not in finished.stdout


def test_without_a_terminal_lines_say_how_far_it_is(
    command: Callable[..., End], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_view, "_SECONDS_BETWEEN_LINES", 0)
    (tmp_path / "s.toml").write_text(GOOD + "protocol.folds = 2", encoding="utf-8")
    code, out, error = command("study", "s.toml")
    assert code == 0
    assert error.splitlines()[-1] == "  disambig report out/a --out a.html"
    done = re.findall(r"^(\d) of 6 jobs done, \d running", out, flags=re.MULTILINE)
    assert len(done) >= 6
    assert done == sorted(done)
    # By default, all goes below the folder that one is in.
    assert out.splitlines()[-1].endswith(str(Path("out/a/report.html")))
    assert (tmp_path / "out" / "a" / "accuracy_dots.png").is_file()
    assert len(list((tmp_path / "out" / "records").glob("*.json"))) == 6


# Jobs that fail ----------------------------------------------------------------------------------


def test_a_job_that_fails_is_reported_at_once_and_in_the_report_and_the_others_are_there(
    command: Callable[..., End], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(tmp_path / "data" / "mine [b].csv")
    (tmp_path / "code").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "code")
    (tmp_path / "code" / "my_methods.py").write_text(OWN_METHODS, encoding="utf-8")
    file = tmp_path / "studies" / "own.toml"
    file.parent.mkdir()
    file.write_text(OWN_STUDY, encoding="utf-8")
    store, out = tmp_path / "records", tmp_path / "out"

    code, shown, error = command(
        "study", str(file), "--store", str(store), "--out", str(out), "--jobs", "2"
    )
    assert (code, error) == (1, "")
    (failed,) = re.findall(r"^Failed: (.*)$", shown, flags=re.MULTILINE)
    assert re.fullmatch(
        r"Shy \[b\] on mine \[b\], seed 0, fold \d: ArithmeticError: I miss \[7\]", failed
    )
    assert "1 of 12 jobs failed." in shown.splitlines()[-1]
    assert f"records in {store} say why" in shown.splitlines()[-1]
    assert re.search(r"mine \[b\]\W+0\.\d{3} ± 0\.\d{3}.* \(2 of 3\)", shown)

    page = (out / "own" / "report.md").read_text("utf-8")
    assert "12 jobs, 1 failed" in page
    assert "I miss" in page.partition("## What failed")[2]
    rows = (out / "own" / "accuracy.csv").read_text("utf-8").splitlines()
    assert rows[0] == "data,PLKNN,Shy [b],LR on a random candidate,LR on true labels"
    assert re.fullmatch(r"mine \[b\](,0\.\d{3} ± 0\.\d{3}[^,]*){4}", rows[1])


def test_where_every_job_fails_there_is_no_report_and_the_command_fails(
    command: Callable[..., End], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine on which no worker lives long enough to do anything.
    monkeypatch.setattr(backends, "start_processes", dying_worker)
    (tmp_path / "s.toml").write_text(
        'name = "lost"\ndatasets = ["glass"]\nmethods = ["plknn"]\nprotocol.folds = 2',
        encoding="utf-8",
    )
    code, shown, error = command("study", "s.toml", "--jobs", "2")
    assert code == 1
    assert "Traceback" not in error
    assert shown.count("Failed: ") == 6
    assert "6 of 6 jobs failed." in shown.splitlines()[-1]
    assert list((tmp_path / "out").rglob("report.md")) == []


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "[protocol]\nfold = 3", r"protocol\.fold: there is no such setting"),
        (GOOD + "[protocol]\nfolds = 1", r"protocol\.folds: .*greater than or equal to 2"),
        (GOOD.replace("plknn", "plkn"), r"methods\[0\].*'plkn'\. Did you mean 'plknn'\?"),
        (GOOD.replace("glass", "glas"), r"datasets\[0\].*'glas'\. Did you mean 'glass'\?"),
        (GOOD.replace('["glass"]', '[{ path = "gone.csv" }]'), r"datasets\[0\].*gone\.csv"),
        (GOOD + 'metrics = ["speed"]', r"metrics\[0\]: "),
        (GOOD + 'reference = "SURE"', "'reference' must be one of PLKNN"),
        (GOOD.replace('name = "a"\n', ""), "name: is missing"),
        (GOOD.replace('"a"', '"../a"'), "name: "),
        (GOOD + "folds = = 3", "is not TOML: .*line 4"),
    ],
)
def test_a_wrong_study_is_refused_by_the_key_before_anything_runs(
    text: str, message: str, command: Callable[..., End], tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    code, out, error = command("study", "s.toml")
    assert (code, out) == (2, "")
    assert error.startswith("disambig: ")
    assert re.search(message, error)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["s.toml"]


@pytest.mark.parametrize("name", ["gone.toml", "."])
def test_a_file_that_cannot_be_read_is_bad_input(name: str, command: Callable[..., End]) -> None:
    code, out, error = command("study", name)
    assert (code, out) == (2, "")
    assert re.match(r"disambig: (There is no file gone\.toml|\. does not describe a study)", error)


def test_data_without_true_labels_is_refused_with_what_to_do(
    command: Callable[..., End], tmp_path: Path
) -> None:
    write_table(tmp_path / "small.csv")
    text = GOOD.replace('["glass"]', '[{ path = "small.csv", labels = "label" }]')
    rows = [line.rpartition(",")[0] for line in (tmp_path / "small.csv").read_text().splitlines()]
    (tmp_path / "small.csv").write_text("\n".join(rows))
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    code, _, error = command("study", "s.toml")
    assert code == 2
    assert "datasets[0]: Evaluation needs true labels, and small has none." in error


def test_an_unknown_backend_is_bad_input(command: Callable[..., End], tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(GOOD, encoding="utf-8")
    code, _, error = command("study", "s.toml", "--backend", "nonsense")
    assert code == 2
    assert (
        "'backend' must be one of 'local', 'dask', 'ray', 'slurm'. Got 'nonsense' instead." in error
    )


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="ray is installed")
def test_a_backend_that_is_not_installed_is_met_with_how_to_install_it(
    command: Callable[..., End], tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(GOOD, encoding="utf-8")
    code, _, error = command("study", "s.toml", "--backend", "ray")
    assert code == 2
    assert error.rstrip().endswith("Install it: pip install 'disambig[ray]'.")


def test_an_address_without_a_cluster_is_bad_input(
    command: Callable[..., End], tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(GOOD, encoding="utf-8")
    code, _, error = command("study", "s.toml", "--address", "tcp://10.0.0.1:8786")
    assert code == 2
    assert "the backend is 'local'. Got 'tcp://10.0.0.1:8786'" in error


def test_no_processes_at_all_are_bad_input(command: Callable[..., End], tmp_path: Path) -> None:
    code, _, error = command("study", "s.toml", "--jobs", "0")
    assert code == 2
    assert "Invalid value for '--jobs'" in error


@pytest.mark.parametrize(
    "option",
    ["--store", "--out"],
)
def test_a_folder_that_is_a_file_is_bad_input(
    option: str, folder: Path, finished: Result, command: Callable[..., End], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    options = {"--store": str(folder / "records"), "--out": "out"} | {option: "file"}
    words = [word for pair in options.items() for word in pair]
    code, _, error = command("study", str(folder / "tiny.toml"), *words)
    assert code == 2
    assert "file" in error


def test_results_and_records_do_not_share_a_folder(
    folder: Path, finished: Result, command: Callable[..., End]
) -> None:
    words = ("--out", str(folder), "--store", str(folder / "tiny"))
    code, _, error = command("study", str(folder / "tiny.toml"), *words)
    assert code == 2
    assert "Results and records need two folders." in error


# Interruption ------------------------------------------------------------------------------------


def test_an_interrupted_study_says_so_and_goes_on_where_it_was(
    tmp_path: Path, command: Callable[..., End]
) -> None:
    write_table(tmp_path / "small.csv")
    file, store, log = tmp_path / "waiting.toml", tmp_path / "records", tmp_path / "log"
    file.write_text(WAITING_STUDY, encoding="utf-8")
    arguments = ["study", str(file), "--store", str(store), "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        [sys.executable, "-m", "disambig", *arguments],
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": with_path(Path(__file__).parents[1]), LOG_VARIABLE: str(log)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A suite that a shell has put into the background would hand down that it is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        start_new_session=True,
    ) as process:
        try:
            wait_until(lambda: len(fits_in(log)) == 1)
            os.killpg(process.pid, signal.SIGINT)  # workers too, as a terminal does
            out, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    said = [line for line in out.splitlines() if " jobs done, " not in line]
    assert said == ["Interrupted. Finished jobs are kept; the same command continues from there."]
    assert error == ""
    assert list((tmp_path / "out").rglob("report.md")) == []
    before = times_of(store)
    assert len(list(store.glob("[!.]*.json"))) == 3

    open_gate(tmp_path / "gate")
    code, out, _ = command(*arguments)
    assert code == 0
    assert re.search(r"^3 of 12 jobs were done before\.$", out, flags=re.MULTILINE)
    assert before.items() <= times_of(store).items()
    assert (tmp_path / "out" / "waiting" / "report.md").is_file()

    plan = make_plan(Study.from_toml(file))
    outcomes = [execute(planned.dataset, [planned.job]) for planned in plan.jobs]
    whole = StudyResult(plan, {record.key: record for ((record, _),) in outcomes})
    assert whole.failed == []
    kept = {key: RecordStore(store).read(key) for key in whole.records}
    assert metrics_of(StudyResult(plan, kept)) == metrics_of(whole)


def test_errors_of_ours_are_errors_of_the_package(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("study", str(tmp_path / "gone.toml"))
    assert isinstance(result.exception, DisambigError)
