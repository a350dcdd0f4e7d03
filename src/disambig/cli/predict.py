"""``disambig predict``: labels for new rows."""

from pathlib import Path
from typing import Annotated

import typer

from disambig.cli.option_groups import with_option_groups
from disambig.cli.table_options import FileOptions, TableFile

__all__ = ["predict"]


@with_option_groups
def predict(
    model: Annotated[Path, typer.Argument(help="Folder that 'disambig fit' wrote.")],
    file: TableFile,
    out: Annotated[str, typer.Option(help="File for the predictions; - is standard output.")],
    how: FileOptions,
    top: Annotated[int, typer.Option(min=1, help="How many labels to name for a row.")] = 1,
    prefix: Annotated[str, typer.Option(help="Put before the names of the new columns.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Predict the label of every row of a table, with its probability.

    The table comes back with all its rows and columns in order, and new columns at the end:
    predicted_label and probability, with --top also label_2, probability_2 and so on.

    Example: disambig predict model new-vehicles.csv --out predictions.csv --top 2
    """
    # keeps --help quick
    from disambig.cli.results import check_output, output_delimiter
    from disambig.cli.talk import print_json, say, say_notices
    from disambig.tables.files.write import write_table
    from disambig.tables.new_columns import append_columns
    from disambig.workbench.model.model_folder import read_model_folder
    from disambig.workbench.source import read_table

    check_output(out, json=json)
    fitted = read_model_folder(model)
    frame = read_table(file, format=how.format, delimiter=how.delimiter, encoding=how.encoding)
    predictions = fitted.predict(frame, top=top)
    notices = fitted.notices_on(frame)
    result = append_columns(frame, predictions, prefix)
    write_table(result, out, delimiter=output_delimiter(out, how.delimiter))
    if json:
        counts = predictions["predicted_label"].value_counts()
        print_json({"out": out, "rows": len(frame), "labels": counts.to_dict(), "notices": notices})
        return
    say_notices(notices)
    say(f"{len(frame):,} rows predicted." + ("" if out == "-" else f" The table is in {out}."))
