"""``disambig clean``: the label to believe in every row of a table of your own."""

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

__all__ = ["clean"]


@with_option_groups
def clean(
    file: TableFile,
    out: Annotated[
        str, typer.Option(help="File for the cleaned table; - is standard output.", metavar="CLEAN")
    ],
    how: FileOptions,
    labels: LabelOptions,
    features: FeatureOptions,
    learning: MethodOptions,
    folds: Annotated[
        int,
        typer.Option(
            min=2,
            help="Models trained on all rows but a fold, which they then judge.",
            rich_help_panel="Learning",
        ),
    ] = 5,
    in_sample: Annotated[
        bool,
        typer.Option(
            "--in-sample",
            help="One model judges the rows it was trained on: quicker, and surer than it should "
            "be.",
            rich_help_panel="Learning",
        ),
    ] = False,
    find: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of the expected errors that a second look is to find."
        ),
    ] = 0.9,
    prefix: Annotated[str, typer.Option(help="Put before the names of the new columns.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Choose a label for every row, and say how sure that is and where to look again.

    The table comes back with all its rows and columns in order, and new columns at the end:
    chosen_label, confidence, margin to the next candidate, second_look, candidate_confidences.
    Interrupted, the same command goes on where it was.

    Example: disambig clean vehicles.csv --labels label --out vehicles-clean.csv
    """
    # keeps --help quick
    from disambig.cli.clean_summary import clean_summary, summary_in_words
    from disambig.cli.fit_view import FitView
    from disambig.cli.loaded_table import load_table, method_of, task_of
    from disambig.cli.results import check_output, output_delimiter, partial_folder
    from disambig.cli.talk import print_json, say, say_notices
    from disambig.tables.files.write import write_table
    from disambig.tables.new_columns import append_columns, check_new_columns
    from disambig.workbench.cleaning import CLEAN_COLUMNS, clean_task
    from disambig.workbench.work_folder import unfinished_work, work_fingerprint

    check_output(out, json=json)  # before the work, not after it
    method = method_of(learning)
    table = load_table(file, how, labels, features)
    check_new_columns(table.frame, CLEAN_COLUMNS, prefix)
    task = task_of(table, learning.decisions)
    say_notices((*table.notices, *task.notices))
    settings = {"folds": None if in_sample else folds, "seed": learning.seed}
    fingerprint = work_fingerprint(task.values, task.candidates, method, **settings)
    with unfinished_work(partial_folder(out), fingerprint) as work, FitView() as view:
        cleaned = clean_task(
            task,
            method,
            in_sample=in_sample,
            errors_to_find=find,
            n_folds=folds,
            seed=learning.seed,
            listener=view,
            work=work,
        )
        result = append_columns(table.frame, cleaned, prefix)
        write_table(result, out, delimiter=output_delimiter(out, how.delimiter))
    summary = clean_summary(task, cleaned, out)
    if json:
        print_json({**summary, "notices": [*table.notices, *task.notices]})
    else:
        say(summary_in_words(summary))
