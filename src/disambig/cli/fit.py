"""``disambig fit``: train on your own table."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self, cast

import typer

from disambig._core.messages import plural, printable
from disambig.cli.console import (
    collected_notices,
    duration,
    path_word,
    people_console,
    print_json,
    say,
    say_next,
    say_of_misses,
    say_path,
)
from disambig.cli.help_pages import INTERRUPTED
from disambig.cli.label_options import LabelOptions
from disambig.cli.option_groups import option_words, with_option_groups
from disambig.cli.options import (
    CoverageKind,
    FeatureOptions,
    FileOptions,
    GroupOptions,
    Json,
    MethodOptions,
    TableFile,
    learning_option,
)
from disambig.cli.together import training_together
from disambig.tabular.defaults import DEFAULT_FOLDS
from disambig.tabular.fit_queue import FitWorkers
from disambig.tabular.listener import FitListener

if TYPE_CHECKING:
    from pydantic import BaseModel

    from disambig.methods.base import PartialLabelClassifier
    from disambig.tabular.cleaning import CleanSummary

# Models that were trained before come back at once and say nothing of how long others take.
_SHORTEST_FIT_TO_JUDGE_BY = 1.0  # seconds
# What is over sooner is not worth a line.
_SHORTEST_TO_FORETELL = 5.0  # seconds


@with_option_groups
def fit(
    file: TableFile,
    out: Annotated[Path, typer.Option(help="Folder for the model.", metavar="MODEL")],
    labels: LabelOptions,
    features: FeatureOptions,
    groups: GroupOptions,
    learning: MethodOptions,
    file_options: FileOptions,
    folds: Annotated[
        int,
        learning_option(
            min=0,
            help="Number of folds, to estimate how well unseen rows are predicted: trains one more "
            "model for each. 0 skips the estimate.",
            metavar="COUNT",
        ),
    ] = DEFAULT_FOLDS,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Let predictions list the labels that cannot be ruled out; the right one should "
            "be among them with this probability, such as 0.9.",
            metavar="SHARE",
        ),
    ] = None,
    coverage_kind: Annotated[
        CoverageKind,
        typer.Option(
            help="What these lists promise. estimated: the right label, if the confidences are "
            "right. weak: a label of the row's candidate set. safe: the right label, "
            "whatever the sets are like; lists are long."
        ),
    ] = CoverageKind.estimated,
    json: Json = False,
) -> None:
    """Train a classifier on rows that have several candidate labels.

    Prints how well it predicts held-out rows, which needs no true labels; with --truth also the
    accuracy. If a run is interrupted, the same command continues it.

    Example: disambig fit vehicles.csv --labels label --out model

    Example, three annotators: disambig fit photos.csv --labels ann --labels bob --labels eve
    --votes --out model

    Example, regions of pictures: disambig fit regions.csv --labels caption --group picture
    --out model
    """
    with (
        interrupts_explained(out),
        FitView() as view,
        collected_notices(view.console) as notices,
        training_together() as n_processes,
        FitWorkers(learning.jobs or -1 if n_processes == 1 else 1) as workers,
    ):
        workers.start(folds + 1, learning.method)  # they load libraries while this process does
        # keeps --help quick
        from disambig.cli.table_files import load_decisions, load_table, method_of, miss_rate_of
        from disambig.tabular.fitting import fit_table

        frame, columns = load_table(file, file_options, labels, features, groups)
        method = method_of(learning, folds + 1, frame)
        model = fit_table(
            frame,
            **columns,
            method=method,
            decisions=load_decisions(learning.decisions, frame, columns["id"], file_options),
            use_truth=learning.use_truth,
            miss_rate=miss_rate_of(learning),
            calibrate=learning.calibrate.value,
            coverage=coverage,
            coverage_kind=coverage_kind.value,
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
                "coverage": None if model.coverage is None else asdict(model.coverage),
                "notices": notices,
            }
        )
        return
    if selection is not None:
        say(f"{selection}\n")
    if estimate is not None:
        say(str(estimate))
        # Where a method weighs classes, and was not told to.
        if estimate.never_predicted is not None and unweighted_classes(method):
            say(
                "Try --set class_weight=balanced, which lets rare labels count as much as "
                "frequent ones."
            )
        say_of_misses(estimate.misses, learning.miss_rate)
    if model.coverage is not None:
        say(str(model.coverage))
    say_path("The model:", out)
    _say_next(file, out, file_options, has_embeddings=columns["embeddings"] is not None)


@contextmanager
def interrupts_explained(out: str | Path) -> Iterator[None]:
    """Say, where an interrupt ends the block, what is kept and that the same command goes on."""
    try:
        yield
    except KeyboardInterrupt:
        from disambig.tabular.work_folder import kept_work  # keeps --help quick

        kept = kept_work(out)
        if kept is None:
            say("Interrupted before any training was kept. Run the same command to start again.")
        else:
            say_path("Interrupted. Run the same command to go on. What is done is kept in", kept)
        raise typer.Exit(INTERRUPTED) from None


def unweighted_classes(method: "PartialLabelClassifier") -> bool:
    """Tell whether a method could weigh its classes, and does not."""
    parameters = method.get_params(deep=False)
    return "class_weight" in parameters and parameters["class_weight"] is None


def _say_next(file: str, model: Path, options: FileOptions, *, has_embeddings: bool) -> None:
    # Beside the table that 'disambig example' writes are new rows; elsewhere we know of none.
    new = Path(file).with_name(f"new-{Path(file).name}")
    is_there = new.is_file()
    rows = [path_word(new), *option_words(options)] if is_there else ["NEW.csv"]
    if has_embeddings:
        rows += ["--features", "NEW.npy"]
    purpose = "predict labels" if is_there else "predict labels (NEW.csv: your new rows)"
    say_next((purpose, ["predict", path_word(model), *rows, "--out", "predictions.csv"]))


class FitView(FitListener):
    """Show which models are being trained, at which epoch they are, and what is known of the rest.

    How many epochs a model takes in all is known when one is done: a method may train several
    networks one after the other. Until then the bar moves without a length.
    """

    def __init__(self) -> None:
        # keeps --help quick
        from rich.progress import BarColumn, Progress, TextColumn

        self.console = people_console()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[known]}", markup=False),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
            expand=True,
            redirect_stdout=False,  # a table may be on its way there
        )
        self._task = self._bar.add_task("Reading the table", total=None, known="")
        self._n_fits = 0
        self._n_done = 0
        self._started: dict[str, float] = {}  # when every model began that is being trained
        self._seen: dict[str, int] = {}  # its epochs so far, in all of its trainings
        self._epoch: dict[str, str] = {}  # where its training is now
        self._epochs_of_a_model = 0  # of one that is done
        self._slowest = 0.0  # seconds, of the models that are done

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def on_described(self, column: str, n_done: int, n_cells: int) -> None:
        """Show how far a column is."""
        is_done = n_done == n_cells
        self._bar.update(
            self._task,
            description="Reading the table" if is_done else f"Reading {printable(column, 40)}",
            total=None if is_done else n_cells,
            completed=0 if is_done else n_done,
            known="" if is_done else f"{n_done:,} of {n_cells:,}",
        )

    def on_rows_done(self, title: str, n_done: int, n_rows: int) -> None:
        """Show how far the rows of a table on disk are."""
        is_done = n_done == n_rows
        self._bar.update(
            self._task,
            description="Training" if is_done else title,
            total=None if is_done else n_rows,
            completed=0 if is_done else n_done,
            known="" if is_done else f"{n_done:,} of {n_rows:,} rows",
        )

    def on_fits_start(self, n_fits: int) -> None:
        """Know how much more there is to do."""
        self._n_fits += n_fits
        self._refresh()

    def on_time_estimated(self, n_fits: int, seconds: float) -> None:
        """Say how long all of it will take."""
        if seconds >= _SHORTEST_TO_FORETELL:
            say(f"{plural(n_fits, 'model')}, about {duration(seconds)}.", self.console)

    def on_fit_start(self, title: str) -> None:
        """Say which model is next."""
        self._started[title], self._seen[title] = time.monotonic(), 0
        if not self.console.is_terminal:
            number = self._n_done + len(self._seen)
            say(f"Training: {title} ({number} of {self._n_fits})", self.console)
        self._refresh()

    def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:
        """Move by an epoch."""
        self._seen[title] += 1
        self._epoch[title] = f", epoch {epoch} of {n_epochs}"
        self._refresh()

    def on_fit_end(self, title: str) -> None:
        """Move to the end of the model; the others take about as many epochs, and as long."""
        self._slowest = max(self._slowest, time.monotonic() - self._started.pop(title))
        # One that was done before has none now.
        self._epochs_of_a_model = self._seen.pop(title) or self._epochs_of_a_model
        self._epoch.pop(title, None)
        self._n_done += 1
        self._refresh()

    def on_cleaned(self, summary: "BaseModel") -> None:
        """Keep what cleaning did."""
        self.summary = cast("CleanSummary", summary)

    def _refresh(self) -> None:
        total = self._n_fits if self._n_done else None
        completed = self._n_done + self._share_of_running()
        # A model may take fewer epochs than the one before. Never go back.
        completed = max(self._bar.tasks[0].completed, completed)
        self._bar.update(
            self._task,
            description=self._description(),
            total=total,
            completed=completed,
            known=f"{completed / total:.0%}{self._time_left()}" if total else "",
        )

    def _share_of_running(self) -> float:
        if not self._epochs_of_a_model:
            return 0
        return sum(min(1, seen / self._epochs_of_a_model) for seen in self._seen.values())

    def _description(self) -> str:
        titles = list(self._seen)
        if not titles:
            return "Training"
        what = " and ".join(titles) if len(titles) <= 2 else f"{len(titles)} models"
        # Of the one that has run longest: there is no room for more.
        return f"Training: {what}{self._epoch.get(titles[0], '')}"

    def _time_left(self) -> str:
        """Return the time left if the other models take as long as the slowest so far."""
        if self._slowest < _SHORTEST_FIT_TO_JUDGE_BY or self._n_done == self._n_fits:
            return ""
        now, n_running = time.monotonic(), len(self._started)
        of_running = (max(0, self._slowest - (now - then)) for then in self._started.values())
        work = sum(of_running) + self._slowest * (self._n_fits - self._n_done - n_running)
        return f", about {duration(work / max(1, n_running))} left"
