"""``disambig import``: what an annotation tool exports, as a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disambig.cli.options import ExcelSafe, Json, Overwrite
from disambig.tabular.exchange.registry import TOOLS
from disambig.tabular.files.formats import one_of

if TYPE_CHECKING:
    from disambig.tabular.exchange.imported import Imported

_TOOL_NAMES = one_of(tool.name for tool in TOOLS)


def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="The export. Several files, such as one for each annotator, are read as one.",
        ),
    ],
    out: Annotated[
        str, typer.Option(help="File for the table; - is standard output, as CSV.", metavar="OUT")
    ],
    tool: Annotated[
        str | None,
        typer.Option(
            "--from", help=f"The tool: {_TOOL_NAMES}. By default it is recognised.", metavar="TOOL"
        ),
    ] = None,
    field: Annotated[
        str | None,
        typer.Option(
            help="The question whose answers are the labels, where the export has several.",
            metavar="NAME",
        ),
    ] = None,
    unsure: Annotated[
        list[str] | None,
        typer.Option(
            help="Answer that says nothing; repeat the option. By default unsure, not sure, don't "
            "know and the like.",
            metavar="WORD",
        ),
    ] = None,
    predictions: Annotated[
        bool,
        typer.Option(
            "--predictions",
            help="Count models whose predictions or answers are in it as annotators.",
        ),
    ] = False,
    label_list: Annotated[
        Path | None,
        typer.Option(
            help="With --from llm, the labels that free wordings are matched to: a text file with "
            "a label in each line, and other words for it behind a colon (New York: NYC).",
            metavar="FILE",
        ),
    ] = None,
    decisions: Annotated[
        bool,
        typer.Option(
            "--decisions",
            help="The answers are to a queue of 'disambig export': write what all agree on, for "
            "--decisions of 'disambig clean'.",
        ),
    ] = False,
    id: Annotated[
        str | None,
        typer.Option(
            help="With --decisions, the column that names the rows of the cleaned table.",
            metavar="COLUMN",
        ),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of the file; UTF-8 by default.", metavar="NAME")
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(
            "--memory", "--max-memory", help="Most memory that a file may take.", metavar="SIZE"
        ),
    ] = None,
    excel_safe: ExcelSafe = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make a table of what an annotation tool exports.

    A row is an item, or an answer where people answered for the same item. Several choices in an
    answer are candidates (cat|dog), rejected labels are ruled out (!cat), skipped tasks have no
    label. Other commands take exports too, without this step, if there is only one question.

    Example: disambig import project.json --from label-studio --out table.csv

    Example, a file for each annotator: disambig import ann.jsonl bob.jsonl --from doccano --out
    table.csv

    Example, language models: disambig import answers.jsonl --from llm --label-list labels.txt
    --out table.csv

    Example, the answers to a queue: disambig import answers.json --decisions --out decisions.csv
    """
    # keeps --help quick
    from disambig._core.errors import ParameterError
    from disambig._core.messages import plural
    from disambig.cli.console import (
        collected_notices,
        path_word,
        print_json,
        say,
        say_next,
        say_notices,
        say_path,
    )
    from disambig.cli.table_files import check_output
    from disambig.tabular.exchange.decided import decisions_of
    from disambig.tabular.exchange.reading import read_export
    from disambig.tabular.exchange.wordings import read_label_list
    from disambig.tabular.files.content import STANDARD_STREAM
    from disambig.tabular.files.formats import write_table

    if id is not None and not decisions:
        raise ParameterError("--id is about decisions (--decisions). Leave it out.")
    check_output(out, json=json, sources=files, delimiter=None, overwrite=overwrite)
    if label_list is not None and tool != "llm":
        raise ParameterError(
            "--label-list is about answers of language models (--from llm). Leave it out."
        )
    words = {} if unsure is None else {"unsure": unsure}
    with collected_notices() as notices:
        imported = read_export(
            files,
            tool=tool,
            field=field,
            predictions=predictions,
            labels=None if label_list is None else read_label_list(label_list),
            encoding=encoding,
            max_memory=max_memory,
            **words,
        )
        say_notices(imported.notices)
        frame = decisions_of(imported, id=id) if decisions else imported.frame
        write_table(frame, out, excel_safe=excel_safe)
    counts = imported.counts()
    if json:
        found = {"out": out, **counts.__dict__, "options": imported.options()}
        print_json({**found, "notices": [*imported.notices, *notices]})
        return
    say(str(counts))
    if out == STANDARD_STREAM:
        return
    if decisions:
        say_path(f"{plural(len(frame), 'decision')}, for --decisions of 'disambig clean':", out)
        return
    say_path("The table:", out)
    if not excel_safe and counts.labels:
        given = [path_word(out), *_option_words(imported)]
        say_next(
            ("look at it", ["audit", *given]),
            ("train a classifier", ["fit", *given, "--out", "model"]),
        )


def _option_words(imported: "Imported") -> list[str]:
    """Return the options that read the table, as they are typed."""
    words: list[str] = []
    for name, value in imported.options().items():
        option = f"--{name.replace('_', '-')}"
        values = [] if value is True else value if isinstance(value, list) else [value]
        words += [option] if value is True else []
        for each in values:
            words += [option, str(each)]
    if imported.counts().unanswered:
        words += ["--empty", "all"]
    return words
