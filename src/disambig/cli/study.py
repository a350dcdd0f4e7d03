"""disambig study, and how a study runs in a terminal."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disambig._core.errors import StudyError
from disambig.cli.console import Terminal, path_word, print_table, say, say_next, say_path
from disambig.cli.option_groups import with_option_groups
from disambig.cli.options import ExcelSafe

if TYPE_CHECKING:
    from disambig.bench.settings import Study
    from disambig.bench.study_results import StudyResult
    from disambig.bench.tables import Published

STORE = Path("out/records")
# Of a table of scores in a terminal.
_MOST_ROWS = 20
Store = Annotated[
    Path,
    typer.Option(help="Folder of records; a job with a record is not run again.", metavar="FOLDER"),
]
MaxJobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Refuse a study of more jobs than this before running any. [default: 100000]",
        metavar="COUNT",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a study is run, and where its records and results go."""

    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Processes on this machine, or jobs of Slurm, one thread each.",
            metavar="COUNT",
        ),
    ] = 1
    backend: Annotated[
        str,
        typer.Option(
            help="Where jobs run: local, dask, ray or slurm. All but local are extras.",
            metavar="NAME",
        ),
    ] = "local"
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of the Dask or Ray cluster, such as tcp://HOST:8786.", metavar="URL"
        ),
    ] = None
    store: Store = STORE
    max_jobs: MaxJobs = None
    out: Annotated[
        Path,
        typer.Option(
            help="Results go into a folder in FOLDER, named after the study.", metavar="FOLDER"
        ),
    ] = Path("out")
    excel_safe: ExcelSafe = False


def run_and_report(
    study: "Study",
    command: str,
    options: RunOptions,
    *,
    published: "Published | None" = None,
    missing: tuple[str, ...] = (),
) -> None:
    """Run what is not done, write the report, print what matters; exit 1 if a job failed."""
    folder = options.out / study.name
    _check_folder(study, folder, options.store)  # before hours of work, not after them
    console = Terminal()
    if study.about:
        say(f"{study.name}: {study.about.strip()}\n", console)
    for line in missing:
        say(line, console, wrap=False)
    result = _run(study, options, console)
    if any(record.is_done for _, record in result.jobs()):
        _report(result, folder, command, console, options, published=published, missing=missing)
    if result.failed:
        say(
            f"{len(result.failed)} of {len(result.plan.jobs)} jobs failed. Their records in "
            f"{options.store} say why; the same command tries them again.",
            console,
            wrap=False,
        )
        raise typer.Exit(1)
    store = [] if options.store == STORE else ["--store", str(options.store)]
    words = ["report", path_word(folder), *store, "--out", f"{study.name}.html"]
    say_next(("make the page again, without running anything", words))


def _check_folder(study: "Study", folder: Path, store: Path) -> None:
    from disambig.bench.report import check_report_folder  # keeps --help quick

    if folder.resolve() == store.resolve():
        raise StudyError(
            f"Results and records need two folders. Got {folder} for both. Choose another with "
            "--out or --store, or another name for the study."
        )
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise StudyError(
            f"Results need a folder that can be written to. Got {folder}, but {nearest} cannot be "
            "written to. Choose another with --out."
        )
    check_report_folder(study, folder)


def _run(study: "Study", options: RunOptions, console: Terminal) -> "StudyResult":
    from disambig.bench.runner import run_study  # keeps --help quick
    from disambig.cli.study_view import LiveView, PlainLog

    try:
        with LiveView(console) if console.is_terminal else PlainLog(console) as view:
            return run_study(
                study,
                options.store,
                jobs=options.jobs,
                backend=options.backend,
                address=options.address,
                max_jobs=options.max_jobs,
                listener=view,
            )
    except KeyboardInterrupt:
        say("Interrupted. Finished jobs are kept; the same command continues from there.", console)
        raise typer.Exit(130) from None


def _report(
    result: "StudyResult",
    folder: Path,
    command: str,
    console: Terminal,
    options: RunOptions,
    *,
    published: "Published | None",
    missing: tuple[str, ...],
) -> None:
    """Write the report; print its main table, the paper's numbers, three sentences, where it is."""
    # keeps --help quick
    from disambig.bench.conclusions import in_brief
    from disambig.bench.report import NO_FIGURES, can_draw_figures, make_report, write_report
    from disambig.web.study_report import study_page

    report = make_report(result, published=published, missing=missing)
    html = study_page(report, command=command)
    safe = options.excel_safe
    page = write_report(report, folder, command=command, html=html, excel_safe=safe)
    plan = result.plan.study
    metric, tables = plan.metrics[0], report.tables
    # All scores, unless there are so many that nobody would read them here.
    main = metric if len(tables[metric].rows) <= _MOST_ROWS else next(iter(tables))
    for name in (main, "published"):
        if name in tables:
            print_table(tables[name], console, n_notes=1)
    share = plan.protocol.held_out_share
    for sentence in in_brief(report.scores, plan.reference_title, metric, test_share=share):
        say(sentence, console)
    if not can_draw_figures():
        say(NO_FIGURES, console)
    say_path("\nAll tables, tests and figures are in", folder, console)
    say_path("Open this page in a browser:", page.with_suffix(".html"), console)


@with_option_groups
def study(
    file: Annotated[
        Path, typer.Argument(help="A TOML file; docs/studies.md describes it.", metavar="FILE")
    ],
    options: RunOptions,
) -> None:
    """Compare methods on datasets, as a file describes.

    Writes a report. Jobs that were done before are not run again.

    Example: disambig study my-study.toml --jobs 4
    """
    from disambig.bench.settings import Study  # keeps --help quick

    # A method may be in a module beside the file. Last, so that it hides no other module.
    sys.path.append(str(file.absolute().parent))
    run_and_report(Study.from_toml(file), f"disambig study {file.name}", options)
