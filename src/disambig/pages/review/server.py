"""Serve a review on this machine, to nobody else."""

import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from disambig.pages.review.access import OnlyFromItsOwnAddress
from disambig.pages.review.app import review_app
from disambig.pages.review.page import review_page
from disambig.tables.labels.decision_log import DecisionLog
from disambig.tables.labels.decisions import DecidedRows
from disambig.workbench.defaults import DEFAULT_ROWS_SHOWN
from disambig.workbench.disambiguated import Disambiguated

__all__ = ["serve_review"]

_TOKEN_BYTES = 24
_SECONDS_TO_END = 2


def serve_review(
    rows: Disambiguated,
    decisions: str,
    *,
    title: str,
    most_rows: int = DEFAULT_ROWS_SHOWN,
    ready: Callable[[str, DecisionLog], None],
) -> DecisionLog:
    """Serve until interrupted; return the decisions that were made.

    Parameters
    ----------
    rows : Disambiguated
        The rows of a cleaned table.
    decisions : path
        File that decisions are appended to; those that are in it count.
    title : str
        What the page is called.
    most_rows : int, default=10,000
        Rows on the page, the most doubtful ones.
    ready : callable
        Told the address, with the token in it, and the decisions so far.
    """
    log = DecisionLog(decisions, DecidedRows(rows.values, rows.id))
    page = review_page(rows, title=title, saved_in=decisions, most_rows=most_rows)
    app = review_app(page, log, rows.candidates.classes.tolist(), len(rows.candidates))
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    with _own_port() as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(
            OnlyFromItsOwnAddress(app, token=token, port=port),
            log_level="warning",
            access_log=False,  # it would show the token
            timeout_graceful_shutdown=_SECONDS_TO_END,
            server_header=False,
        )
        ready(f"http://127.0.0.1:{port}/{token}/", log)
        with suppress(KeyboardInterrupt):  # how a review ends
            uvicorn.Server(config).run(sockets=[listening])
    return log


@contextmanager
def _own_port() -> Iterator[socket.socket]:
    """Give a socket on loopback, at a port that the system chooses."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # whoever comes before the server is up waits
        yield listening
