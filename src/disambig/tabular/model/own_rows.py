"""The rows that a model was trained on, as it has disambiguated them."""

import numpy as np
import pandas as pd

from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest, group_maxima
from disambig.tabular.cell_values import text_of
from disambig.tabular.cleaned_rows import JUDGED_IN_SAMPLE, Disambiguated, features_in_words
from disambig.tabular.cleaning import second_look
from disambig.tabular.defaults import DEFAULT_ERRORS_TO_FIND
from disambig.tabular.model.table_model import TableModel
from disambig.tabular.out_of_fold import histories_of

__all__ = ["rows_of_model"]


def rows_of_model(
    model: TableModel, *, errors_to_find: float = DEFAULT_ERRORS_TO_FIND
) -> Disambiguated:
    """Return the training rows of a model; of their values it knows nothing.

    Parameters
    ----------
    model : TableModel
        The model. It has seen these rows, and is surer of them than of others.
    errors_to_find : float, default=0.9
        Share of the expected errors that the rows for a second look are to hold.
    """
    confidences = model.method.candidate_confidence_
    names = [text_of(name) or "" for name in model.classes.tolist()]
    # Every candidate has an entry, be it a zero.
    mask = confidences.copy()
    mask.data = np.ones(len(mask.data), dtype=bool)
    candidates = CandidateLabels(mask, names)
    values = candidates.values_of(confidences)
    confidence = group_maxima(values, candidates.starts)
    _, columns = candidates.pairs()
    return Disambiguated(
        candidates=candidates,
        confidences=values,
        chosen=columns[first_largest(values, candidates.starts)],
        second_look=second_look(confidence, errors_to_find),
        values=pd.DataFrame(index=range(len(candidates))),
        histories=histories_of(model),
        judged_by=JUDGED_IN_SAMPLE,
        about=_about(model),
    )


def _about(model: TableModel) -> dict[str, str]:
    estimate = model.estimate
    about = {"method": model.method.card.name}
    if estimate is not None:
        rows = f"{estimate.n_rows:,} rows in {estimate.n_folds} folds"
        about["covering rate"] = (
            f"{estimate.covering_rate:.3f} on held-out rows ({rows}); by blind guessing "
            f"{estimate.blind_covering_rate:.3f}"
        )
        about["approximated accuracy"] = f"{estimate.approximated_accuracy:.3f} on the same rows"
        if estimate.accuracy is not None:
            about["accuracy"] = f"{estimate.accuracy} Held-out rows."
    return about | features_in_words(model.plan.by_kind())
