"""Settle doubtful rows in a browser: one person, this machine."""

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from disambig._core.messages import row_count
from disambig._core.typing import IntArray
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decision_log import DecisionLog
from disambig.tabular.labels.reviewers import agreed_decisions, agreements, reviewer_name
from disambig.tabular.questions import Question
from disambig.web.doubtful_rows import (
    SETTLE_SCRIPTS,
    SETTLE_STYLES,
    doubtful_data,
    settle_section,
)
from disambig.web.group_rows import GroupAnswers
from disambig.web.known_rows import KnownRows
from disambig.web.owner_server import OwnerServer, listen_on_this_machine
from disambig.web.page_values import full_values
from disambig.web.pictures import Pictures, pictures_route
from disambig.web.reasons_route import ReasonsOfRows, reasons_route
from disambig.web.review_app import decision_fields, review_app
from disambig.web.review_log import ReviewLog
from disambig.web.shell import render_page
from disambig.web.token_guard import TokenGuard

_TOKEN_BYTES = 24


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    """Which rows a review shows, and how.

    Attributes
    ----------
    most_rows : int
        Most rows on the page.
    show : sequence of str
        Columns to show; none for all.
    blind : bool
        Whether what the model says of a row is hidden until the row is answered.
    checks : bool
        Whether every twentieth row is one whose true label is known, where there are some.
    reviewer : str
        Who reviews; empty for somebody without a name.
    conflicts : bool
        Whether only rows are shown on which reviewers disagree.
    questions : sequence of Question
        What to ask, in this order. None for the most doubtful rows.
    """

    most_rows: int = DEFAULT_ROWS_SHOWN
    show: Sequence[str] = ()
    blind: bool = False
    checks: bool = True
    reviewer: str = ""
    conflicts: bool = False
    questions: Sequence[Question] | None = None


