"""A table as comma-separated values."""

import csv
import io

from disambig.report.table import Table

__all__ = ["to_csv"]


def to_csv(table: Table) -> str:
    """Return header and rows; cells that stand out end in an asterisk.

    Title and notes are left out, so that every line is a row and the file can be read back.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.header)
    for i, row in enumerate(table.rows):
        writer.writerow(
            f"{cell} *" if (i, j) in table.emphasised else cell for j, cell in enumerate(row)
        )
    return text.getvalue()
