"""Conformal cleaning: PRODEN or CC, with candidates left out that held-out rows speak against."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from disambig._core.parameters import check_choice, check_integer, check_real
from disambig._core.typing import BoolArray
from disambig.candidates.groups import group_numbers
from disambig.engine.loss_rule import Loss, LossBatch, LossRule
from disambig.engine.rule import RowState, TrainingData
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier
from disambig.methods.networks.candidate_tables import CandidatePlaces

_METHODS = ("proden", "cc")


def rows_held_out(problem: TrainingData, share: float) -> BoolArray:
    """Return which rows of a problem calibrate, and are not learned from.

    Rows that come together are on one side. At least one of them, or one group, is learned from.
    """
    n_rows = problem.prior.shape[0]
    groups = group_numbers(problem.groups, n_rows)
    n_groups = int(groups.max()) + 1
    n_held = min(round(share * n_groups), n_groups - 1)
    place = np.random.default_rng(problem.order_seed).permutation(n_groups)
    return np.asarray(place < n_held)[groups]


def kept_candidates(
    probabilities: Tensor, is_candidate: Tensor, is_held: Tensor, alpha: float
) -> Tensor:
    """Return which candidates stay: those that are not much less probable than on held-out rows.

    A held-out row counts by its most probable candidate. The p-value of a candidate is the share of
    held-out rows that are no more probable than it. It stays above ``alpha + beta``, where ``beta``
    is what the network gives to labels outside the sets of the other rows, on average. Where none
    would stay, all do.

    Parameters
    ----------
    probabilities : Tensor of shape (rows, classes)
        What the network says.
    is_candidate : Tensor of booleans, same shape
        The candidate sets.
    is_held : Tensor of booleans of shape (rows,)
        Which rows calibrate.
    alpha : float
        Share of right labels that may be lost.
    """
    inside = probabilities * is_candidate
    calibrating = inside[is_held].amax(1).sort().values
    below = torch.searchsorted(calibrating, probabilities.contiguous(), right=True)
    p_values = (below + 1) / (len(calibrating) + 1)
    missed = 1 - inside[~is_held].sum(1).mean()
    kept = is_candidate & (p_values > alpha + missed)
    return torch.where(kept.any(1, keepdim=True), kept, is_candidate)


class CandidateCleaning(LossRule):
    """The loss of PRODEN or CC with the candidates that stay.

    Parameters
    ----------
    method : {"proden", "cc"}
        Whose loss.
    alpha : float
        Share of right labels that may be lost.
    calibration : float
        Share of the rows held out.
    warm_up_epochs : int
        In which all candidates stay.
    """

    looks_at_all_rows = True

    def __init__(self, method: str, alpha: float, calibration: float, warm_up_epochs: int) -> None:
        self.method = method
        self.alpha = alpha
        self.calibration = calibration
        self.warm_up_epochs = warm_up_epochs

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Hold rows out."""
        self._places = CandidatePlaces.of(problems, device)
        self._masks = [
            place.inside(torch.ones(problem.prior.shape, device=device)) > 0
            for place, problem in zip(self._places, problems, strict=True)
        ]
        held = [rows_held_out(problem, self.calibration) for problem in problems]
        # Filler rows too: what they learn does not count.
        self._is_held = torch.as_tensor(np.concatenate([*held, [True]]), device=device)

    def row_state(self) -> dict[str, RowState]:
        """Keep which candidates stay, and for PRODEN confidences."""
        kept = {"kept": RowState(initial=1.0)}
        return kept | ({"confidences": RowState()} if self.method == "proden" else {})

    def look_at_all_rows(self, probabilities: Sequence[Tensor]) -> None:
        """Keep what the network says, for ``begin_epoch``."""
        self._said = probabilities

    def between_epochs(self, tables: Mapping[str, Tensor]) -> None:
        """Keep where it is written to which candidates stay."""
        self._tables = tables

    def begin_epoch(self, epoch: int) -> None:
        """Calibrate, and clean the sets as they were given."""
        if epoch <= self.warm_up_epochs:
            return
        for place, mask, said in zip(self._places, self._masks, self._said, strict=True):
            is_held = self._is_held[place.numbers]
            kept = kept_candidates(said[0].double(), mask, is_held, self.alpha)
            self._tables["kept"][0, place.entries] = place.read(kept).to(self.dtype)

    def loss(self, batch: LossBatch) -> Loss:
        """Return the loss of rows that are not held out, with the candidates that stay."""
        kept = batch.over_classes(batch.state["kept"]) > 0
        state = {"kept": batch.state["kept"]}
        if self.method == "proden":
            confidences = batch.over_classes(batch.state["confidences"]) * kept
            total = confidences.sum(-1, keepdim=True)
            # A candidate may come back that was as good as impossible at the last visit.
            even = kept / kept.sum(-1, keepdim=True).clamp(min=1)
            confidences = torch.where(total > 0, confidences / total, even)
            losses = -(confidences * batch.seen.log_probabilities()).sum(-1)
            found = batch.among_candidates(batch.seen.logits.detach())
            state["confidences"] = batch.in_slots(found)
        else:
            logits = batch.seen.logits
            inside = (logits + batch.log_weights()).masked_fill(
                ~kept, torch.finfo(logits.dtype).min
            )
            losses = logits.logsumexp(-1) - inside.logsumexp(-1)
        is_learned = ~self._is_held[batch.rows].unsqueeze(1)
        sizes = batch.mask.sum(-1).clamp(min=1)
        measures = {"kept": kept.sum(-1) / sizes.to(losses.dtype)}
        return Loss(batch.mean_over(is_learned) * losses, state=state, measures=measures)


