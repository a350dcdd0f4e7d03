"""What is seen of fits while they run: a live bar in a terminal, a line for each elsewhere."""

from typing import Self

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from disambig.cli.console import people_console, say
from disambig.tabular.out_of_fold import FitListener

__all__ = ["FitView"]


class FitView(FitListener):
    """Show which fit is running, its epochs, and the time left for all of them."""

    def __init__(self) -> None:
        self._console = people_console()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[epoch]}"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("Training", total=None, epoch="")
        self._n_fits = 0
        self._n_done = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def on_fits_start(self, n_fits: int) -> None:
        """Know how much there is to do."""
        self._n_fits = n_fits
        self._bar.update(self._task, total=n_fits)

    def on_fit_start(self, title: str) -> None:
        """Say which fit is next."""
        self._bar.update(self._task, description=f"Training: {title}", epoch="")
        if not self._console.is_terminal:
            say(f"Training: {title} ({self._n_done + 1} of {self._n_fits})", self._console)

    def on_epoch_end(self, epoch: int, n_epochs: int) -> None:
        """Move the bar by an epoch."""
        self._bar.update(
            self._task,
            completed=self._n_done + epoch / n_epochs,
            epoch=f"epoch {epoch} of {n_epochs}",
        )

    def on_fit_end(self) -> None:
        """Move the bar to the end of the fit."""
        self._n_done += 1
        self._bar.update(self._task, completed=self._n_done)
