"""``disambig fit``: train on a table of your own."""

from pathlib import Path
from typing import Annotated

import typer

from disambig.cli.option_groups import with_option_groups
from disambig.cli.table_options import (
    FeatureOptions,
    FileOptions,
    LabelOptions,
    MethodOptions,
    TableFile,
)

__all__ = ["fit"]


@with_option_groups
def fit(
    file: TableFile,
    out: Annotated[Path, typer.Option(help="Folder for the model.", metavar="MODEL")],
    how: FileOptions,
    labels: LabelOptions,
    features: FeatureOptions,
    learning: MethodOptions,
    folds: Annotated[
        int,
        typer.Option(
            min=0,
            help="Models trained on all rows but a fold, for the estimate; 0 leaves it out.",
            rich_help_panel="Learning",
        ),
    ] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a classifier on rows of which one of several labels is right.

    Prints what held-out rows say about it, without any true label; with --truth also the accuracy.
    Interrupted, the same command goes on where it was.

    Example: disambig fit vehicles.csv --labels label --out model
    """
    # keeps --help quick
    from disambig.cli.fit_view import FitView
    from disambig.cli.loaded_table import load_table, method_of, task_of
    from disambig.cli.talk import print_json, say, say_notices
    from disambig.workbench.fitting import check_folds, fit_task
    from disambig.workbench.model.model_folder import (
        check_method_can_be_saved,
        check_model_folder_is_free,
    )
    from disambig.workbench.work_folder import unfinished_work, work_fingerprint

    # Before the work, not after it.
    check_model_folder_is_free(out)
    check_folds(folds, minimum=0)
    method = method_of(learning)
    check_method_can_be_saved(method)
    table = load_table(file, how, labels, features)
    task = task_of(table, learning.decisions)
    say_notices((*table.notices, *task.notices))
    fingerprint = work_fingerprint(
        task.values, task.candidates, method, folds=folds, seed=learning.seed
    )
    with unfinished_work(f"{out}.partial", fingerprint) as work, FitView() as view:
        model = fit_task(task, method, n_folds=folds, seed=learning.seed, listener=view, work=work)
        model.save(out)
    estimate = model.estimate
    if json:
        print_json(
            {
                "model": str(out),
                "method": method.card.name,
                "rows": len(task.candidates),
                "features": [column.name for column in task.plan.columns],
                "labels": task.candidates.classes.tolist(),
                "estimate": None if estimate is None else estimate.model_dump(),
                "notices": [*table.notices, *task.notices],
            }
        )
        return
    if estimate is not None:
        say(str(estimate))
    say(f"The model is in {out}. Use it: disambig predict {out} FILE --out OUT")
