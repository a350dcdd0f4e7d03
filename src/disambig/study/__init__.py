"""Evaluation: the only layer that hands true labels to anything."""

from typing import TYPE_CHECKING

from disambig._core.lazy import lazy_names

if TYPE_CHECKING:
    from disambig.study.crossval import cross_validate, mean_and_std, mean_and_std_text
    from disambig.study.evaluation import METRICS, FoldScore
    from disambig.study.results import StoredResults, StudyResult, read_results
    from disambig.study.runner import StudyListener, run_study
    from disambig.study.settings import Study
    from disambig.study.split import shuffled_folds
    from disambig.study.store import RecordStore
    from disambig.study.trial import ControlledCorruption

__all__ = [
    "METRICS",
    "ControlledCorruption",
    "FoldScore",
    "RecordStore",
    "StoredResults",
    "Study",
    "StudyListener",
    "StudyResult",
    "cross_validate",
    "mean_and_std",
    "mean_and_std_text",
    "read_results",
    "run_study",
    "shuffled_folds",
]

# On first use: cross_validate must not need what only reading a study's settings needs.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "METRICS": "disambig.study.evaluation",
        "ControlledCorruption": "disambig.study.trial",
        "FoldScore": "disambig.study.evaluation",
        "RecordStore": "disambig.study.store",
        "StoredResults": "disambig.study.results",
        "Study": "disambig.study.settings",
        "StudyListener": "disambig.study.runner",
        "StudyResult": "disambig.study.results",
        "cross_validate": "disambig.study.crossval",
        "mean_and_std": "disambig.study.crossval",
        "mean_and_std_text": "disambig.study.crossval",
        "read_results": "disambig.study.results",
        "run_study": "disambig.study.runner",
        "shuffled_folds": "disambig.study.split",
    },
)
