"""``disambig clean``: choose a label for every row of your own table."""

import sys
from typing import Annotated

import typer

from disambig.cli.console import (
    collected_notices,
    path_word,
    print_json,
    say,
    say_next,
    say_of_misses,
    say_path,
)
from disambig.cli.fit import FitView, interrupts_explained
from disambig.cli.label_options import LabelOptions
from disambig.cli.option_groups import option_words, with_option_groups
from disambig.cli.options import (
    ExcelSafe,
    FeatureOptions,
    FileOptions,
    GroupOptions,
    Json,
    MethodOptions,
    Overwrite,
    Prefix,
    TableFile,
    learning_option,
)
from disambig.cli.together import training_together
from disambig.tabular.defaults import DEFAULT_ERRORS_TO_FIND, DEFAULT_FOLDS
from disambig.tabular.files.formats import split_name
from disambig.tabular.fit_queue import FitWorkers


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
    groups: GroupOptions,
    learning: MethodOptions,
    file_options: FileOptions,
    folds: Annotated[
        int,
        learning_option(
            min=2,
            help="Number of folds; each is labelled by a model that was trained on the others.",
            metavar="COUNT",
        ),
    ] = DEFAULT_FOLDS,
    relabel: Annotated[
        bool,
        typer.Option(
            "--relabel",
            help="Let chosen_label be a label from outside the row's set where that is more "
            "probable than any of its candidates.",
        ),
    ] = False,
    in_sample: Annotated[
        bool,
        learning_option(
            "--in-sample",
            help="Train one model on all rows, and let it choose their labels: quicker, but "
            "overconfident.",
        ),
    ] = False,
    errors_to_find: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Mark enough rows for a second look to hold this share of the expected errors.",
            metavar="SHARE",
        ),
    ] = DEFAULT_ERRORS_TO_FIND,
    prefix: Prefix = "",
    excel_safe: ExcelSafe = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Choose a label for every row, and mark the doubtful ones.

    Writes the table, all rows and columns in order, with new columns at the end: chosen_label,
    confidence, margin to the next candidate, second_look and candidate_confidences; then
    miss_probability, that the right label is not in the row's set, and label_if_missed. If a run
    is interrupted, the same command continues it.

    Example: disambig clean vehicles.csv --labels label --out vehicles-clean.csv

    Example, with rows that a person has settled: disambig clean vehicles.csv --labels label
    --decisions decisions.csv --out vehicles-clean.csv
    """
    with (
        interrupts_explained(out),
        FitView() as view,
        collected_notices(view.console) as notices,
        training_together() as n_processes,
        FitWorkers(learning.jobs or -1 if n_processes == 1 else 1) as workers,
    ):
        # They load libraries while this process does.
        workers.start(1 if in_sample else folds, learning.method)
        # keeps --help quick
        from disambig.cli.table_files import (
            check_output,
            load_decisions,
            load_table,
            method_of,
            miss_rate_of,
        )
        from disambig.tabular.cleaning import clean_table
        from disambig.tabular.files.content import STANDARD_STREAM

        delimiter = check_output(
            out,
            json=json,
            sources=[file, labels.annotations, *(learning.decisions or ())],
            delimiter=file_options.delimiter,
            overwrite=overwrite,
        )
        frame, columns = load_table(
            file, file_options, labels, features, groups, unnamed_groups=False
        )
        clean_table(
            frame,
            **columns,
            method=method_of(learning, 1 if in_sample else folds, frame),
            decisions=load_decisions(learning.decisions, frame, columns["id"], file_options),
            use_truth=learning.use_truth,
            miss_rate=miss_rate_of(learning),
            calibrate=learning.calibrate.value,
            relabel=relabel,
            in_sample=in_sample,
            errors_to_find=errors_to_find,
            n_folds=folds,
            random_state=learning.seed,
            n_jobs=workers,
            prefix=prefix,
            out=out,
            delimiter=delimiter,
            excel_safe=excel_safe,
            command=sys.argv[1:],
            listener=view,
        )
    if json:
        print_json({"out": out, **view.summary.model_dump(), "notices": notices})
        return
    say(str(view.summary))
    say_of_misses(view.summary.misses, learning.miss_rate)
    if out == STANDARD_STREAM:
        return
    say_path("The cleaned table:", out)
    if not excel_safe:  # such a file is to be looked at, not to be read again
        _say_next(out, delimiter)


def _say_next(out: str, delimiter: str | None) -> None:
    given = [path_word(out), *option_words(FileOptions(delimiter=delimiter))]
    page = path_word(f"{split_name(out)[0]}.html")
    say_next(
        ("make a page with charts", ["report", *given, "--out", page]),
        ("settle the doubtful rows in the browser", ["review", *given]),
    )
