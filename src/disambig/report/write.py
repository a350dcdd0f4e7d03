"""Write a report into a folder: every table in every format, every figure, and a page on top."""

import os
from collections.abc import Iterator
from pathlib import Path

from disambig._core.files import written_atomically
from disambig._version import __version__
from disambig.report.contents import Report
from disambig.report.delimited import to_csv
from disambig.report.latex import to_latex
from disambig.report.markdown import as_markdown, list_markdown, to_markdown
from disambig.report.study_file import STUDY_FILE, ReportedStudy, study_file_text

__all__ = ["write_report"]

# Tables with more rows are not on the page, which has a link to them.
_MOST_ROWS = 30
_FOR_BROWSERS = "report.html"
_FORMATS = {".md": to_markdown, ".tex": to_latex, ".csv": to_csv}


def write_report(
    report: Report,
    folder: str | os.PathLike[str],
    *,
    command: str | None = None,
    html: str | None = None,
) -> Path:
    """Write tables (Markdown, LaTeX, CSV), figures (PNG, SVG), all jobs (CSV), and a page on top.

    Beside them goes what it takes to make the report again from the records, ``study.json``.

    Parameters
    ----------
    report : Report
        What to write.
    folder : path
        Made if it is not there; files of the same names are replaced.
    command : str, optional
        What made it, for the page.
    html : str, optional
        The report for a browser, from ``disambig.pages.study_page``; becomes ``report.html``.

    Returns
    -------
    page : Path
        The page, in Markdown.
    """
    from disambig.report.figures.save import save_figure  # with matplotlib, slow to import

    folder = Path(folder)
    for name, table in report.tables.items():
        for suffix, render in _FORMATS.items():
            _write(folder / f"{name}{suffix}", render(table))
    for name, figure in report.figures.items():
        save_figure(figure, folder / name)
    _write(folder / "jobs.csv", report.scores.to_csv(index=False, float_format="%.6g"))
    study = report.result.plan.study
    reported = ReportedStudy(study, command, report.missing, "published" in report.tables)
    _write(folder / STUDY_FILE, study_file_text(reported, folder))
    if html is not None:
        _write(folder / _FOR_BROWSERS, html)
    page = folder / "report.md"
    _write(page, "\n".join(_page(report, command)))
    return page


def _page(report: Report, command: str | None) -> Iterator[str]:
    study, jobs = report.result.plan.study, report.result.jobs()
    made_by = f"Made by `{command}` with" if command else "Made with"
    yield f"# {as_markdown(study.name)}\n"
    if study.about:
        yield f"{study.about.strip()}\n"
    yield (
        f"{made_by} disambig {__version__}; do not edit by hand. Protocol: "
        f"{study.protocol.sentence}. {len(jobs)} jobs, {len(report.result.failed)} failed; "
        "[jobs.csv](jobs.csv) has a row for each.\n"
    )
    if report.missing:
        yield "".join(f"- {line}\n" for line in report.missing)
    yield f"## What was found\n\n{list_markdown(report.findings)}"
    main, *others = report.tables_in_order()
    yield to_markdown(report.tables[main])
    for name in report.figures:
        # Of curves by r and all in one, those by r can be read on a page.
        if not any(other.startswith(f"{name}_r") for other in report.figures):
            yield f"![{name.replace('_', ' ')}]({name}.png)\n"
    for name in others:
        table = report.tables[name]
        if len(table.rows) > _MOST_ROWS:
            yield f"## {as_markdown(table.title)}\n"
            yield f"{len(table.rows)} rows: [{name}.md]({name}.md)\n"
        else:
            yield to_markdown(table)
    if report.result.failed:
        yield "## What failed\n"
        for planned, record in report.result.failed:
            error = record.error or {}
            what = f"{planned.title}: {error.get('type')}: {error.get('message')}"
            yield f"- {as_markdown(what)}"


def _write(path: Path, text: str) -> None:
    with written_atomically(path) as temporary:
        # A message of a method may hold anything, halves of characters too.
        temporary.write_text(text.rstrip("\n") + "\n", encoding="utf-8", errors="backslashreplace")
