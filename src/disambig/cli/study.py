"""disambig study, and how a study runs in a terminal."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from disambig._core.errors import StudyError
from disambig.cli.console import print_table

if TYPE_CHECKING:
    from disambig.bench.settings import Study
    from disambig.bench.study_results import StudyResult
    from disambig.bench.tables import Published

__all__ = ["STORE", "Address", "Backend", "Jobs", "Out", "Store", "run_and_report", "study"]


Jobs = Annotated[int, typer.Option(min=1, help="Processes on this machine, one thread each.")]
Backend = Annotated[
    str, typer.Option(help="Where jobs run: local, dask or ray. The last two are extras.")
]
Address = Annotated[
    str | None, typer.Option(help="Of the Dask or Ray cluster, such as tcp://HOST:8786.")
]
Store = Annotated[Path, typer.Option(help="Folder of the records; what has one is not run again.")]
STORE = Path("out/records")
Out = Annotated[Path, typer.Option(help="Tables and figures go into OUT/NAME.")]


def run_and_report(
    study: "Study",
    command: str,
    *,
    jobs: int,
    backend: str,
    address: str | None,
    store: Path,
    out: Path,
    published: "Published | None" = None,
    missing: tuple[str, ...] = (),
) -> None:
    """Run what is not done, write the report, print what matters; exit 1 if a job failed."""
    from rich.markdown import Markdown  # keeps --help quick

    from disambig.bench.formats import list_markdown
    from disambig.bench.report import NO_FIGURES, can_draw_figures, make_report, write_report
    from disambig.web.study_report import study_page

    folder = out / study.name
    _check_folder(folder, store)  # before hours of work, not after them
    console = Console()
    if study.about:
        console.print(f"{study.name}: {study.about.strip()}\n", markup=False, highlight=False)
    for line in missing:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    result = _run(study, console, jobs=jobs, backend=backend, address=address, store=store)
    if any(record.is_done for _, record in result.jobs()):
        report = make_report(result, published=published, missing=missing)
        html = study_page(report, command=command)
        page = write_report(report, folder, command=command, html=html)
        for i, (name, table) in enumerate(report.tables.items()):
            if i == 0 or name == "published":
                print_table(table, console)
        console.print(Markdown(list_markdown(report.findings)))
        console.print(
            f"\nThe whole report, with tables and figures: {page}, and for a browser "
            f"{page.with_suffix('.html')}",
            soft_wrap=True,
            markup=False,
        )
        if not can_draw_figures():
            console.print(NO_FIGURES, soft_wrap=True, markup=False)
    if result.failed:
        console.print(
            f"{len(result.failed)} of {len(result.plan.jobs)} jobs failed. Their records in "
            f"{store} say how; the same command tries them again.",
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(1)


def _check_folder(folder: Path, store: Path) -> None:
    if folder.resolve() == store.resolve():
        raise StudyError(
            f"Results and records need folders of their own. Got {folder} for both. Choose another "
            "by --out or --store, or another name for the study."
        )
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise StudyError(
            f"Results need a folder that can be written to. Got {folder}, and {nearest} is none. "
            "Choose another by --out."
        )


def _run(
    study: "Study",
    console: Console,
    *,
    jobs: int,
    backend: str,
    address: str | None,
    store: Path,
) -> "StudyResult":
    from disambig.bench.runner import run_study
    from disambig.cli.study_view import LiveView, PlainLog

    try:
        with LiveView(console) if console.is_terminal else PlainLog(console) as view:
            return run_study(
                study, store, jobs=jobs, backend=backend, address=address, listener=view
            )
    except KeyboardInterrupt:
        console.print(
            "Interrupted. What was done is kept; the same command goes on from there.", markup=False
        )
        raise typer.Exit(130) from None


def study(
    file: Annotated[Path, typer.Argument(help="A TOML file; docs/studies.md says what goes in.")],
    jobs: Jobs = 1,
    backend: Backend = "local",
    address: Address = None,
    store: Store = STORE,
    out: Out = Path("out"),
) -> None:
    """Run the study that a file describes, or what is left of it, and report.

    Example: disambig study my-study.toml --jobs 4
    """
    from disambig.bench.settings import Study  # keeps --help quick

    run_and_report(
        Study.from_toml(file),
        f"disambig study {file.name}",
        jobs=jobs,
        backend=backend,
        address=address,
        store=store,
        out=out,
    )