class Review:
    """A review of a table: its page, its log, and what comes of it.

    Parameters
    ----------
    rows : CleanedTable
        The table.
    decisions : str
        The file that decisions are appended to; those already in it count.
    options : ReviewOptions, optional
        Which rows are shown, and how.
    folder : path, optional
        Where the pictures are that the table names: its own folder. None for no pictures.
    """

    def __init__(
        self,
        rows: CleanedTable,
        decisions: str,
        options: ReviewOptions | None = None,
        *,
        folder: Path | None = None,
    ) -> None:
        self.options = options or ReviewOptions()
        self.decisions = DecisionLog(
            decisions, DecidedRows(rows.values, rows.id), self.options.reviewer
        )
        self.log = ReviewLog(self.decisions, settles=self.options.conflicts)
        self._saved_in = decisions
        self._folder = folder
        self._pictures = None if folder is None else Pictures(rows, folder)
        self._lock = threading.Lock()
        self.show(rows)

    def show(self, rows: CleanedTable) -> None:
        """Show these rows from now on: the same ones, perhaps cleaned again."""
        self.rows = rows
        self._known = KnownRows(rows)
        _, self._conflicts = agreed_decisions(self.decisions.entries())
        queue, checks = self._queue()
        # A tab may still show those of the page before.
        self.log.checks |= frozenset(checks)
        self.data = doubtful_data(
            rows,
            most=self.options.most_rows,
            saved_in=self._saved_in,
            queue=queue,
            unaided={row: self._known.unaided[row] for row in checks},
            show=self.options.show,
            pictures=() if self._pictures is None else self._pictures.columns,
        ) | {"review": self._about(checks)}
        self._groups = group_answers(rows, self.data)
        # Any of these may be asked about sooner or later, in this review or the next one.
        held_back = self._known.unaided if self.options.checks else ()
        self._reasons = ReasonsOfRows(rows, self.data["columns"], self._folder, held_back=held_back)

    def _queue(self) -> tuple[IntArray, list[int]]:
        """Return the rows in the order in which they come, and those whose label is known."""
        if self.options.conflicts:
            rows = np.array(sorted(self._conflicts), dtype=np.int64)
            return rows[np.argsort(self.rows.confidence[rows], kind="stable")], []
        if self.options.questions is not None:
            asked = dict.fromkeys(one.row for one in self.options.questions)
            return np.array(list(asked), dtype=np.int64), []
        queue = self.rows.doubtful_rows(self.options.most_rows)
        if not self.options.checks:
            return queue, []
        return self._known.among(queue, self.rows.confidence)

    def _about(self, checks: list[int]) -> dict[str, Any]:
        """Return what the page should know beyond its rows."""
        questions: dict[int, list[Any]] = {}
        for one in self.options.questions or ():
            asked = [one.row + 1, one.text, list(one.labels), one.removes]
            questions.setdefault(one.row, asked)
        shown = self._conflicts if self.options.conflicts else {}
        return {
            "why": True,
            "watch": False,
            "blind": self.options.blind,
            "reviewer": self.options.reviewer,
            "isGiven": self.options.conflicts or self.options.questions is not None,
            "checks": [row + 1 for row in checks],
            "questions": list(questions.values()),
            "said": [
                [row + 1, [[reviewer_name(by), *decision_fields(one)] for by, one in said.items()]]
                for row, said in shown.items()
            ],
        }

    def app(
        self,
        *,
        title: str,
        current: Callable[[], CleanedTable] | None = None,
        more_routes: Sequence[BaseRoute] = (),
    ) -> Starlette:
        """Return the application.

        ``current`` returns the table as it was cleaned last, where that is done again meanwhile;
        one of ``more_routes`` then tells the page of it.
        """
        routes: list[BaseRoute] = [reasons_route(len(self.rows.candidates), lambda: self._reasons)]
        if self._pictures is not None:
            routes.append(pictures_route(self._pictures))

        def page() -> str:
            with self._lock:  # tabs may come at once
                rows = self.rows if current is None else current()
                if rows is not self.rows:
                    self.show(rows)
                about = self.data["review"] | {"watch": current is not None}
                return review_page(self.data | {"review": about}, title=title)

        return review_app(
            page,
            self.log,
            self.rows.candidates.classes.tolist(),
            len(self.rows.candidates),
            of_groups=lambda settled: {} if self._groups is None else self._groups(settled),
            values_of=lambda row: full_values(self.rows, self.data["columns"], row),
            results=self.results,
            more_routes=[*routes, *more_routes],
        )

    def results(self) -> list[str]:
        """Return how reviewers did, in sentences: against known labels, and against each other."""
        entries = self.decisions.entries()
        judged = self._known.judge(self.decisions.settled(check=True))
        sentences = [judged] if judged else []
        sentences += map(str, agreements(entries))
        _, conflicts = agreed_decisions(entries)
        if conflicts:
            sentences.append(
                f"Reviewers disagree on {row_count(len(conflicts))}: settle "
                f"{'it' if len(conflicts) == 1 else 'them'} with disambig review --conflicts."
            )
        return sentences


def serve_review(
    review: Review,
    *,
    title: str,
    ready: Callable[[str], None],
    current: Callable[[], CleanedTable] | None = None,
    more_routes: Sequence[BaseRoute] = (),
) -> None:
    """Serve a review until interrupted.

    ``ready`` is called with the address, which holds the token; the rest is as for ``Review.app``.
    """
    app = review.app(title=title, current=current, more_routes=more_routes)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    # A browser that comes before the server waits.
    with listen_on_this_machine() as listening:
        port = listening.getsockname()[1]
        server = OwnerServer(TokenGuard(app, token=token, port=port))
        ready(f"http://127.0.0.1:{port}/{token}/")
        with suppress(KeyboardInterrupt):  # how a review ends
            server.run(sockets=[listening])


def group_answers(rows: CleanedTable, data: Mapping[str, Any]) -> GroupAnswers | None:
    """Return what decisions say of other rows of a page; None where they say nothing."""
    groups = data["groups"]
    if groups is None or not any(groups["isTold"]):
        return None
    return GroupAnswers(rows, [row[0] for row in [*data["rows"], *groups["mates"]]])


def review_page(data: Mapping[str, Any], *, title: str) -> str:
    """Return the page, which sends decisions to the server that it comes from.

    ``data`` is what ``doubtful_data`` returned, and what is said of the review.
    """
    return render_page(
        title=title,
        lead="",
        sections=[settle_section(data["savedIn"])],
        scripts=(*SETTLE_SCRIPTS, "copy.js", "watch.js"),
        styles=(*SETTLE_STYLES, "review.css"),
        data={"doubtful": data},
        connects=True,
    )
