"""Write a page of measured results into ``docs/results/``: by the script that measured them."""

from collections.abc import Iterable
from pathlib import Path

import disambig
from accuracy_findings import ACCURACY_PAGES
from cost_findings import COST_PAGES
from data_findings import DATA_PAGES
from disambig._core.files import write_atomically
from page_tables import tables_of

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "results"
PAGES = ACCURACY_PAGES | DATA_PAGES | COST_PAGES
MADE_BY = "Made by "


def markdown_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    names = list(header)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_finding(name: str, page: str) -> str:
    """Return a page with its title and, below it, what its tables amount to."""
    title, finding = PAGES[name]
    content = page[page.index(MADE_BY) :]
    return f"# {title}\n\n{finding(tables_of(content))}\n\n{content}"


def write_page(
    name: str,
    script: str,
    *parts: str,
    folder: Path = FOLDER,
    real_data: bool = True,
) -> None:
    """Write ``NAME.md`` into ``docs/results/``, or another folder, and say so.

    Its title and the sentence below it are those of ``PAGES``.
    """
    command = (
        f"`DISAMBIG_DATA=folder python {script}`, the folder being that of the real-world files,"
        if real_data
        else f"`python {script}`"
    )
    made_by = f"{MADE_BY}{command} with disambig {disambig.__version__}; do not edit by hand."
    page = with_finding(name, "\n\n".join((made_by, *parts)) + "\n")
    with write_atomically(folder / f"{name}.md") as temporary:
        temporary.write_text(page, encoding="utf-8")
    print(f"Written: {folder / name}.md")
