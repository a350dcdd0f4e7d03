"""Methods that learn from candidate sets, and the references to compare them with."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier
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
    from disambig.methods.reference import (
        AverageClassifier,
        OracleClassifier,
        RandomCandidateClassifier,
    )
    from disambig.methods.registry import all_methods, get_method
    from disambig.methods.scaling import FeatureScaler
    from disambig.methods.side_by_side import fit_many

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
    "AverageClassifier",
    "EMClassifier",
    "FeatureScaler",
    "NCPDClassifier",
    "NCPDPlusClassifier",
    "NetworkClassifier",
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
        "AGGD": "disambig.methods.classical.aggd",
        "AverageClassifier": "disambig.methods.reference",
        "CC": "disambig.methods.cc",
        "CLPL": "disambig.methods.classical.clpl",
        "EMClassifier": "disambig.methods.classical.em",
        "FeatureScaler": "disambig.methods.scaling",
        "IPAL": "disambig.methods.classical.ipal",
        "LSBCMM": "disambig.methods.classical.lsbcmm",
        "M3PL": "disambig.methods.classical.m3pl",
        "NCPDClassifier": "disambig.methods.ncpd",
        "NCPDPlusClassifier": "disambig.methods.ncpd_plus.estimator",
        "NetworkClassifier": "disambig.methods.networks.base",
        "OracleClassifier": "disambig.methods.reference",
        "PLKNN": "disambig.methods.classical.plknn",
        "PLSVM": "disambig.methods.classical.plsvm",
        "PRODEN": "disambig.methods.proden",
        "PartialLabelClassifier": "disambig.methods.base",
        "RandomCandidateClassifier": "disambig.methods.reference",
        "SURE": "disambig.methods.classical.sure",
        "all_methods": "disambig.methods.registry",
        "fit_many": "disambig.methods.side_by_side",
        "get_method": "disambig.methods.registry",
    },
)
