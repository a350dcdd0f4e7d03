"""``disambig predict``: labels for new rows."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from disambig.cli.console import (
    collected_notices,
    path_word,
    print_json,
    say,
    say_next,
    say_path,
)
from disambig.cli.fit import FitView
from disambig.cli.label_options import NewSetOptions
from disambig.cli.option_groups import with_option_groups
from disambig.cli.options import (
    ExcelSafe,
    FileOptions,
    GroupOptions,
    ImageModel,
    Json,
    Overwrite,
    Prefix,
    TableFile,
    TextModel,
    feature_option,
)


@with_option_groups
def predict(
    model: Annotated[
        Path, typer.Argument(help="Folder that 'disambig fit' wrote.", metavar="MODEL")
    ],
    file: TableFile,
    out: Annotated[
        str,
        typer.Option(help="File for the predictions; - is standard output, as CSV.", metavar="OUT"),
    ],
    labels: NewSetOptions,
    groups: GroupOptions,
    file_options: FileOptions,
    image_model: ImageModel = None,
    text_model: TextModel = None,
    features: Annotated[
        Path | None,
        feature_option(
            help="The .npy or .npz file of embeddings of the new rows, if the model was trained "
            "with some.",
            metavar="FILE",
        ),
    ] = None,
    id: Annotated[
        str | None,
        feature_option(help="Column that names the rows in a .npz file of embeddings."),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many labels to give for a row, the most probable first.",
            metavar="COUNT",
        ),
    ] = 1,
    prefix: Prefix = "",
    excel_safe: ExcelSafe = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Predict the labels of new rows.

    Writes the table, all rows and columns in order, with new columns at the end: predicted_label
    and probability, with --top also label_2, probability_2 and so on. If the model was fitted with
    --coverage, possible_labels lists those that cannot be ruled out. New rows that come with
    candidate labels (--labels) get one of these.

    Example: disambig predict model new-vehicles.csv --out predictions.csv --top 2

    Example, new pictures with captions: disambig predict model regions.csv --labels caption
    --group picture --promise cover --out predictions.csv

    Example, in a pipe: cat new-vehicles.csv | disambig predict model - --out -
    """
    # keeps --help quick
    from disambig._core.messages import row_count
    from disambig.cli.table_files import (
        GROUPS_IN_ARRAYS,
        check_output,
        described_columns,
        group_parameters,
        load_new_rows,
        new_sets,
        refuse_on_disk,
    )
    from disambig.tabular.files.content import STANDARD_STREAM
    from disambig.tabular.files.embedding_files import read_embeddings
    from disambig.tabular.files.formats import write_blocks, write_table
    from disambig.tabular.files.table_on_disk import TableOnDisk
    from disambig.tabular.table_model import load_model

    delimiter = check_output(
        out, json=json, sources=[file], delimiter=file_options.delimiter, overwrite=overwrite
    )
    with FitView() as view, collected_notices(view.console) as notices:
        fitted = load_model(model, only_predict=True)
        with_groups = groups.group == GROUPS_IN_ARRAYS
        frame = load_new_rows(file, file_options, fitted, with_groups=with_groups)
        refuse_on_disk(
            frame,
            out,
            {"--group": groups.group, "--promise": groups.promise},
        )
        embeddings = None
        if features is not None:
            limit = file_options.memory
            embeddings = read_embeddings(features, frame, id=id, max_memory=limit)
        counts: Counter[str] = Counter()
        if isinstance(frame, TableOnDisk):
            blocks = fitted.predict_blocks(
                frame,
                top=top,
                labels=new_sets(labels, file_options),
                embeddings=embeddings,
                listener=view,
            )
            both = (_with_predictions(*block, prefix, counts) for block in blocks)
            write_blocks(both, out, delimiter=delimiter, excel_safe=excel_safe, like=frame)
        else:
            predictions = fitted.predict(
                frame,
                top=top,
                labels=new_sets(labels, file_options),
                **group_parameters(groups),
                described=described_columns(file, image_model=image_model, text_model=text_model),
                embeddings=embeddings,
                listener=view,
            )
    if not isinstance(frame, TableOnDisk):
        result = _with_predictions(frame, predictions, prefix, counts)
        write_table(result, out, delimiter=delimiter, excel_safe=excel_safe)
    if json:
        labels_by_count = dict(counts.most_common())
        print_json({"out": out, "rows": len(frame), "labels": labels_by_count, "notices": notices})
        return
    say(f"{row_count(len(frame))} predicted.")
    if out != STANDARD_STREAM:
        say_path("The table with predictions:", out)
        page = path_word(f"{model.resolve().name}.html")
        words = ["report", path_word(model), "--out", page]
        say_next(("make a page about the model and its training rows", words))


def _with_predictions(rows: Any, predictions: Any, prefix: str, counts: "Counter[str]") -> Any:
    """Return rows with what is predicted for them, and count the labels."""
    from disambig.tabular.table_cells import append_columns  # keeps --help quick

    counts.update(predictions["predicted_label"])
    return append_columns(rows, predictions, prefix)
