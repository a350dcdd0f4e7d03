"""A real browser, where there is one, and pages for it to look at."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cli.command_runs import accepted, written
from disambig.tabular.cleaned_table import CleanedTable
from waiting import PATIENCE
from web.review_process import ReviewProcess
from web.served_reviews import Served, served_review

CHROMIUM = os.environ.get("DISAMBIG_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# Keys mean nothing before the page knows what is settled.
IS_READY = "#card-title:not(:empty)"
HOSTILE = "<script>alert(1)</script>"
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Return a browser; one for each file of tests, because its event loop bears no other."""
    if CHROMIUM is None:
        pytest.skip("no Chromium: install it, or name it by DISAMBIG_CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


class Watched:
    """A page, and all that must not happen on it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self._note("error", str(error)))
        page.on("dialog", self._close)
        page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def _close(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Return what opens a page and, in the end, makes sure that nothing went wrong on it."""
    with contextlib.ExitStack() as opened:
        watched: list[Watched] = []

        def open_page(address: str, *, calm: bool = True, **options: Any) -> Any:
            context = chromium.new_context(viewport=WIDE, **options)
            opened.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(1000 * PATIENCE)
            if calm:
                watched.append(Watched(page))
            page.goto(address)
            if page.locator("#card-title").count():
                page.wait_for_selector(IS_READY)
            return page

        yield open_page
        for one in watched:
            assert one.complaints == []
            address = one.page.url
            foreign = [url for url in one.requests if not url.startswith(("data:", "blob:"))]
            assert all(
                url.partition("?")[0].startswith(address.partition("#")[0]) for url in foreign
            )


@pytest.fixture(scope="session")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cleaned table with 60 rows, three labels one of which is hostile, and details."""
    folder = tmp_path_factory.mktemp("cleaned")
    generator = np.random.default_rng(7)
    truth = np.repeat([0, 1, 2], 20)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    values = centres[truth] + generator.normal(size=(60, 2))
    names = np.array(["heron", "stork", HOSTILE])
    other = (truth + generator.integers(1, 3, 60)) % 3
    several = generator.random(60) < 0.8
    labels = [
        f"{names[label]}|{names[false]}" if both else names[label]
        for label, false, both in zip(truth, other, several, strict=True)
    ]
    frame = pd.DataFrame(
        {
            "bird": [f"B{row:02}" for row in range(60)],
            "length": values[:, 0].round(3),
            "width": values[:, 1].round(3),
            "remark": [f"seen {HOSTILE}" if row % 7 == 0 else "seen" for row in range(60)],
            "label": labels,
        }
    )
    table = written(folder / "birds.csv", frame)
    small = (
        "--method",
        "ncpd",
        "--set",
        "epochs=6",
        "--set",
        "ramp_epochs=3",
        "--set",
        "hidden=16",
    )
    options = ("--id", "bird", "--ignore", "remark", "--folds", "2", "--errors-to-find", "0.95")
    accepted("clean", table, *options, *small, "--out", folder / "birds-clean.csv")
    return folder / "birds-clean.csv"


@pytest.fixture(scope="session")
def report(cleaned: Path) -> Path:
    """Return the report on the cleaned table."""
    page = cleaned.with_name("report.html")
    accepted("report", cleaned, "--out", page)
    return page


def copy_of(cleaned: Path, folder: Path) -> Path:
    """Copy a cleaned table and its details, so that decisions on it are nobody else's."""
    for suffix in ("", ".details.json"):
        shutil.copy(f"{cleaned}{suffix}", folder)
    return folder / cleaned.name


@pytest.fixture(scope="module")
def one_review(cleaned: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReviewProcess]:
    review = ReviewProcess(copy_of(cleaned, tmp_path_factory.mktemp("review")))
    yield review
    review.end()


@pytest.fixture
def served(one_review: ReviewProcess) -> ReviewProcess:
    """Return a review in which nothing is settled; all tests of a file share its process."""
    one_review.decisions.unlink(missing_ok=True)
    return one_review


@pytest.fixture
def review(cleaned: Path, tmp_path: Path) -> Iterator[Callable[[], ReviewProcess]]:
    """Return what starts a review of the same table, as often as wanted."""
    table = copy_of(cleaned, tmp_path)
    started: list[ReviewProcess] = []

    def start() -> ReviewProcess:
        started.append(ReviewProcess(table))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Return what serves a review of rows from this process; all write to one file."""
    with contextlib.ExitStack() as serving:

        def start(rows: CleanedTable, **options: Any) -> Served:
            kept = tmp_path / "animals.decisions.jsonl"
            return serving.enter_context(served_review(rows, kept, **options))

        yield start
