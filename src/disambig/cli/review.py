"""``disambig review``: settle doubtful rows in the browser."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disambig._core.errors import ParameterError
from disambig.cli.option_groups import with_option_groups
from disambig.cli.options import FileOptions
from disambig.cli.report import IdColumn, PageRows
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN

if TYPE_CHECKING:
    from disambig.tabular.labels.decision_log import DecisionLog


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
    from disambig.tabular.labels.decision_log import LOG_SUFFIX
    from disambig.web.review import serve_review

    kept_in = decisions or clean.with_suffix(f".decisions{LOG_SUFFIX}")
    if kept_in.suffix != LOG_SUFFIX:
        raise ParameterError(
            f"A review keeps decisions as JSON lines: --decisions needs a name that ends in "
            f"{LOG_SUFFIX}. Got {str(kept_in)!r}."
        )
    found = load_cleaned(clean, file_options, id)

    def ready(address: str, log: "DecisionLog") -> None:
        before = len(log.settled())
        if before:
            say_path(f"{row_count(before)} settled already, in", kept_in)
        say(f"Open {address}", wrap=False)
        say("Press Ctrl-C to end the review.")
        if browser:
            import webbrowser

            webbrowser.open(address)

    log = serve_review(
        found, str(kept_in), title=f"Review of {clean.name}", most_rows=rows, ready=ready
    )
    settled = len(log.settled())
    if not settled:
        say("No rows have been settled.")
        return
    say_path(f"{row_count(settled)} settled, in", kept_in)
    # That command may have had any options, of which a cleaned table does not tell.
    say("\nNext, clean again: repeat the command that wrote the table, and add")
    say(f"  --decisions {shlex.quote(str(kept_in))}", wrap=False)
