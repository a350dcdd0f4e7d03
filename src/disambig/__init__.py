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
    from disambig.methods.catalogue import all_methods, get_method
    from disambig.methods.classical.aggd import AGGD
    from disambig.methods.classical.clpl import CLPL
    from disambig.methods.classical.em import EMClassifier
    from disambig.methods.classical.ipal import IPAL
    from disambig.methods.classical.lsbcmm import LSBCMM
    from disambig.methods.classical.m3pl import M3PL
    from disambig.methods.classical.plknn import PLKNN
    from disambig.methods.classical.plsvm import PLSVM
    from disambig.methods.classical.sure import SURE
    from disambig.methods.ncpd.estimator import NCPDClassifier
    from disambig.methods.scaling import FeatureScaler

__all__ = [
    "AGGD",
    "CLPL",
    "IPAL",
    "LSBCMM",
    "M3PL",
    "PLKNN",
    "PLSVM",
    "SURE",
    "CandidateLabels",
    "DisambigError",
    "EMClassifier",
    "FeatureScaler",
    "NCPDClassifier",
    "__version__",
    "all_methods",
    "audit_candidates",
    "get_method",
    "list_datasets",
    "load_dataset",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AGGD": "disambig.methods.classical.aggd",
        "CLPL": "disambig.methods.classical.clpl",
        "CandidateLabels": "disambig.candidates.labels",
        "DisambigError": "disambig._core.errors",
        "EMClassifier": "disambig.methods.classical.em",
        "FeatureScaler": "disambig.methods.scaling",
        "IPAL": "disambig.methods.classical.ipal",
        "LSBCMM": "disambig.methods.classical.lsbcmm",
        "M3PL": "disambig.methods.classical.m3pl",
        "NCPDClassifier": "disambig.methods.ncpd.estimator",
        "PLKNN": "disambig.methods.classical.plknn",
        "PLSVM": "disambig.methods.classical.plsvm",
        "SURE": "disambig.methods.classical.sure",
        "all_methods": "disambig.methods.catalogue",
        "audit_candidates": "disambig.candidates.audit",
        "get_method": "disambig.methods.catalogue",
        "list_datasets": "disambig.datasets.catalogue",
        "load_dataset": "disambig.datasets.catalogue",
    },
    subpackages=("candidates", "datasets", "methods", "metrics", "report", "study", "testing"),
)
