"""A file as a table: read, written, and the labels in it understood."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.tables.files.write import write_table
    from disambig.tables.labels.annotations import one_row_per_item, read_annotations
    from disambig.tables.labels.decisions import read_decisions
    from disambig.tables.labels.label_columns import LabelColumns

__all__ = [
    "LabelColumns",
    "one_row_per_item",
    "read_annotations",
    "read_decisions",
    "write_table",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LabelColumns": "disambig.tables.labels.label_columns",
        "one_row_per_item": "disambig.tables.labels.annotations",
        "read_annotations": "disambig.tables.labels.annotations",
        "read_decisions": "disambig.tables.labels.decisions",
        "write_table": "disambig.tables.files.write",
    },
)
