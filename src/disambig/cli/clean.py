"""``disambig clean``: the label to believe in every row of a table of your own."""

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
    Prefix,
    TableFile,
)
from disambig.tabular.defaults import DEFAULT_ERRORS_TO_FIND, DEFAULT_FOLDS

__all__ = ["clean"]


@with_option_groups
def clean(
    file: TableFile,
    out: Annotated[
        str,
        typer.Option(
            help="File for the cleaned table; - is standard output, as CSV.", metavar="CLEAN"
        ),
    ],
    labels: LabelOptions,
    features: FeatureOptions,
    learning: MethodOptions,
    file_options: FileOptions,
    folds: Annotated[
        int,
        typer.Option(
            min=2,
            help="Train this many models, each without a part of the rows, which it then judges.",
            rich_help_panel=LEARNING,
        ),
    ] = DEFAULT_FOLDS,
    in_sample: Annotated[
        bool,
        typer.Option(
            "--in-sample",
            help="Train one model that judges the rows it has seen: quicker, and surer than it "
            "should be.",
            rich_help_panel=LEARNING,
        ),
    ] = False,
    errors_to_find: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Mark rows for a second look that hold this share of the expected errors.",
        ),
    ] = DEFAULT_ERRORS_TO_FIND,
    prefix: Prefix = "",
    json: Json = False,
) -> None:
    """Choose a label for every row, and say how sure that is and where to look again.

    The table comes back with all its rows and columns in order, and new columns at the end:
    chosen_label, confidence, margin to the next candidate, second_look, candidate_confidences.
    Interrupted, the same command goes on where it was.

    Example: disambig clean vehicles.csv --labels label --out vehicles-clean.csv

    Example, with rows that a person has settled: disambig clean vehicles.csv --labels label
    --decisions decisions.csv --out vehicles-clean.csv
    """
    # keeps --help quick
    from disambig.cli.console import print_json, say, say_notices
    from disambig.cli.fit_view import FitView
    from disambig.cli.table_files import (
        check_output,
        load_table,
        method_of,
        output_delimiter,
        partial_folder,
        task_of,
        where_it_is,
    )
    from disambig.tabular.clean_details import describe_cleaning, write_details
    from disambig.tabular.cleaning import clean_task, summarise_cleaning
    from disambig.tabular.files.formats import STANDARD_STREAM, write_table
    from disambig.tabular.table_columns import CLEAN_COLUMNS, append_columns, check_new_columns
    from disambig.tabular.work_folder import unfinished_work

    check_output(out, json=json, source=file)  # before the work, not after it
    method = method_of(learning)
    table = load_table(file, file_options, labels, features)
    check_new_columns(table.frame, CLEAN_COLUMNS, prefix)
    task = task_of(table, learning.decisions, file_options)
    notices = [*table.notices, *task.notices]
    say_notices(notices)
    settings = {"folds": None if in_sample else folds, "seed": learning.seed}
    with (
        unfinished_work(partial_folder(out), task, method, **settings) as work,
        FitView() as view,
    ):
        cleaning = clean_task(
            task,
            method,
            in_sample=in_sample,
            errors_to_find=errors_to_find,
            n_folds=folds,
            seed=learning.seed,
            listener=view,
            work=work,
        )
        result = append_columns(table.frame, cleaning.columns, prefix)
        delimiter = output_delimiter(out, file_options.delimiter)
        write_table(result, out, delimiter=delimiter)
        summary = summarise_cleaning(task, cleaning.columns)
        if out != STANDARD_STREAM:
            details = describe_cleaning(
                task,
                method,
                cleaning,
                accuracy=summary.accuracy,
                folds=settings["folds"],
                seed=learning.seed,
                errors_to_find=errors_to_find,
                prefix=prefix,
                labels=table.label_columns,
                id=table.columns["id"],
            )
            write_details(details, out)
    if json:
        print_json({"out": out, **summary.model_dump(), "notices": notices})
    else:
        say(f"{summary}{where_it_is(out)}")
