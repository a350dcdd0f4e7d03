"""Methods that learn from candidate sets, and the references to compare them with."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier
    from disambig.methods.catalogue import all_methods, get_method
    from disambig.methods.classical.plknn import PLKNN
    from disambig.methods.many import fit_many
    from disambig.methods.ncpd.estimator import NCPDClassifier
    from disambig.methods.reference.average import AverageClassifier
    from disambig.methods.reference.oracle import OracleClassifier
    from disambig.methods.reference.random_candidate import RandomCandidateClassifier
    from disambig.methods.scaling import FeatureScaler

__all__ = [
    "PLKNN",
    "AverageClassifier",
    "FeatureScaler",
    "NCPDClassifier",
    "OracleClassifier",
    "PartialLabelClassifier",
    "RandomCandidateClassifier",
    "all_methods",
    "fit_many",
    "get_method",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AverageClassifier": "disambig.methods.reference.average",
        "FeatureScaler": "disambig.methods.scaling",
        "NCPDClassifier": "disambig.methods.ncpd.estimator",
        "OracleClassifier": "disambig.methods.reference.oracle",
        "PLKNN": "disambig.methods.classical.plknn",
        "PartialLabelClassifier": "disambig.methods.base",
        "RandomCandidateClassifier": "disambig.methods.reference.random_candidate",
        "all_methods": "disambig.methods.catalogue",
        "fit_many": "disambig.methods.many",
        "get_method": "disambig.methods.catalogue",
    },
)
