"""``disambig fit``: train on a table of your own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from disambig.cli.console import collected_notices, people_console, print_json, say
from disambig.cli.options import (
    FeatureOptions,
    FileOptions,
    Json,
    LabelOptions,
    MethodOptions,
    TableFile,
    learning_option,
    with_option_groups,
)
from disambig.tabular.defaults import DEFAULT_FOLDS
from disambig.tabular.fit_queue import FitWorkers
from disambig.tabular.listener import FitListener

if TYPE_CHECKING:
    from pydantic import BaseModel


@with_option_groups
def fit(
    file: TableFile,
    out: Annotated[Path, typer.Option(help="Folder for the model.", metavar="MODEL")],
    labels: LabelOptions,
    features: FeatureOptions,
    learning: MethodOptions,
    file_options: FileOptions,
    folds: Annotated[
        int,
        learning_option(
            min=0,
            help="Train this many more models, each without a part of the rows, to see how well "
            "rows are predicted that a model has not seen; 0 leaves that out.",
        ),
    ] = DEFAULT_FOLDS,
    json: Json = False,
) -> None:
    """Train a classifier on rows of which one of several labels is right.

    Prints what held-out rows say about it, without any true label; with --truth also the accuracy.
    Interrupted, the same command goes on where it was.

    Example: disambig fit vehicles.csv --labels label --out model

    Example, three annotators: disambig fit photos.csv --labels ann --labels bob --labels eve
    --votes --out model
    """
    with (
        collected_notices() as notices,
        FitWorkers(learning.jobs or -1) as workers,
        FitView() as view,
    ):
        workers.start(folds + 1, learning.method)  # they load libraries while this process does
        # keeps --help quick
        from disambig.cli.table_files import load_decisions, load_table, method_of
        from disambig.tabular.fitting import fit_table

        method = method_of(learning)
        frame, columns = load_table(file, file_options, labels, features)
        model = fit_table(
            frame,
            **columns,
            method=method,
            decisions=load_decisions(learning.decisions, frame, columns["id"], file_options),
            n_folds=folds,
            random_state=learning.seed,
            n_jobs=workers,
            out=out,
            listener=view,
        )
    estimate = model.estimate
    # What a method chose by itself, where it does.
    selection = getattr(model.classifier, "selection_", None)
    if json:
        print_json(
            {
                "model": str(out),
                "method": method.card.name,
                "rows": len(frame),
                "features": model.plan.names,
                "labels": model.classes.tolist(),
                "selection": None if selection is None else selection.to_dict(),
                "estimate": None if estimate is None else estimate.model_dump(),
                "notices": notices,
            }
        )
        return
    if selection is not None:
        say(f"{selection}\n")
    if estimate is not None:
        say(str(estimate))
    say(f"The model is in {out}. Use it: disambig predict {out} FILE --out OUT")


class FitView(FitListener):
    """Show which models are being trained, how far they are, and the time left for all of them.

    A live bar in a terminal, a line for each model elsewhere.
    """

    def __init__(self) -> None:
        # keeps --help quick
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = people_console()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("Training", total=None)
        self._n_fits = 0
        self._n_done = 0
        self._epochs: dict[str, int] = {}  # seen of every model that is being trained
        self._expected = 0  # epochs of a model, in all of its trainings

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def on_fits_start(self, n_fits: int) -> None:
        """Know how much there is to do."""
        self._n_fits = n_fits
        self._bar.start()
        self._bar.update(self._task, total=n_fits)

    def on_fit_start(self, title: str) -> None:
        """Say which model is next."""
        self._epochs[title] = 0
        if not self._console.is_terminal:
            number = self._n_done + len(self._epochs)
            say(f"Training: {title} ({number} of {self._n_fits})", self._console)
        self._refresh()

    def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:  # noqa: ARG002
        """Move the bar by an epoch."""
        self._epochs[title] += 1
        self._expected = max(self._expected, n_epochs)
        self._refresh()

    def on_fit_end(self, title: str) -> None:
        """Move the bar to the end of the model; the others take about as many epochs."""
        # One that was done before has none now.
        self._expected = self._epochs.pop(title) or self._expected
        self._n_done += 1
        self._refresh()

    def _refresh(self) -> None:
        parts = [min(1.0, seen / max(1, self._expected)) for seen in self._epochs.values()]
        # A model may have several trainings: how many is known when one is done. Never go back.
        completed = max(self._bar.tasks[0].completed, self._n_done + sum(parts))
        titles = list(self._epochs)
        what = " and ".join(titles) if len(titles) <= 2 else f"{len(titles)} models"
        description = f"Training: {what}" if titles else "Training"
        self._bar.update(self._task, description=description, completed=completed)

    def on_cleaned(self, summary: "BaseModel") -> None:
        """Keep what cleaning did."""
        self.summary = summary
