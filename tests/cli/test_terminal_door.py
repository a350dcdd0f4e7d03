"""Nothing in a file or an argument is obeyed by the terminal, or taken for markup."""

import io
import json
import logging
import re
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from rich.live import Live
from rich.table import Table
from rich.text import Text

import disambig
from bench.in_process import InThisProcess
from bench.small_studies import write_table
from cli.command_runs import Run, run_command_here
from disambig.bench.backends import BACKENDS
from disambig.cli.console import Terminal, collected_notices, open_streams, say
from disambig.tabular.audit import table_audit

# A title of the window, colours in seven and in eight bits, a link, other orders, a text that is
# read from right to left, an invisible character, markup of rich.
ORDERS = (
    "\x1b]0;title\x07",
    "\x1b[31;1mred",
    "\x9b2J",
    "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "\x90q\x9c\r\x08\x7f\x0b",
    "\u202eexe.txt\u202c\u2066",
    "a\u200bb\u2060\ufeff",
)
MARKUP = "[red]red[/red] [link=http://evil.example]here[/link] [/x] :smile:"
EVIL = "".join(ORDERS) + MARKUP


def check_clean(text: str) -> None:
    odd = {character for character in text if not character.isprintable()} - {"\n"}
    assert not odd, (odd, text)


def check_run(run: Run) -> None:
    check_clean(run.out)
    check_clean(run.err)
    assert "mistake in disambig" not in run.err


# The door ----------------------------------------------------------------------------------------


def printed(*things, **options):
    stream = io.StringIO()
    Terminal(file=stream, width=300, **options).print(*things)
    return stream.getvalue()


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_is_spelled_out_wherever_it_is_printed(order):
    table = Table(order, title=order, caption=order)
    table.add_column(Text(order))
    table.add_row(order, Text(order))
    for text in (printed(order), printed(Text(f"a{order}")), printed(table)):
        check_clean(text)
        assert text.strip()
    assert "\\x1b" in printed("\x1b]0;title\x07")


def test_markup_is_shown_and_not_obeyed():
    table = Table(MARKUP)
    table.add_row(MARKUP)
    assert printed(MARKUP).strip() == MARKUP
    assert printed(table).count(MARKUP) == 2


def test_in_a_terminal_only_our_own_orders_remain():
    stream = io.StringIO()
    console = Terminal(file=stream, width=300, force_terminal=True, color_system="standard")
    console.print(Text(EVIL, style="bold"))
    with Live(Text(EVIL), console=console, refresh_per_second=1):
        console.print(MARKUP)
    text = stream.getvalue()
    assert "\x1b[1m" in text  # bold
    for order in ("\x1b]", "\x9b", "\x1b[31;1m", "\x90", "\u202e", "\x07"):
        assert order not in text
    assert MARKUP in text


def test_warnings_and_logs_of_libraries_go_through_the_door(capsys, monkeypatch):
    monkeypatch.setattr(logging, "lastResort", None)
    open_streams()
    with collected_notices():
        warnings.simplefilter("always")
        warnings.warn(EVIL, stacklevel=1)
    logging.getLogger("a.library.without.handlers").propagate = False
    logging.getLogger("a.library.without.handlers").warning("%s", EVIL)
    shown = capsys.readouterr()
    check_clean(shown.err)
    assert shown.err.count(MARKUP) == 2


def test_lines_stay_lines(capsys):
    say("one\ntwo\x1b\n\nfour")
    assert capsys.readouterr().err == "one\ntwo\\x1b\n\nfour\n"


ALLOWED = {
    "cli/console.py",
    "methods/ncpd_plus/estimator.py",  # verbose=True, in Python
    "methods/networks/progress.py",  # the same
    "tabular/files/formats.py",  # a table on standard output
    "web/serve.py",  # only in words: how to make a token
}


def test_nothing_else_prints():
    folder = Path(disambig.__file__).parent
    prints = re.compile(r"(?<![.\w`])print\(|sys\.std(out|err)|\bConsole\(|\bs?echo\(")
    example = re.compile(r"^ *(>>>|\.\.\.) .*$", re.M)  # in a docstring
    found = {
        path
        for path in folder.rglob("*.py")
        if prints.search(example.sub("", path.read_text("utf-8")))
    }
    assert {path.relative_to(folder).as_posix() for path in found} == ALLOWED


# Arguments ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        (EVIL,),
        ("study", f"--{EVIL}"),
        ("study", EVIL),
        ("study", "a.toml", "--jobs", EVIL),
        ("reproduce", EVIL),
        ("fetch", EVIL),
        ("audit", f"{EVIL}.csv"),
        ("fit", "small.csv", "--method", EVIL, "--out", "model"),
        ("fit", "small.csv", "--method", "plknn", "--set", f"{EVIL}=1", "--out", "model"),
        ("fit", "small.csv", "--method", "plknn", "--set", f"scaling={EVIL}", "--out", "model"),
        ("fit", "small.csv", "--labels", EVIL, "--out", "model"),
        ("clean", "small.csv", "--ignore", EVIL, "--out", "o.csv"),
        ("clean", "small.csv", "--out", f"o.{EVIL}"),
        ("report", EVIL, "--out", "page.html"),
        ("report", "small.csv", "--out", EVIL),
        ("predict", EVIL, "small.csv", "--out", "o.csv"),
        ("review", EVIL),
    ],
)
def test_arguments_are_not_obeyed(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "small.csv")
    run = run_command_here(*words)
    check_run(run)
    assert run.code == 2
    assert run.err


# Studies -----------------------------------------------------------------------------------------

GOOD = {
    "name": "tiny",
    "methods": [{"name": "plknn", "title": "neighbours"}],
    "datasets": [{"path": "small.csv", "truth": "truth", "title": "small"}],
    "protocol": {"folds": 2},
}


