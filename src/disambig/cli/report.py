"""``disambig report``: a page for the browser, in one file."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from disambig._core.errors import ParameterError, TableError
from disambig.cli.option_groups import option_words, with_option_groups
from disambig.cli.options import FileOptions
from disambig.cli.study import STORE, MaxJobs, Store
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN

IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        help="Column that names the rows in a file of decisions. By default the one given to "
        "'disambig clean'; without one, rows are counted from 1.",
        metavar="COLUMN",
    ),
]
PageRows = Annotated[
    int, typer.Option(min=1, help="Rows on the page, the most doubtful first.", metavar="COUNT")
]


@with_option_groups
def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A table that 'disambig clean' wrote, a model folder, a study (its TOML file), or "
            "the folder with the results of one.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The page to write, one HTML file.", metavar="PAGE")],
    file_options: FileOptions,
    id: IdColumn = None,
    rows: PageRows = DEFAULT_ROWS_SHOWN,
    store: Store = STORE,
    max_jobs: MaxJobs = None,
) -> None:
    """Write a page with charts and tables, one HTML file.

    For a cleaned table: how many labels are right, which of them are in doubt, how many rows to
    look at, and these rows, which can be settled on the page. For a study: tables with
    significance marks, curves, ranks, and how to run it again. The page works offline.

    Example: disambig report vehicles-clean.csv --out vehicles.html

    Example, for a study: disambig report my-study.toml --out my-study.html
    """
    # keeps --help quick
    from disambig._core.files import write_atomically
    from disambig.cli.console import path_word, say, say_next, say_path

    if out.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"--out needs a name that ends in .html. Got {str(out)!r}.")
    if not source.exists():
        raise TableError(f"There is no file or folder {str(source)!r}. Check the path.")
    is_model = source.is_dir() and (source / "model.json").exists()
    answer: tuple[str, ...] = ()
    is_study = not is_model and (source.is_dir() or source.suffix.lower() == ".toml")
    if is_study:
        page = _study_page(source, store, max_jobs)
    else:
        page, answer = _table_page(source, file_options, id, rows, is_model=is_model)
    with write_atomically(out) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace")
    for statement in answer:
        say(statement)
    say_path("Open this page in a browser:", out)
    if not is_model and not is_study:
        given = [path_word(source), *option_words(file_options)]
        given += [] if id is None else ["--id", id]
        say_next(("settle the doubtful rows", ["review", *given]))


def _table_page(
    source: Path,
    options: FileOptions,
    id: str | None,
    rows: int,
    *,
    is_model: bool,
) -> tuple[str, tuple[str, ...]]:
    """Return the page, and what it says first."""
    from disambig.web.table_report import table_answer, table_page

    title, table = source.name, ""
    if is_model:
        from disambig.tabular.cleaned_table import rows_of_model
        from disambig.tabular.table_model import load_model

        cleaned, title = rows_of_model(load_model(source)), f"Model {source.name}"
    else:
        from disambig.cli.table_files import load_cleaned

        cleaned = load_cleaned(source, options, id, on_disk=True)
        table = _cleaned_file(cleaned.provenance.command)
    page = table_page(cleaned, title=title, most_rows=rows, source=table, command=sys.argv[1:])
    return page, tuple(map(str, table_answer(cleaned)))


def _cleaned_file(command: Sequence[str]) -> str:
    """Return the table that a command of 'disambig clean' reads; empty where it does not say."""
    if not command or command[0] != "clean":
        return ""
    from disambig.cli.clean import clean

    reader = typer.Typer()
    # A page without that command is better than an error.
    reader.command(context_settings={"ignore_unknown_options": True})(clean)
    context = typer.main.get_command(reader).make_context(
        "clean", list(command[1:]), resilient_parsing=True
    )
    file = str(context.params.get("file") or "")
    return "" if file.startswith("--") else file


def _study_page(source: Path, store: Path, max_jobs: int | None) -> str:
    from disambig.bench.paper import published_accuracies
    from disambig.bench.report import make_report
    from disambig.bench.reported_study import ReportedStudy, read_study_file
    from disambig.bench.settings import Study
    from disambig.bench.study_results import read_results
    from disambig.cli.console import say_notices
    from disambig.web.study_report import study_page

    if source.is_dir():
        reported = read_study_file(source)
    else:
        reported = ReportedStudy(Study.from_toml(source), f"disambig study {source.name}")
    stored = read_results(reported.study, store, max_jobs=max_jobs)
    say_notices(stored.notices)
    made = make_report(
        stored.result,
        published=published_accuracies() if reported.has_published else None,
        missing=(*reported.missing, *stored.notices),
    )
    return study_page(made, command=reported.command)
