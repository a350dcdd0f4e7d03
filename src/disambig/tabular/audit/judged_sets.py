"""Which sets of a table may miss the right label, as a model has found that was trained on it."""

from dataclasses import dataclass

from disambig._core.errors import ModelFileError, TableError
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.estimate import DoubtfulSet, Estimate, MissRate, named_sets
from disambig.tabular.files.formats import one_of

_ROWS_SHOWN = 10


@dataclass(frozen=True)
class JudgedSets:
    """Sets as judged by models that were not trained on their rows."""

    misses: MissRate
    worst: tuple[DoubtfulSet, ...]  # the most doubtful first

    def lines(self) -> list[str]:
        """Return the share of sets that miss the right label, and the rows to look at first."""
        lines = [str(self.misses)]
        lines += [
            f"Row {one.row:,}: {one_of(one.candidates)}, but probably {one.label} "
            f"({one.probability:.2f} that the set misses it)."
            for one in self.worst[:_ROWS_SHOWN]
        ]
        if len(self.worst) > _ROWS_SHOWN:
            lines.append("disambig clean judges every row (column miss_probability).")
        return lines

    def to_json(self) -> dict[str, object]:
        """Return all of it as numbers and texts."""
        return self.misses.model_dump() | {"rows": [one.model_dump() for one in self.worst]}


def judged_sets(candidates: CandidateLabels, estimate: Estimate | None) -> JudgedSets:
    """Return what the estimate of a model says of the sets that it was trained on."""
    if estimate is None or estimate.misses is None:
        raise ModelFileError(
            "The model does not say which sets miss the right label: it was fitted without folds, "
            "by version 0.2 or earlier, or it knows too little. Fit it again with folds."
        )
    n_rows = len(candidates)
    rows = [one.row - 1 for one in estimate.doubtful_sets]
    same = n_rows == estimate.n_rows and all(row < n_rows for row in rows)
    kept = [one.candidates for one in estimate.doubtful_sets]
    if not same or (rows and named_sets(candidates[rows]) != kept):
        raise TableError(
            f"The model was trained on another table, of {estimate.n_rows:,} rows. Audit that one, "
            "or fit a model to this one."
        )
    return JudgedSets(estimate.misses, estimate.doubtful_sets)
