"""A progress bar for a training: an event listener, quiet where nobody watches."""

from typing import Any

from disambig.engine.training import Training


class ProgressBar:
    """Show the epoch, the measures of the rule, the covering rate and the time left.

    Parameters
    ----------
    title : str
        What is being trained.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._progress: Any = None

    def on_fit_start(self, training: Training) -> None:
        """Draw the bar, in a terminal or a notebook; elsewhere nothing is written."""
        # Only those who want to see a bar need rich.
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = Console()
        watched = console.is_terminal or console.is_jupyter
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not watched,
        )
        self._task = self._progress.add_task(
            self._title, total=training.settings.epochs, completed=training.epoch, state=""
        )
        self._progress.start()

    def on_epoch_end(self, training: Training) -> None:
        """Move the bar on."""
        mean = {name: float(values.mean()) for name, values in training.measures.items()}
        names = list(mean)
        # The measures of the rule come first.
        of_rule = [f"{name} {mean[name]:.2f}" for name in names[: names.index("agreement")]]
        state = "  ".join([*of_rule, f"covered {mean['covering_rate']:.3f}"])
        self._progress.update(self._task, completed=training.epoch, state=state)

    def on_interrupt(self, training: Training) -> None:  # noqa: ARG002  # as listeners are called
        """Give the terminal back."""
        if self._progress is not None:
            self._progress.stop()

    def on_fit_end(self, training: Training) -> None:  # noqa: ARG002  # as listeners are called
        """Leave the bar as it is."""
        self._progress.stop()
