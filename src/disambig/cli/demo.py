"""``disambig demo``: the main job in small, on data inside the package."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from disambig.datasets.dataset import PartialLabelDataset
    from disambig.methods.card import MethodCard
    from disambig.study.crossval import ControlledCorruption, FoldScore

__all__ = ["demo"]


def demo(
    dataset: Annotated[str, typer.Option(help="A dataset with true labels.")] = "glass",
    p: Annotated[float, typer.Option(help="Share of the rows that get false labels.")] = 0.7,
    r: Annotated[int, typer.Option(help="False labels that each of them gets.")] = 2,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 10,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of folds, corruption and methods.")
    ] = 0,
) -> None:
    """Hide the true labels of a dataset among false ones, learn, and compare.

    Example: disambig demo --dataset ecoli --p 0.4 --r 3
    """
    from disambig.datasets.catalogue import load_dataset  # keeps --help quick
    from disambig.study.crossval import ControlledCorruption, mean_and_std_text

    data = load_dataset(dataset)
    corruption = ControlledCorruption(p=p, r=r)
    console = Console()
    table = Table("", "method", "accuracy", "training rows set right")
    for card, scores in _scores(data, corruption, folds, seed, console):
        table.add_row(
            "" if card.role == "method" else card.role,
            card.name,
            mean_and_std_text([score.accuracy for score in scores]),
            mean_and_std_text([score.transductive_accuracy for score in scores]),
        )
    console.print(
        f"{data.name}: {len(data.X)} rows, {data.X.shape[1]} features, "
        f"{len(data.candidates.classes)} classes. {p:.0%} of the training rows get {r} false "
        f"labels each. {folds} folds, seed {seed}.",
        markup=False,
    )
    console.print(table)
    console.print("Mean and standard deviation over the folds; accuracy on held-out rows.")
    console.print("'disambig methods' says what each method is.")


def _scores(
    data: "PartialLabelDataset",
    corruption: "ControlledCorruption",
    folds: int,
    seed: int,
    console: Console,
) -> Iterator[tuple["MethodCard", list["FoldScore"]]]:
    from disambig.methods.catalogue import all_methods  # keeps --help quick
    from disambig.study.crossval import cross_validate

    # From the floors to the ceiling.
    order = ("floor", "method", "ceiling")
    methods = sorted(all_methods().values(), key=lambda method: order.index(method.card.role))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("folds", total=folds * len(methods))
        for method in methods:
            progress.update(task, description=method.card.name)
            scores = []
            for score in cross_validate(
                method(), data, n_folds=folds, seed=seed, corruption=corruption
            ):
                scores.append(score)
                progress.advance(task)
            yield method.card, scores