class ConformalCleaning(NetworkClassifier):
    r"""PRODEN or CC, with candidates left out that a conformal test speaks against.

    A share of the rows is held out, by the seed, and not learned from. Before every epoch after the
    first ones the network is asked about all rows. The p-value of a candidate j of a row is

    .. math:: \frac{1 + |\{ i \text{ held out}: \max_{k \in S_i} p_{ik} \le p_j \}|}{1 + n}

    with n rows held out, and j stays where this is above :math:`\alpha + \beta`. Here
    :math:`\beta` is the mean of :math:`\sum_{k \notin S} p_k` over the rows that are learned
    from: how often the network is wrong for certain. A set of which nothing would stay is left as
    it is. In the next epoch every set is tested anew, as it was given. No true label is read. The
    other parameters and attributes are described at ``NetworkClassifier``; ``history_`` also has
    the share of candidates that were ``kept``.

    Parameters
    ----------
    method : {"proden", "cc"}, default="proden"
        Whose loss the network learns by, with the candidates that stay.
    alpha : float, default=0.05
        Share of right labels that may be lost (:math:`\alpha`).
    calibration : float, default=0.2
        Share of the rows that is held out.
    warm_up_epochs : int, default=10
        Epochs in which all candidates stay.

    See Also
    --------
    ConformalSets : Prediction sets for new rows, with a guarantee.
    PRODEN, CC : The same without cleaning.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import ConformalCleaning
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = ConformalCleaning(hidden=64, epochs=40, random_state=0).fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="conformal_cleaning",
        title="PRODEN or CC without the candidates that held-out rows speak against",
        when="to compare: sets that shrink while a network learns",
        paper="Fuchs and Kalinke, Partial-Label Learning with Conformal Candidate Cleaning",
        year=2025,
        deviations=(
            "Held-out rows are never learned from. In the authors' code small data calibrate on "
            "the rows that they are trained on, or on sets of one.",
            "Sets are cleaned before every epoch, by a network without dropout; in the authors' "
            "code in every step, with beta from the rows of the batch.",
            "Probabilities are not damped in the first epochs of cleaning, as they are in the "
            "authors' code.",
            "Of the methods that the paper wraps, PRODEN and CC.",
            "Where rows come in groups, whole groups are held out.",
            "Adam, 200 epochs of mini-batches of 128, and the network (one hidden layer, batch "
            "norm, dropout) are those of all our methods on networks.",
            "Where candidates carry weights, these are the first confidences of PRODEN, and "
            "multiply the probabilities in CC.",
        ),
    )

    method: Literal["proden", "cc"] = "proden"
    alpha: float = 0.05
    calibration: float = 0.2
    warm_up_epochs: int = 10

    def _make_rule(self) -> LossRule:
        return CandidateCleaning(self.method, self.alpha, self.calibration, self.warm_up_epochs)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("method", self.method, _METHODS)
        check_real("alpha", self.alpha, minimum=0, maximum=1)
        check_real("calibration", self.calibration, minimum=0, maximum=0.9)
        check_integer("warm_up_epochs", self.warm_up_epochs, minimum=0)
