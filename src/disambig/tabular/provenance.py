"""Where the labels of a cleaned table or of a model come from, in words for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from disambig._core.messages import percent
from disambig.tabular.accuracy import Accuracy
from disambig.tabular.clean_details import CleanDetails
from disambig.tabular.estimate import MissRate
from disambig.tabular.labels.decisions import LABEL
from disambig.tabular.labels.row_groups import groups_of

if TYPE_CHECKING:  # whoever reads a cleaned table does without all that a model needs
    from disambig.tabular.table_model import TableModel

_IN_SAMPLE = "a model that was trained on the same rows, which is overconfident"
TRUE_LABELS = "known true labels"
_CALIBRATED_ON = {
    "sets": "candidate sets of held-out rows",
    "beliefs": "weights of held-out rows",
    "truth": TRUE_LABELS,
}


@dataclass(frozen=True)
class Provenance:
    """Where labels come from, in words for people; empty as far as it is not known."""

    judged_by: str = ""  # whose confidences these are
    made_at: str = ""  # date and time, in UTC
    command: tuple[str, ...] = ()  # arguments of disambig that made the table
    has_seen_rows: bool = False  # whether the model was trained on the rows that it judges
    calibrated_on: str | None = None  # what the confidences were; empty where they were not
    held_out: Accuracy | None = None  # of predictions for rows that models had not seen
    n_settled: int = 0  # rows whose label a person had decided on
    n_answered: int = 0  # rows of which a person had said something else
    n_true_labels: int = 0  # that were known, and chosen
    misses: MissRate | None = None  # sets without the right label, as estimated
    about: Mapping[str, str] = field(default_factory=dict)  # method, parameters, features


def cleaning_provenance(details: CleanDetails) -> Provenance:
    """Return how a table was cleaned."""
    out_of_fold = f"{details.folds} models, each on rows that it had not seen"
    return Provenance(
        judged_by=_IN_SAMPLE if details.folds is None else out_of_fold,
        made_at=details.made_at or "",
        command=tuple(details.command),
        has_seen_rows=details.folds is None,
        calibrated_on=details.calibrate and _CALIBRATED_ON.get(details.calibrate, ""),
        n_settled=details.decisions,
        n_answered=sum(_other_answers(details).values()),
        n_true_labels=details.true_labels,
        misses=details.misses,
        about={
            "method": details.method,
            "parameters": ", ".join(f"{key}={value}" for key, value in details.parameters.items()),
            "seed": str(details.seed),
            "share of expected errors marked": f"{details.errors_to_find:g}",
            "labels from": ", ".join(details.labels) or "a table of annotations",
            "rows settled by hand": f"{details.decisions:,}",
            **_answers_about(details),
            "true labels known and chosen": f"{details.true_labels:,}"
            + (", learned from too" if details.use_truth else ""),
            **_accuracy_about(details),
            **_groups_about(details),
            **_calibration_about(details),
            **_features_about(details.features),
            "disambig": details.disambig,
        },
    )


def _accuracy_about(details: CleanDetails) -> dict[str, str]:
    """Return how the model does where the truth is known; nothing where it is not."""
    if details.accuracy is None:
        return {}
    return {"choices of the model": f"{details.accuracy} Rows with one candidate are among them."}


def _answers_about(details: CleanDetails) -> dict[str, str]:
    """Return what else people decided; nothing where they only chose labels."""
    others = _other_answers(details)
    if not others:
        return {}
    return {"other answers": ", ".join(f"{kind}: {count:,}" for kind, count in others.items())}


def _other_answers(details: CleanDetails) -> dict[str, int]:
    return {kind: count for kind, count in details.answers.items() if kind != LABEL}


def _groups_about(details: CleanDetails) -> dict[str, str]:
    """Return which rows come together and what that promises; nothing where none do."""
    about = {}
    if details.group is not None:
        about["rows come together by"] = groups_of(details.group)
    if details.promise is not None and details.promise_strength is not None:
        believed = percent(details.promise_strength)
        about["groups promise"] = f"{details.promise}, believed of {believed} of them"
    return about


def _calibration_about(details: CleanDetails) -> dict[str, str]:
    """Return what was done about confidences and wrong sets; nothing of what is not known."""
    about = {}
    if details.calibrate is not None:
        about["confidences calibrated on"] = _CALIBRATED_ON.get(details.calibrate, "nothing")
    if details.misses is not None:
        about["sets without the right label"] = str(details.misses)
    if details.miss_rate not in (None, 0):
        about["trained with wider sets, for a miss rate of"] = str(details.miss_rate)
    if details.relabelled:
        about["rows with a label from outside their set"] = f"{details.relabelled:,}"
    return about


def _features_about(by_kind: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {f"features ({kind})": ", ".join(names) for kind, names in by_kind.items()}


def model_provenance(model: "TableModel") -> Provenance:
    """Return how a model was trained, and how it does on held-out rows."""
    estimate = model.estimate
    about = {"method": model.classifier.card.name}
    if estimate is not None:
        about["covering rate"] = (
            f"{estimate.covering_rate:.3f} on held-out rows ({estimate.held_out}); by blind "
            f"guessing {estimate.blind_covering_rate:.3f}"
        )
        about["approximated accuracy"] = f"{estimate.approximated_accuracy:.3f} on the same rows"
        if estimate.accuracy is not None:
            about["accuracy"] = f"{estimate.accuracy} Held-out rows."
        if estimate.never_predicted is not None:
            about["rare labels"] = f"{estimate.never_predicted} Held-out rows."
    about |= _features_about(model.plan.by_kind())
    return Provenance(
        judged_by=_IN_SAMPLE,
        has_seen_rows=True,
        held_out=None if estimate is None else estimate.accuracy,
        about=about,
    )
