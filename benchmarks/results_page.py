"""Write a page of measured results into ``docs/results/``: by the script that measured them."""

from collections.abc import Iterable
from pathlib import Path

import disambig
from disambig._core.files import write_atomically

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "results"


def markdown_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    names = list(header)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_page(
    name: str,
    title: str,
    script: str,
    *parts: str,
    folder: Path = FOLDER,
    real_data: bool = True,
) -> None:
    """Write ``NAME.md`` into ``docs/results/``, or another folder, and say so."""
    command = (
        f"`DISAMBIG_DATA=folder python {script}`, the folder being that of the real-world files,"
        if real_data
        else f"`python {script}`"
    )
    made_by = f"Made by {command} with disambig {disambig.__version__}; do not edit by hand."
    with write_atomically(folder / f"{name}.md") as temporary:
        temporary.write_text("\n\n".join((f"# {title}", made_by, *parts)) + "\n", encoding="utf-8")
    print(f"Written: {folder / name}.md")
