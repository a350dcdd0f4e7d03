"""Methods that learn from candidate sets, and the references to compare them with."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier
    from disambig.methods.catalogue import all_methods, get_method
    from disambig.methods.classical.plknn import PLKNN
    from disambig.methods.reference.average import AverageClassifier
    from disambig.methods.reference.oracle import OracleClassifier
    from disambig.methods.reference.random_candidate import RandomCandidateClassifier

__all__ = [
    "PLKNN",
    "AverageClassifier",
    "OracleClassifier",
    "PartialLabelClassifier",
    "RandomCandidateClassifier",
    "all_methods",
    "get_method",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AverageClassifier": "disambig.methods.reference.average",
        "OracleClassifier": "disambig.methods.reference.oracle",
        "PLKNN": "disambig.methods.classical.plknn",
        "PartialLabelClassifier": "disambig.methods.base",
        "RandomCandidateClassifier": "disambig.methods.reference.random_candidate",
        "all_methods": "disambig.methods.catalogue",
        "get_method": "disambig.methods.catalogue",
    },
)
