"""Partial label learning: train a classifier when one of several candidate labels is right.

Every public name is imported on first use, so that ``import disambig`` costs nothing.
"""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names
from disambig._version import __version__

if TYPE_CHECKING:
    from disambig._core.errors import DisambigError
    from disambig.candidates.audit import audit_candidates
    from disambig.candidates.labels import CandidateLabels
    from disambig.datasets.catalogue import list_datasets, load_dataset
    from disambig.methods.cc import CC
    from disambig.methods.classical.aggd import AGGD
    from disambig.methods.classical.clpl import CLPL
    from disambig.methods.classical.em import EMClassifier
    from disambig.methods.classical.ipal import IPAL
    from disambig.methods.classical.lsbcmm import LSBCMM
    from disambig.methods.classical.m3pl import M3PL
    from disambig.methods.classical.plknn import PLKNN
    from disambig.methods.classical.plsvm import PLSVM
    from disambig.methods.classical.sure import SURE
    from disambig.methods.ncpd import NCPDClassifier
    from disambig.methods.ncpd_plus.estimator import NCPDPlusClassifier
    from disambig.methods.networks.base import NetworkClassifier
    from disambig.methods.proden import PRODEN
    from disambig.methods.registry import all_methods, get_method
    from disambig.methods.scaling import FeatureScaler
    from disambig.tabular.audit.table_audit import audit_table
    from disambig.tabular.cleaning import clean_table
    from disambig.tabular.files.formats import read_table
    from disambig.tabular.fitting import fit_table
    from disambig.tabular.labels.label_columns import LabelColumns
    from disambig.tabular.model.model_folder import load_model

__all__ = [
    "AGGD",
    "CC",
    "CLPL",
    "IPAL",
    "LSBCMM",
    "M3PL",
    "PLKNN",
    "PLSVM",
    "PRODEN",
    "SURE",
    "CandidateLabels",
    "DisambigError",
    "EMClassifier",
    "FeatureScaler",
    "LabelColumns",
    "NCPDClassifier",
    "NCPDPlusClassifier",
    "NetworkClassifier",
    "__version__",
    "all_methods",
    "audit_candidates",
    "audit_table",
    "clean_table",
    "fit_table",
    "get_method",
    "list_datasets",
    "load_dataset",
    "load_model",
    "read_table",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AGGD": "disambig.methods.classical.aggd",
        "CC": "disambig.methods.cc",
        "CLPL": "disambig.methods.classical.clpl",
        "CandidateLabels": "disambig.candidates.labels",
        "DisambigError": "disambig._core.errors",
        "EMClassifier": "disambig.methods.classical.em",
        "FeatureScaler": "disambig.methods.scaling",
        "IPAL": "disambig.methods.classical.ipal",
        "LabelColumns": "disambig.tabular.labels.label_columns",
        "LSBCMM": "disambig.methods.classical.lsbcmm",
        "M3PL": "disambig.methods.classical.m3pl",
        "NCPDClassifier": "disambig.methods.ncpd",
        "NCPDPlusClassifier": "disambig.methods.ncpd_plus.estimator",
        "NetworkClassifier": "disambig.methods.networks.base",
        "PLKNN": "disambig.methods.classical.plknn",
        "PLSVM": "disambig.methods.classical.plsvm",
        "PRODEN": "disambig.methods.proden",
        "SURE": "disambig.methods.classical.sure",
        "all_methods": "disambig.methods.registry",
        "audit_candidates": "disambig.candidates.audit",
        "audit_table": "disambig.tabular.audit.table_audit",
        "clean_table": "disambig.tabular.cleaning",
        "fit_table": "disambig.tabular.fitting",
        "get_method": "disambig.methods.registry",
        "list_datasets": "disambig.datasets.catalogue",
        "load_dataset": "disambig.datasets.catalogue",
        "load_model": "disambig.tabular.model.model_folder",
        "read_table": "disambig.tabular.files.formats",
    },
    subpackages=(
        "bench",
        "candidates",
        "datasets",
        "methods",
        "metrics",
        "tabular",
        "testing",
        "web",
    ),
)
