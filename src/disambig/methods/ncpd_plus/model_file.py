"""What a file holds of a mix: its members, one after the other, and how they were chosen."""

from typing import TYPE_CHECKING, Any

from torch import Tensor

from disambig.engine.history import History
from disambig.methods.ncpd.model_file import (
    kept_parameters,
    named,
    rebuilt_parameters,
)
from disambig.methods.ncpd_plus.selection import ConfigurationScore, Selection

if TYPE_CHECKING:
    from disambig.methods.ncpd_plus.estimator import NCPDPlusClassifier

__all__ = ["described_mix", "rebuild_mix"]


def described_mix(method: "NCPDPlusClassifier") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors of all members by name, and the rest as JSON takes it."""
    tensors: dict[str, Tensor] = {}
    members: dict[str, Any] = {}
    for name, member in method.members_.items():
        own, members[name] = member._described()
        tensors |= {f"{name}.{part}": value for part, value in own.items()}
    return tensors, {
        "parameters": kept_parameters(method),
        "history": method.history_.to_dict(),
        "members": members,
        "selection": method.selection_.to_dict(),
    }


def rebuild_mix(
    method: "NCPDPlusClassifier", tensors: dict[str, Tensor], description: dict[str, Any]
) -> None:
    """Give a classifier that knows its classes and features what ``described_mix`` returned."""
    method.history_ = History(description["history"])
    scores = {
        name: ConfigurationScore(**{measure: float(value) for measure, value in own.items()})
        for name, own in description["selection"].items()
    }
    method.selection_ = Selection(scores)
    weights = method.selection_.weights
    if set(weights) != set(description["members"]) or abs(sum(weights.values()) - 1) > 1e-6:
        raise ValueError("every member needs a weight, and weights must sum to one")
    method.members_ = {}
    for name in weights:
        own = description["members"][name]
        member = rebuilt_parameters(type(method), own, method.device, method.network)
        if member.select != "none":
            raise ValueError("a member of a mix cannot be a mix")
        member.classes_, member.n_features_in_ = method.classes_, method.n_features_in_
        member._rebuild(named(tensors, f"{name}."), own)
        method.members_[name] = member
