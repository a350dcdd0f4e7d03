"""What people do with a table of their own: look at it, learn from it, clean it, predict."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.workbench.audit.table_audit import TableAudit, audit_table
    from disambig.workbench.cleaned_rows import read_cleaned
    from disambig.workbench.cleaning import clean_table
    from disambig.workbench.disambiguated import Disambiguated
    from disambig.workbench.estimate import Estimate
    from disambig.workbench.example import example_tables
    from disambig.workbench.fitting import fit_table
    from disambig.workbench.model.model_folder import load_model
    from disambig.workbench.model.table_model import TableModel
    from disambig.workbench.reading import read_table

__all__ = [
    "Disambiguated",
    "Estimate",
    "TableAudit",
    "TableModel",
    "audit_table",
    "clean_table",
    "example_tables",
    "fit_table",
    "load_model",
    "read_cleaned",
    "read_table",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Disambiguated": "disambig.workbench.disambiguated",
        "Estimate": "disambig.workbench.estimate",
        "TableAudit": "disambig.workbench.audit.table_audit",
        "TableModel": "disambig.workbench.model.table_model",
        "audit_table": "disambig.workbench.audit.table_audit",
        "clean_table": "disambig.workbench.cleaning",
        "example_tables": "disambig.workbench.example",
        "fit_table": "disambig.workbench.fitting",
        "load_model": "disambig.workbench.model.model_folder",
        "read_cleaned": "disambig.workbench.cleaned_rows",
        "read_table": "disambig.workbench.reading",
    },
)
