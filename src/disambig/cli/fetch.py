"""``disambig fetch``: download a real-world dataset."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn


def fetch(
    name: Annotated[str, typer.Argument(help="Name of a dataset, see 'disambig datasets'.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to put the file; by default the cache.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Another address, for example of a mirror.")
    ] = None,
) -> None:
    """Download a real-world dataset, unpack it and check that it is the known file.

    Example: disambig fetch lost
    """
    from disambig.datasets.card import find_card  # keeps --help quick
    from disambig.datasets.download import card_address, fetch_dataset

    card = find_card(name)
    card_address(card)  # refuses data inside the package before anything is shown
    console = Console()
    console.print(f"{card.title}\nLicence: {card.licence}\nCite: {card.citation}", markup=False)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=console
    ) as progress:
        path = fetch_dataset(
            name, folder=folder, url=url, progress=_DownloadBar(progress, card.name)
        )
    console.print(f"The data is in {path}", markup=False, soft_wrap=True)


class _DownloadBar:
    """What pooch calls while it downloads, drawn by rich."""

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
        """Start over, keeping the total."""
        self._progress.reset(self._task, total=self._total or None)

    def close(self) -> None:
        """Do nothing: the bar is closed by its owner."""
