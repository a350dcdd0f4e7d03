"""``disambig export``: the doubtful rows of a cleaned table, for an annotation tool."""

from pathlib import Path
from typing import Annotated

import typer

from disambig._core.errors import ParameterError
from disambig.cli.option_groups import with_option_groups
from disambig.cli.options import FileOptions
from disambig.cli.report import IdColumn
from disambig.tabular.exchange.registry import TOOLS
from disambig.tabular.files.formats import one_of

TOOL_NAMES = one_of(tool.name for tool in TOOLS if tool.writer)


@with_option_groups
def export(
    clean: Annotated[
        Path, typer.Argument(metavar="CLEAN", help="A table that 'disambig clean' wrote.")
    ],
    to: Annotated[str, typer.Option(help=f"The tool: {TOOL_NAMES}.", metavar="TOOL")],
    out: Annotated[Path, typer.Option(help="The file for the tool.", metavar="OUT")],
    file_options: FileOptions,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Most rows, the most doubtful first.", metavar="COUNT"),
    ] = None,
    all_rows: Annotated[
        bool, typer.Option("--all", help="All rows, not only those marked for a second look.")
    ] = False,
    show: Annotated[
        str | None,
        typer.Option(
            help="The column that people look at: texts, or addresses of pictures. By default one "
            "called text, image or the like; without any, all columns.",
            metavar="COLUMN",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Column that people are not to see; repeat it.", metavar="COLUMN"),
    ] = None,
    id: IdColumn = None,
) -> None:
    """Write the doubtful rows as tasks for an annotation tool.

    The most doubtful row comes first. Label Studio, doccano, Prodigy and Argilla show the chosen
    label as a suggestion. 'disambig import --decisions' reads what people answered.

    Example: disambig export vehicles-clean.csv --to label-studio --out queue.json
    """
    # keeps --help quick
    from disambig._core.messages import row_count
    from disambig.cli.console import path_word, say, say_next, say_path
    from disambig.cli.table_files import is_same_file, load_cleaned
    from disambig.tabular.exchange.queue import make_queue, save_queue
    from disambig.tabular.exchange.registry import find_tool

    tool = find_tool(to)
    if is_same_file(out, clean):
        raise ParameterError(f"{out} is the cleaned table. Give --out another name.")
    cleaned = load_cleaned(clean, file_options, id)
    queue = make_queue(cleaned, most=rows, all_rows=all_rows, show=show, ignore=ignore or ())
    tasks, *interface = save_queue(queue, out, tool)
    say(f"{row_count(len(queue.rows))} for {tool.title}, the most doubtful first.")
    say_path("The tasks:", tasks)
    for path in interface:
        say_path("The labelling interface, to be pasted into the settings of the project:", path)
    named = [] if cleaned.id is None else ["--id", cleaned.id]
    answers = path_word(f"answers{tool.suffix}")
    say_next(
        (
            f"when people have answered, export {answers} from {tool.title} and read it",
            ["import", answers, "--from", to, "--decisions", *named, "--out", "decisions.csv"],
        )
    )
