"""``disambig fit``: train on a table of your own."""

from pathlib import Path
from typing import Annotated

import typer

from disambig.cli.option_groups import with_option_groups
from disambig.cli.table_options import (
    LEARNING,
    FeatureOptions,
    FileOptions,
    Json,
    LabelOptions,
    MethodOptions,
    TableFile,
)
from disambig.tabular.defaults import DEFAULT_FOLDS

__all__ = ["fit"]


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
        typer.Option(
            min=0,
            help="Train this many more models, each without a part of the rows, to see how well "
            "rows are predicted that a model has not seen; 0 leaves that out.",
            rich_help_panel=LEARNING,
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
    # keeps --help quick
    from disambig.cli.console import print_json, say, say_notices
    from disambig.cli.fit_view import FitView
    from disambig.cli.table_files import load_table, method_of, partial_folder, task_of
    from disambig.tabular.fitting import fit_task
    from disambig.tabular.model.model_folder import (
        check_method_can_be_saved,
        check_model_folder_is_free,
    )
    from disambig.tabular.out_of_fold import check_folds
    from disambig.tabular.work_folder import unfinished_work

    # Before the work, not after it.
    check_model_folder_is_free(out)
    if folds:
        check_folds(folds)
    method = method_of(learning)
    check_method_can_be_saved(method)
    table = load_table(file, file_options, labels, features)
    task = task_of(table, learning.decisions, file_options)
    notices = [*table.notices, *task.notices]
    say_notices(notices)
    with (
        unfinished_work(partial_folder(out), task, method, folds=folds, seed=learning.seed) as work,
        FitView() as view,
    ):
        model = fit_task(task, method, n_folds=folds, seed=learning.seed, listener=view, work=work)
        model.save(out)
    estimate = model.estimate
    # What a method chose by itself, where it does.
    selection = getattr(model.method, "selection_", None)
    if json:
        print_json(
            {
                "model": str(out),
                "method": method.card.name,
                "rows": len(task.candidates),
                "features": task.plan.names,
                "labels": task.candidates.classes.tolist(),
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
