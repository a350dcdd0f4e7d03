"""Write a report into a folder: every table in every format, every figure, and a page on top."""

import os
from collections.abc import Iterator
from pathlib import Path

from disambig._core.files import written_atomically
from disambig._version import __version__
from disambig.report.contents import Report
from disambig.report.delimited import to_csv
from disambig.report.latex import to_latex
from disambig.report.markdown import to_markdown

__all__ = ["write_report"]

_FORMATS = {".md": to_markdown, ".tex": to_latex, ".csv": to_csv}


def write_report(
    report: Report, folder: str | os.PathLike[str], *, command: str | None = None
) -> Path:
    """Write tables (Markdown, LaTeX, CSV), figures (PNG, SVG), all scores, and a page with it all.

    Parameters
    ----------
    report : Report
        What to write.
    folder : path
        Made if it is not there; files of the same names are replaced.
    command : str, optional
        What made it, for the page.

    Returns
    -------
    page : Path
        The page.
    """
    from disambig.report.figures.save import save_figure  # with matplotlib, slow to import

    folder = Path(folder)
    for name, table in report.tables.items():
        for suffix, render in _FORMATS.items():
            _write(folder / f"{name}{suffix}", render(table))
    for name, figure in report.figures.items():
        save_figure(figure, folder / name)
    _write(folder / "records.csv", report.scores.to_csv(index=False, float_format="%.6g"))
    page = folder / "report.md"
    _write(page, "\n".join(_page(report, command)))
    return page


def _page(report: Report, command: str | None) -> Iterator[str]:
    study, jobs = report.result.plan.study, report.result.jobs()
    made_by = f"Made by `{command}` with" if command else "Made with"
    yield f"# {study.name}\n"
    if study.about:
        yield f"{study.about.strip()}\n"
    yield (
        f"{made_by} disambig {__version__}; do not edit by hand. Protocol: "
        f"{study.protocol.sentence}. {len(jobs)} jobs, {len(report.result.failed)} failed; "
        "[records.csv](records.csv) has a row for each.\n"
    )
    for line in report.missing:
        yield f"- {line}"
    yield f"\n## What was found\n\n{report.findings}"
    for name in report.figures:
        yield f"![{name.replace('_', ' ')}]({name}.png)\n"
    for table in report.tables.values():
        yield to_markdown(table)
    if report.result.failed:
        yield "## What failed\n"
        for planned, record in report.result.failed:
            error = record.error or {}
            yield (
                f"- {planned.method_title} on {planned.data_title}, seed {planned.job.split.seed}, "
                f"fold {planned.job.split.fold}: {error.get('message')}"
            )


def _write(path: Path, text: str) -> None:
    with written_atomically(path) as temporary:
        temporary.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
