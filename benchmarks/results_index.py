"""Write docs/results.md from the pages it lists: their titles, what they found, the main table.

    python benchmarks/results_index.py [--check]

The title and the finding of every page are made again first, from its tables. For when wording or a
page has changed; nothing is measured.
"""

import argparse
import re
from pathlib import Path

from disambig.datasets.card import dataset_title
from page_tables import tables_of
from results_page import FOLDER, PAGES, markdown_table, with_finding

INDEX = FOLDER.parent / "results.md"
PAPER = FOLDER.parent / "paper.md"
MARKS = "<!-- {name}, by benchmarks/results_index.py -->", "<!-- end of {name} -->"
# What is listed under each heading, in this order; pages that are not there are left out.
GROUPS = {
    "the paper": ("table/report", "curves/report", "ablation/report", "ncpd_readings"),
    "accuracy": (
        "headline",
        "auto",
        "ncpd_accuracy",
        "rivals_accuracy",
        "networks",
        "network_references",
        "plknn",
        "any_classifier",
        "misses",
        "groups",
        "annotators",
        "text_tables",
        "llm_answers",
        "conformal",
        "calibration",
        "audit_findings",
        "row_order",
        "early_stopping",
    ),
    "NCPD+": (
        "ncpd_plus_accuracy",
        "ncpd_plus_corrupted",
        "ncpd_plus_ablation",
        "ncpd_plus_selection",
        "ncpd_plus_collapse",
        "ncpd_plus_cost",
    ),
    "your own file": (
        "own_file_cleaning",
        "ask",
        "table_features",
        "image_columns",
        "own_file_at_scale",
        "tables_on_disk",
        "wide_tables",
        "report_at_scale",
        "waiting_times",
        "mat_reading",
    ),
    "time and memory": (
        "rivals_at_scale",
        "rivals_speed",
        "ncpd_cpu",
        "many_classes",
        "time_estimates",
        "ncpd_gpu",
        "network_steps",
        "busy_machine",
        "rows_on_disk",
        "ranks",
        "small_jobs",
        "candidate_sets",
        "serving",
    ),
    "faults": ("faults",),
}


def refreshed() -> dict[Path, str]:
    """Return every page of a script with its title and finding as they are made today."""
    paths = {name: FOLDER / f"{name}.md" for name in PAGES}
    return {
        path: with_finding(name, path.read_text(encoding="utf-8"))
        for name, path in paths.items()
        if path.exists()
    }


def entry(page: str, pages: dict[Path, str]) -> str:
    """Return the title of a page as a link, and its first paragraph."""
    path = FOLDER / f"{page}.md"
    title, finding, *_ = (pages.get(path) or path.read_text(encoding="utf-8")).split("\n\n")
    return f"- **[{title.removeprefix('# ')}](results/{page}.md).** {finding}"


def main_table(page: str) -> str:
    """Return the table of ``headline.md``, with the proper names of the sets."""
    (table,) = tables_of(page)
    names = table.header.index("data")
    rows = [
        [dataset_title(cell) if place == names else cell for place, cell in enumerate(row)]
        for row in table.rows
    ]
    return markdown_table(table.header, rows)


def claims_in_brief() -> str:
    """Return how many claims of the paper held, and which did not, as its own page says it."""
    text = PAPER.read_text(encoding="utf-8")
    counts = re.search(r"^Of \d+ claims .*$", text, re.M)
    brief = re.search(r"^In short: (.*?)\n\n", text, re.M | re.S)
    assert counts is not None
    assert brief is not None
    # Links there are relative to the same folder as here.
    return f"{counts[0]}\n{brief[1]}"


def blocks(pages: dict[Path, str]) -> dict[str, str]:
    """Return what stands between the marks of the index, by name."""
    lists = {
        name: "\n".join(entry(page, pages) for page in group if (FOLDER / f"{page}.md").exists())
        for name, group in GROUPS.items()
    }
    table = main_table(pages[FOLDER / "headline.md"])
    return {"main table": table, "claims": claims_in_brief(), **lists}


def with_blocks(index: str, parts: dict[str, str]) -> str:
    """Return the index with every block between its two marks."""
    for name, text in parts.items():
        begin, end = (mark.format(name=name) for mark in MARKS)
        if index.count(begin) != 1 or index.count(end) != 1:
            raise SystemExit(f"{INDEX.name} needs the marks of {name!r} once: {begin} and {end}")
        before, _, rest = index.partition(begin)
        index = f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"
    return index


def main() -> int:
    """Write the index and the heads of its pages, or say that they are old."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    pages = refreshed()
    wanted = pages | {INDEX: with_blocks(INDEX.read_text(encoding="utf-8"), blocks(pages))}
    old = [path for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
    for path in old:
        if is_check:
            print(f"{path.name} is old. Run: python benchmarks/results_index.py")
        else:
            path.write_text(wanted[path], encoding="utf-8")
    return int(is_check and bool(old))


if __name__ == "__main__":
    raise SystemExit(main())
