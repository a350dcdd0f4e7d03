"""Tables with candidate labels: read, audit, learn from, clean, predict."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.tabular.audit.audit_report import TableAudit
    from disambig.tabular.audit.table_audit import audit_table
    from disambig.tabular.cleaned_rows import Disambiguated, read_cleaned
    from disambig.tabular.cleaning import clean_table
    from disambig.tabular.estimate import Estimate
    from disambig.tabular.files.formats import read_table, write_table
    from disambig.tabular.fitting import fit_table
    from disambig.tabular.labels.annotations import one_row_per_item, read_annotations
    from disambig.tabular.labels.decisions import read_decisions
    from disambig.tabular.labels.label_columns import LabelColumns
    from disambig.tabular.model.model_folder import load_model
    from disambig.tabular.model.table_model import TableModel

__all__ = [
    "Disambiguated",
    "Estimate",
    "LabelColumns",
    "TableAudit",
    "TableModel",
    "audit_table",
    "clean_table",
    "fit_table",
    "load_model",
    "one_row_per_item",
    "read_annotations",
    "read_cleaned",
    "read_decisions",
    "read_table",
    "write_table",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Disambiguated": "disambig.tabular.cleaned_rows",
        "Estimate": "disambig.tabular.estimate",
        "LabelColumns": "disambig.tabular.labels.label_columns",
        "TableAudit": "disambig.tabular.audit.audit_report",
        "TableModel": "disambig.tabular.model.table_model",
        "audit_table": "disambig.tabular.audit.table_audit",
        "clean_table": "disambig.tabular.cleaning",
        "fit_table": "disambig.tabular.fitting",
        "load_model": "disambig.tabular.model.model_folder",
        "one_row_per_item": "disambig.tabular.labels.annotations",
        "read_annotations": "disambig.tabular.labels.annotations",
        "read_cleaned": "disambig.tabular.cleaned_rows",
        "read_decisions": "disambig.tabular.labels.decisions",
        "read_table": "disambig.tabular.files.formats",
        "write_table": "disambig.tabular.files.formats",
    },
)
