"""``disambig ask``: which rows to ask people about, and what."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disambig._core.errors import ParameterError
from disambig.cli.exports import TOOL_NAMES
from disambig.cli.option_groups import option_words, with_option_groups
from disambig.cli.options import FileOptions, Json
from disambig.cli.report import IdColumn

if TYPE_CHECKING:
    from disambig.tabular.cleaned_table import CleanedTable
    from disambig.tabular.question_plan import QuestionPlan

_SUFFIX = ".jsonl"


@with_option_groups
def ask(
    clean: Annotated[
        Path, typer.Argument(metavar="CLEAN", help="A table that 'disambig clean' wrote.")
    ],
    file_options: FileOptions,
    budget: Annotated[int, typer.Option(min=1, help="Most questions.", metavar="COUNT")] = 100,
    minutes: Annotated[
        float | None,
        typer.Option(min=0, help="Most time that the answers may take.", metavar="MINUTES"),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            help="What people have decided since the cleaning: these rows are not asked about "
            "again, and the answers tell how far the confidences can be believed.",
            metavar="FILE",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the questions. By default CLEAN with the suffix .questions.jsonl; with "
            "--json, none.",
            metavar="OUT",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help=f"Write tasks for an annotation tool instead: {TOOL_NAMES}.", metavar="TOOL"
        ),
    ] = None,
    id: IdColumn = None,
    json: Json = False,
) -> None:
    """Say what to ask people to remove the most errors.

    A question is "opel or saab?" or "is it opel?", whichever is answered sooner. An answer counts
    for the errors in its own row and in rows like it. Says how many errors the answers would
    remove, how long they take, and what the next ones would still change.

    Example: disambig ask vehicles-clean.csv --budget 50

    Example, for an annotation tool: disambig ask vehicles-clean.csv --to label-studio
    --out queue.json
    """
    # keeps --help quick
    from disambig.cli.console import print_json, say, say_path
    from disambig.cli.table_files import is_same_file, load_cleaned, load_decisions
    from disambig.tabular.asking import questions_of
    from disambig.tabular.exchange.registry import find_tool

    tool = None if to is None else find_tool(to)
    if tool is not None and out is None:
        raise ParameterError(
            f"Tasks for {tool.title} need a file: --out queue{tool.suffix}, for example."
        )
    for path, what in ((clean, "the cleaned table"), (decisions, "the file of decisions")):
        if out is not None and path is not None and is_same_file(out, path):
            raise ParameterError(f"{out} is {what}. Give --out another name.")
    if out is None and not json:
        out = clean.with_suffix(f".questions{_SUFFIX}")
    if tool is None and out is not None and out.suffix != _SUFFIX:
        raise ParameterError(
            f"Questions are kept as JSON lines: --out needs a name that ends in {_SUFFIX}. Got "
            f"{str(out)!r}. For an annotation tool, name it: --to."
        )
    cleaned = load_cleaned(clean, file_options, id)
    answered = [] if decisions is None else [decisions]
    decided = load_decisions(answered, cleaned.values, cleaned.id, file_options)
    plan = questions_of(cleaned, budget=budget, minutes=minutes, decisions=decided)
    written = [] if out is None or not plan.questions else _write(plan, cleaned, out, to)
    if json:
        print_json(
            {
                **plan.to_json(),
                "out": [str(path) for path in written],
                "asked": [
                    {
                        "row": each.row + 1,
                        "question": each.text,
                        "labels": list(each.labels),
                        "removes": round(each.removes, 4),
                    }
                    for each in plan.questions
                ],
            }
        )
        return
    for sentence in plan.sentences():
        say(sentence)
    for path, what in zip(
        written,
        ("The questions:", "The labelling interface, to be pasted into the project:"),
        strict=False,
    ):
        say_path(what, path)
    if written:
        _say_next(clean, cleaned, out, to, decisions, file_options)


def _write(plan: "QuestionPlan", cleaned: "CleanedTable", out: Path, to: str | None) -> list[Path]:
    from disambig.tabular.exchange.queue import make_queue, save_queue
    from disambig.tabular.exchange.registry import find_tool
    from disambig.tabular.questions import write_questions

    if to is None:
        write_questions(plan.questions, out, cleaned)
        return [out]
    return save_queue(make_queue(cleaned, questions=plan.questions), out, find_tool(to))


def _say_next(
    clean: Path,
    cleaned: "CleanedTable",
    out: Path | None,
    to: str | None,
    decisions: Path | None,
    file_options: FileOptions,
) -> None:
    from disambig.cli.console import path_word, say_next
    from disambig.tabular.exchange.registry import find_tool

    named = [] if cleaned.id is None else ["--id", cleaned.id]
    if to is not None:
        answers = path_word(f"answers{find_tool(to).suffix}")
        say_next(
            (
                f"when people have answered, export {answers} from {find_tool(to).title} and "
                "read it",
                ["import", answers, "--from", to, "--decisions", *named, "--out", "decisions.csv"],
            )
        )
        return
    assert out is not None
    words = ["review", path_word(clean), "--queue", path_word(out)]
    # A review keeps its answers in JSON lines, and goes on with those.
    if decisions is not None and decisions.suffix == _SUFFIX:
        words += ["--decisions", path_word(decisions)]
    say_next(("answer them in the browser", [*words, *option_words(file_options)]))
