"""Reviews of rows made by hand, served from a thread: what a page shows can be counted."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disambig import CandidateLabels
from disambig.tabular.cleaned_table import CleanedTable
from disambig.web.owner_server import OwnerServer, listen_on_this_machine
from disambig.web.review import Review, ReviewOptions
from disambig.web.token_guard import TokenGuard
from waiting import PATIENCE

TOKEN = "kR3-x_9vQm7ZbT2uWc8Yd1Ea"
LABELS = ("cat", "dog", "fox")


@dataclass(frozen=True)
class Served:
    """A review that is served."""

    address: str
    review: Review
    decisions: Path

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the file of decisions, without the times."""
        if not self.decisions.exists():
            return []
        entries = map(json.loads, self.decisions.read_text(encoding="utf-8").splitlines())
        return [{key: entry[key] for key in entry if key != "decided_at"} for entry in entries]

    @property
    def decided(self) -> list[tuple[int, str | None]]:
        """Rows and what was decided, line by line."""
        return [(one["row"], one["label"] or one.get("answer")) for one in self.lines]


@contextmanager
def served_review(
    rows: CleanedTable, decisions: Path, *, folder: Path | None = None, **options: Any
) -> Iterator[Served]:
    """Serve a review as the command does, until this context ends."""
    review = Review(rows, str(decisions), ReviewOptions(**options), folder=folder)
    with listen_on_this_machine() as listening:
        port = listening.getsockname()[1]
        app = review.app(title="Review of animals.csv")
        server = OwnerServer(TokenGuard(app, token=TOKEN, port=port))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield Served(f"http://127.0.0.1:{port}/{TOKEN}/", review, decisions)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()


def animals(n_doubtful: int = 30, n_known: int = 0, **changes: Any) -> CleanedTable:
    """Return doubtful rows, the first the most doubtful, then rows whose label is known.

    Row i may be label i and label i + 1 of ``LABELS``, counted in a circle, and i is the likelier;
    its confidence grows from 0.5 to 0.9. A known row is truly i + 1: the model was wrong.
    """
    n_rows = n_doubtful + n_known
    rows = range(n_rows)
    pairs = [(LABELS[row % 3], LABELS[(row + 1) % 3]) for row in rows]
    confidence = np.linspace(0.5, 0.9, n_doubtful).tolist()
    shares = [
        {likely: confidence[row], other: 1 - confidence[row]}
        if row < n_doubtful
        else {likely: 0.0, other: 1.0}
        for row, (likely, other) in zip(rows, pairs, strict=True)
    ]
    candidates = CandidateLabels.from_sets([list(one) for one in shares], classes=LABELS)
    row_of_pair, columns = candidates.pairs()
    known = range(n_doubtful, n_rows)
    truth = ["" if row < n_doubtful else pairs[row][1] for row in rows]
    parts: dict[str, Any] = {
        "candidates": candidates,
        "confidences": np.array(
            [shares[row][LABELS[column]] for row, column in zip(row_of_pair, columns, strict=True)]
        ),
        "chosen": np.array([LABELS.index(max(one, key=one.__getitem__)) for one in shares]),
        "second_look": np.array([row < n_doubtful for row in rows]),
        "values": pd.DataFrame(
            {
                "size": [f"{row % 3 + row / 100:.2f}" for row in rows],
                "legs": ["4"] * n_rows,
                "truth": truth,
            }
        ),
        "truth": "truth" if n_known else None,
        "features": {"number": ["size", "legs"]},
        "unaided_confidences": {
            row: dict(zip(pairs[row], (0.55, 0.45), strict=True)) for row in known
        },
    }
    return CleanedTable(**(parts | changes))
