"""``disambig review``: settle doubtful rows in the browser."""

import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from disambig._core.errors import ParameterError
from disambig.cli.option_groups import with_option_groups
from disambig.cli.options import FileOptions
from disambig.cli.report import IdColumn, PageRows
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN


@with_option_groups
def review(
    clean: Annotated[
        Path, typer.Argument(metavar="CLEAN", help="A table that 'disambig clean' wrote.")
    ],
    file_options: FileOptions,
    decisions: Annotated[
        Path | None,
        typer.Option(
            help="File of JSON lines for the decisions; those already in it are kept. By default "
            "CLEAN with the suffix .decisions.jsonl.",
            metavar="FILE",
        ),
    ] = None,
    id: IdColumn = None,
    rows: PageRows = DEFAULT_ROWS_SHOWN,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to decide by, in this order; repeat it for more, or put commas between "
            "names. By default all but those of labels.",
            metavar="COLUMN",
        ),
    ] = None,
    blind: Annotated[
        bool,
        typer.Option("--blind", help="Hide what the model says of a row until it is answered."),
    ] = False,
    checks: Annotated[
        bool,
        typer.Option(
            help="Make every twentieth row one whose true label is known (clean --truth), to see "
            "how often you are right. Which rows these are is not shown."
        ),
    ] = True,
    reviewer: Annotated[
        str,
        typer.Option(
            help="Your name, where several people review a table. Nobody sees what others decided.",
            metavar="NAME",
        ),
    ] = "",
    conflicts: Annotated[
        bool,
        typer.Option(
            "--conflicts", help="Only rows on which reviewers disagree, with what each said."
        ),
    ] = False,
    queue: Annotated[
        Path | None,
        typer.Option(
            help="Only the rows of this file of questions, in its order, as 'disambig ask' wrote "
            "it.",
            metavar="FILE",
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Clean again in the background as you decide, and say what came of it. Nothing "
            "is written but to a folder for temporary files.",
        ),
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser", help="Open the page in the default browser.")
    ] = False,
) -> None:
    """Settle the most doubtful rows in the browser, one by one.

    The page is served on this machine only, at an address that contains a secret, until you press
    Ctrl-C. Every decision is saved before the page confirms it. To use the decisions, pass the
    file to 'disambig clean' or 'disambig fit' with --decisions FILE.

    Example: disambig review vehicles-clean.csv
    """
    # keeps --help quick
    from disambig._core.errors import import_extra
    from disambig.cli.console import say, say_path
    from disambig.cli.table_files import load_cleaned

    for module in ("starlette", "uvicorn"):
        import_extra(module, extra="review")
    from disambig._core.messages import row_count
    from disambig.tabular.clean_again import command_again
    from disambig.tabular.labels.decision_log import LOG_SUFFIX
    from disambig.tabular.questions import read_questions
    from disambig.web.review import Review, ReviewOptions, serve_review
    from disambig.web.watch import Watch, watch_route

    kept_in = decisions or clean.with_suffix(f".decisions{LOG_SUFFIX}")
    if kept_in.suffix != LOG_SUFFIX:
        raise ParameterError(
            f"A review keeps decisions as JSON lines: --decisions needs a name that ends in "
            f"{LOG_SUFFIX}. Got {str(kept_in)!r}."
        )
    if conflicts and queue is not None:
        raise ParameterError(
            "--conflicts and --queue both say which rows to show. Leave one of them out."
        )
    found = load_cleaned(clean, file_options, id)
    made = Review(
        found,
        str(kept_in),
        ReviewOptions(
            most_rows=rows,
            show=show or (),
            blind=blind,
            checks=checks,
            reviewer=reviewer,
            conflicts=conflicts,
            questions=None if queue is None else read_questions(queue, found),
        ),
        folder=clean.parent,
    )
    if conflicts and not made.data["rows"]:
        say("Reviewers disagree on no row.")
        return

    def ready(address: str) -> None:
        before = len(made.log.standing().settled)
        if before:
            say_path(f"{row_count(before)} settled already, in", kept_in)
        say(f"Open {address}", wrap=False)
        say("Press Ctrl-C to end the review.")
        if browser:
            import webbrowser

            webbrowser.open(address)

    watched = Watch(found, made.decisions) if watch else None
    with watched or nullcontext():
        serve_review(
            made,
            title=f"Review of {clean.name}{f' by {reviewer}' if reviewer else ''}",
            ready=ready,
            current=None if watched is None else watched.current,
            more_routes=[] if watched is None else [watch_route(watched)],
        )
    settled = len(made.log.standing().settled)
    if not settled:
        say("No rows have been settled.")
        return
    say_path(f"{row_count(settled)} settled, in", kept_in)
    for sentence in made.results():
        say(sentence)
    command = command_again(found.provenance.command, str(kept_in))
    if command is None:
        # That command may have had any options, of which the table does not tell.
        say("\nNext, clean again: repeat the command that wrote the table, and add")
        say(f"  --decisions {shlex.quote(str(kept_in))}", wrap=False)
    else:
        say("\nNext, clean again:")
        say(f"  {command}", wrap=False)