def toml(value):
    """Return a value as TOML in one line, with odd characters spelled out."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


def run_study_here(folder, monkeypatch, **changes):
    monkeypatch.setitem(BACKENDS, "local", lambda jobs, address: nullcontext(InThisProcess()))
    monkeypatch.chdir(folder)
    write_table(folder / "small.csv")
    settings = {**GOOD, **changes}
    lines = (f"{json.dumps(key)} = {toml(value)}" for key, value in settings.items())
    (folder / "study.toml").write_text("\n".join(lines), encoding="utf-8")
    return run_command_here("study", "study.toml")


def method(**changes):
    return [{**GOOD["methods"][0], **changes}]


def dataset(**changes):
    return [{**GOOD["datasets"][0], **changes}]


def test_titles_and_the_text_about_a_study_are_shown_and_not_obeyed(tmp_path, monkeypatch):
    monkeypatch.setattr("disambig.bench.report.can_draw_figures", lambda: False)  # seconds
    run = run_study_here(
        tmp_path,
        monkeypatch,
        about=f"{EVIL}\nsecond line",
        methods=method(title=f"method {EVIL}"),
        datasets=dataset(title=f"data {EVIL}"),
        reference=f"method {EVIL}",
    )
    assert run.code == 0, run
    check_run(run)
    assert "tiny: \\x1b]0;title\\x07\\x1b[31;1mred\\x9b2J" in run.out
    assert run.out.count(MARKUP) > 2
    # And again, from what was written down.
    page = run_command_here("report", "out/tiny", "--out", "page.html", "--store", "out/records")
    check_run(page)
    assert page.code == 0, page


@pytest.mark.parametrize(
    "changes",
    [
        {"name": EVIL},
        {EVIL: 1},
        {"metrics": [EVIL]},
        {"reference": EVIL},
        {"methods": [EVIL]},
        {"methods": [f"{EVIL}:{EVIL}"]},
        {"methods": method(title=EVIL) * 2},
        {"methods": method(parameters={EVIL: 1})},
        {"methods": method(parameters={"scaling": EVIL})},
        {"methods": method(grid={EVIL: [1]})},
        {"methods": method(grid={"scaling": [EVIL]})},
        {"methods": method(**{EVIL: 1})},
        {"datasets": [EVIL]},
        {"datasets": [{"path": EVIL}]},
        {"datasets": [{"path": f"{EVIL}.csv"}]},
        {"datasets": [{"path": "a\0b.csv"}]},
        {"datasets": dataset(labels=EVIL)},
        {"datasets": dataset(truth=EVIL)},
        {"datasets": dataset(title=EVIL) * 2},
        {"datasets": dataset(corruption={"p": EVIL, "r": 1})},
        {"protocol": {"kind": EVIL}},
        {"protocol": {"folds": EVIL}},
        {"protocol": EVIL},
        {"about": [EVIL]},
    ],
)
def test_what_is_wrong_in_a_study_is_quoted_and_not_obeyed(changes, tmp_path, monkeypatch):
    run = run_study_here(tmp_path, monkeypatch, **changes)
    check_run(run)
    assert run.code == 2, run


def test_a_job_that_fails_may_say_what_it_likes(tmp_path, monkeypatch):
    monkeypatch.setattr("disambig.methods.PLKNN._fit", _fail)
    run = run_study_here(tmp_path, monkeypatch)
    check_run(run)
    assert run.code == 1
    assert "ArithmeticError: \\x1b]0;title\\x07" in run.out


def _fail(*_):
    raise ArithmeticError(EVIL)


def test_a_mistake_of_ours_is_shown_without_obeying_it(tmp_path, monkeypatch):
    monkeypatch.setattr(table_audit, "audit_table", _fail)
    write_table(tmp_path / "small.csv")
    for debug in ("", "1"):
        monkeypatch.setenv("DISAMBIG_DEBUG", debug)
        run = run_command_here("audit", tmp_path / "small.csv")
        check_clean(run.err)
        assert run.code == 1
        assert ("Traceback" in run.err) == bool(debug)


# Tables ------------------------------------------------------------------------------------------


def test_columns_and_labels_of_a_table_are_not_obeyed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    one, two = json.dumps(f"one {EVIL}"), json.dumps(f"two {EVIL}")
    rows = [
        {f"x {EVIL}": float(x), "label": [json.loads(one), json.loads(two)][: 1 + i % 2]}
        for i, x in enumerate(rng.normal(size=30))
    ]
    rows += [{f"x {EVIL}": 0.5, "label": [json.loads(two)]}] * 5
    name = "a\u202eb.jsonl"
    text = "\n".join(map(json.dumps, rows))
    (tmp_path / name).write_text(text, encoding="utf-8")
    for words in (
        ("audit", name),
        ("clean", name, "--method", "plknn", "--in-sample", "--out", "o.jsonl"),
        ("fit", name, "--method", "plknn", "--out", "model"),
        ("predict", "model", name, "--out", "p.jsonl"),
        ("report", "o.jsonl", "--out", "page.html"),
        ("audit", name, "--json"),
    ):
        run = run_command_here(*words)
        check_run(run)
        assert run.code == 0, run


def test_a_table_on_standard_output_is_data_and_stays_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "small.csv")
    text = (tmp_path / "small.csv").read_text("utf-8").replace("number", "num\x1b[1mber")
    (tmp_path / "small.csv").write_text(text, "utf-8")
    words = ("clean", "small.csv", "--method", "plknn", "--in-sample", "--ignore", "truth")
    run = run_command_here(*words, "--out", "-")
    assert run.code == 0, run.err
    assert run.out.startswith("num\x1b[1mber,")
    check_clean(run.err)
