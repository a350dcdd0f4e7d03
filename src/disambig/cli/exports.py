"""``disambig export``: doubtful rows for an annotation tool, or a model as an ONNX file."""

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
_ONNX = "onnx"


@with_option_groups
def export(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="CLEAN",
            help="A table that 'disambig clean' wrote; for --to onnx a folder that 'disambig fit' "
            "wrote.",
        ),
    ],
    to: Annotated[str, typer.Option(help=f"The tool: {TOOL_NAMES}. Or {_ONNX}.", metavar="TOOL")],
    out: Annotated[Path, typer.Option(help="The file to write.", metavar="OUT")],
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
    """Write the doubtful rows as tasks for an annotation tool, or a model as an ONNX file.

    The most doubtful row comes first. Label Studio, doccano, Prodigy and Argilla show the chosen
    label as a suggestion. 'disambig import --decisions' reads what people answered.

    With --to onnx, the networks of a model and how its columns become features are written as one
    file, which runs without Python.

    Example: disambig export vehicles-clean.csv --to label-studio --out queue.json

    Example, a model: disambig export model --to onnx --out model.onnx
    """
    if to.lower() == _ONNX:
        about_rows = {"--rows": rows, "--all": all_rows, "--show": show, "--ignore": ignore}
        about_rows |= {"--id": id, "--format or the like": file_options != FileOptions()}
        given = [name for name, value in about_rows.items() if value]
        if given:
            raise ParameterError(
                f"--to onnx writes a model, and {given[0]} is about the rows of a table: leave it "
                "out."
            )
        _export_model(source, out)
        return
    # keeps --help quick
    from disambig._core.messages import row_count
    from disambig.cli.console import path_word, say, say_next, say_path
    from disambig.cli.table_files import is_same_file, load_cleaned
    from disambig.tabular.exchange.queue import make_queue, save_queue
    from disambig.tabular.exchange.registry import find_tool

    tool = find_tool(to)
    if is_same_file(out, source):
        raise ParameterError(f"{out} is the cleaned table. Give --out another name.")
    cleaned = load_cleaned(source, file_options, id)
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


def _export_model(folder: Path, out: Path) -> None:
    # keeps --help quick
    from disambig.cli.console import say_path
    from disambig.tabular.onnx_export import export_onnx
    from disambig.tabular.table_model import load_model

    if out.is_dir():
        raise ParameterError(f"--out is the file to write. {out} is a folder: give it a name.")
    export_onnx(load_model(folder, only_predict=True), out)
    say_path("The model in ONNX:", out)
