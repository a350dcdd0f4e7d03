"""``disambig fetch``: download a real-world dataset."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from disambig.cli.console import Terminal, say, say_path


def fetch(
    name: Annotated[
        str,
        typer.Argument(help="Name of a dataset; 'disambig datasets' lists them.", metavar="NAME"),
    ],
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder for the file; by default the cache.", metavar="FOLDER"),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="Address to download from, such as a mirror; by default the known ones.",
            metavar="URL",
        ),
    ] = None,
) -> None:
    """Download a dataset, and check that the file is the expected one.

    Example: disambig fetch lost
    """
    from disambig._core.fingerprint import file_digest  # keeps --help quick
    from disambig.datasets.card import find_card
    from disambig.datasets.download import check_downloadable, fetch_dataset

    card = find_card(name)
    check_downloadable(card)  # before anything is shown
    console = Terminal()
    say(f"{card.title}\nLicence: {card.licence}\nCite: {card.citation}", console)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        console=console,
    ) as progress:
        path = fetch_dataset(
            card, folder=folder, url=url, progress=_DownloadBar(progress, card.name)
        )
    say_path("The data is in", path, console)
    if "sha256:" not in card.hash:
        digest = file_digest(path.read_bytes(), "sha256")
        known = f"It matches {card.hash}. Its SHA-256, which was not known before: {digest}"
        say(known, console, wrap=False)
    where = "" if folder is None else f", folder={str(folder)!r}"
    say("\nNext, in Python:\n  from disambig.datasets import load_dataset")
    say(f"  data = load_dataset({card.name!r}{where})", wrap=False)


class _DownloadBar:
    """What a download calls, drawn by rich."""

    def __init__(self, progress: Progress, description: str) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=None)
        self._total = 0

    @property
    def total(self) -> int:
        """Bytes to come in all; zero where the server does not say."""
        return self._total

    @total.setter
    def total(self, value: int) -> None:
        self._total = value
        self._progress.update(self._task, total=value or None)

    def update(self, advance: int) -> None:
        """Count bytes that came."""
        self._progress.advance(self._task, advance)

    def reset(self) -> None:
        """Start over."""
        self._progress.reset(self._task, total=None)
