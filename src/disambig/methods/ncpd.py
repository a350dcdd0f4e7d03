"""NCPD on one page: the equations of the paper in its order, the rule, the classifier.

Yao, Gong, Deng and Yang, Network Cooperation with Progressive Disambiguation for Partial Label
Learning (2020). Sections and equations have the paper's numbers. The paper copies every row once
for each of its candidates and calls the copies a multi-birth group. All copies have the same
features, so here one forward pass gives the loss ``l_ij = -log p_ij`` of each candidate: those of
copies without dropout and, unless all sets are of one size, without batch norm. A group is the last
axis of a tensor: its slots are the candidates of the row, and slots that a row does not use have an
infinite loss. Everything reduces over the last two axes, rows of a mini-batch and candidates of a
row, so that one line serves two networks, or those of all folds and seeds.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_boolean, check_integer
from disambig.engine.device import runs_kernels
from disambig.engine.loss import ranked_on_card, smallest
from disambig.engine.rule import Batch, RowState, Rule, Targets, TrainingData, TrainingSettings
from disambig.methods.base import MethodCard
from disambig.methods.networks.base import NetworkClassifier
from disambig.methods.networks.together import TogetherRows

# ---- Sec. 3.2: progressive disambiguation


def reliable_candidates(
    losses: Tensor, predicted: Tensor, share: Tensor | None, most_candidates: int
) -> Tensor:
    """Return the candidates that meet both conditions; at most one in a group.

    Condition 1: the loss is small, see ``has_small_loss``. Condition 2: the network predicts
    exactly this label, out of all classes.

    Parameters
    ----------
    losses : Tensor of shape (..., rows, slots)
        Infinite in slots that are not used.
    predicted : Tensor of booleans, same shape
        Condition 2.
    share : Tensor of one float64, or None
        T(t); None where it is one, and every loss is small without being ranked.
    most_candidates : int
        No batch has more candidates than this.
    """
    if share is None:
        return predicted
    return has_small_loss(losses, share, most_candidates) & predicted


def has_small_loss(losses: Tensor, share: Tensor, most_candidates: int) -> Tensor:
    """Return which losses are among the given share of smallest ones in the batch.

    Of ``n`` candidates in a batch, the ``floor(share * n)`` smallest losses count. Losses equal to
    the last of these count too: what is equally easy is treated equally, in whatever order the rows
    come. Parameters as in ``reliable_candidates``; the share is in double precision, so that
    ``floor`` cuts where the formula says.
    """
    if losses.dtype == torch.float32 and runs_kernels(losses.device):
        return ranked_on_card(losses, share)
    flat = losses.flatten(-2)
    n_candidates = (flat < torch.inf).sum(-1, keepdim=True)
    n_small = (share * n_candidates).to(torch.int64)
    # In front of the smallest loss stands one that nothing is below: the cut if none is to count.
    ranked = torch.nn.functional.pad(smallest(flat, most_candidates), (1, 0), value=-torch.inf)
    return losses <= ranked.gather(-1, n_small).unsqueeze(-1)


def disambiguated_confidences(losses: Tensor) -> Tensor:
    """Return Eq. 1: ``w_j = exp(-l_j) / sum_k exp(-l_k)`` over the candidates of each group.

    A softmax takes the largest exponent out first, so that a group whose losses are all huge keeps
    its proportions. In a row without any candidate, which only fills up a batch, nothing means
    anything.
    """
    # Over the last axis but one a CPU does many rows at a time.
    return torch.softmax(-losses.mT, dim=-2).mT


def group_confidences(losses: Tensor, prior: Tensor, simple: Tensor) -> Tensor:
    """Return Eq. 1 for simple groups and Eq. 2 for complicated ones.

    Parameters
    ----------
    losses : Tensor of shape (..., rows, slots)
        Infinite in slots that are not used.
    prior : Tensor, same shape or one that broadcasts to it
        Eq. 2: ``1 / |S|``, or the weights that came with the candidates.
    simple : Tensor of booleans of shape (..., rows)
        Which groups have a reliable candidate.
    """
    return torch.where(simple.unsqueeze(-1), disambiguated_confidences(losses), prior)


# Eq. 3, the loss sum(w * l), and Eq. 4, the step, are the engine's: it takes a step of Adam towards
# the targets that the rule below returns.


def share_of_small_losses(epoch: int, ramp_epochs: int) -> float:
    """Return Eq. 5, T(t): the share of losses in a mini-batch that count as small in an epoch.

    ``T(t) = exp(-5 (t / t_r - 1)^2)`` up to ``t_r = ramp_epochs``, then 1. Epochs count from 1.
    """
    if epoch >= ramp_epochs:
        return 1.0
    return math.exp(-5 * (epoch / ramp_epochs - 1) ** 2)


# ---- Sec. 3.3: network cooperation


def exchange(confidences: Tensor) -> Tensor:
    """Return the confidences that every network is trained with, those of its peers: Eqs. 6 and 7.

    Two networks swap theirs, as in the paper. With more, each gets the mean of the others'.

    Parameters
    ----------
    confidences : Tensor of shape (..., networks, rows, slots)
        What every network found.
    """
    n_networks = confidences.shape[-3]
    if n_networks == 2:
        return confidences.flip(-3)
    return (confidences.sum(-3, keepdim=True) - confidences) / (n_networks - 1)


# Eqs. 8 and 9 are Eq. 4 for each network.


class ProgressiveCooperation(Rule):
    """Easy groups first, each network taught by the others.

    Parameters
    ----------
    ramp_epochs : int
        t_r, the epoch from which every group whose prediction is a candidate is disambiguated.
    cooperation : bool
        Whether networks exchange their confidences; without, each learns from its own (w/o NC).
    progressive : bool
        Whether easy groups come first; without, Eq. 1 holds for every group from the start (w/o
        PD).

    Attributes
    ----------
    share : Tensor of one float64
        T(t) of the present epoch, on the device.
    """

    def __init__(self, ramp_epochs: int, cooperation: bool, progressive: bool) -> None:
        self.ramp_epochs = ramp_epochs
        self.cooperation = cooperation
        self.progressive = progressive
        self.share = torch.ones(1, dtype=torch.float64)
        self._together: TogetherRows | None = None

    def start(self, problems: Sequence[TrainingData], device: torch.device) -> None:
        """Keep T(t) on the device; look at which rows come together."""
        self.share = self.share.to(device)
        self._together = TogetherRows.of(problems, device)

    def row_state(self) -> dict[str, RowState]:
        """Keep a number for every candidate, where rows that come together promise something."""
        return {} if self._together is None else {"together": RowState()}

    def between_epochs(self, tables: Mapping[str, Tensor]) -> None:
        """Let rows that come together hear of each other."""
        if self._together is not None:
            self._together.exchange(tables["together"])

    def begin_epoch(self, epoch: int) -> bool:
        """Set T(t), and return whether losses have to be ranked: not where all count as small."""
        self._t = share_of_small_losses(epoch, self.ramp_epochs) if self.progressive else 1.0
        self.share.fill_(self._t)
        return self._t < 1

    def targets(self, batch: Batch) -> Targets:
        """Return what every network is trained with, and which groups it found simple."""
        if self.progressive:
            share = self.share if batch.phase else None
            reliable = reliable_candidates(
                batch.losses, batch.predicted, share, batch.most_candidates
            )
            simple = reliable.any(-1)
        else:
            simple = batch.mask.any(-1).expand(batch.losses.shape[:-1])
        losses = self._losses(batch)
        state = {}
        weights = None
        if self._together is not None:
            # Not in the paper: the rows of one photo hear of each other.
            state["together"] = disambiguated_confidences(losses).masked_fill(~batch.mask, 0)
            losses = losses - batch.state["together"]
            weights = self._together.row_weights(batch.rows).to(losses).expand(losses.shape[:-1])
        found = self._confidences(batch, losses, simple)
        taught = exchange(found) if self.cooperation else found
        return Targets(slots=taught, row_weights=weights, state=state, measures={"simple": simple})

    def _losses(self, batch: Batch) -> Tensor:
        """Return the losses that Eq. 1 turns into confidences."""
        return batch.losses

    def _confidences(self, batch: Batch, losses: Tensor, simple: Tensor) -> Tensor:
        """Return the confidences that every network finds by itself."""
        return group_confidences(losses, batch.prior, simple)

    def measures(self) -> dict[str, float]:
        """Return T(t)."""
        return {"T": self._t}

    def warnings(self, settings: TrainingSettings) -> Sequence[str]:
        """Warn where the ramp is longer than the training."""
        if not self.progressive or self.ramp_epochs <= settings.epochs:
            return ()
        return (
            f"Training ends after {settings.epochs} epochs, before all rows may be disambiguated: "
            f"that is from epoch {self.ramp_epochs} on. Give 'ramp_epochs' of half the epochs.",
        )


class NCPDClassifier(NetworkClassifier):
    r"""Two networks that disambiguate easy rows first and learn from each other.

    In every mini-batch each network ranks the losses of all candidates. A row whose predicted label
    is a candidate with one of the smallest losses is *simple*: the network's own probabilities,
    restricted to the candidates, are its confidences. Every other row is *complicated*: all of its
    candidates count the same, or as much as their weights say. Each network is then trained with
    the confidences of the other: with its probabilities :math:`p_j`, the confidences :math:`w_j`
    and the candidates :math:`S`, the loss of a row is

    .. math:: -\sum_{j \in S} w_j \log(p_j)

    The share of losses that count as small grows with the epochs t, from almost none to all:

    .. math:: T(t) = \exp\left( -5 \, (t / t_r - 1)^2 \right)

    up to :math:`t_r`, the ``ramp_epochs``, and one from there on.

    The other parameters and the attributes are described at ``NetworkClassifier``; ``history_``
    also has ``T`` and the share of ``simple`` rows.

    Parameters
    ----------
    ramp_epochs : int, default=100
        Epoch from which every loss counts as small (:math:`t_r`): half the ``epochs``.
    n_networks : int, default=2
        Number of networks. With more than two, each learns from the mean of the others.
    cooperation : bool, default=True
        False trains one network on its own confidences, whatever ``n_networks`` says: the paper's
        "w/o NC".
    progressive : bool, default=True
        False disambiguates every row from the first epoch on: the paper's "w/o PD".

    See Also
    --------
    NCPDPlusClassifier : Extends NCPD with noisy inputs and a mix chosen by the data.
    PRODEN : One network, trained with its own confidences.
    CC : One network, trained to give the candidate sets the most probability.

    Examples
    --------
    >>> from disambig import CandidateLabels, NCPDClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = NCPDClassifier(hidden=64, epochs=40, ramp_epochs=20, random_state=0)
    >>> model = model.fit(X, y)
    >>> model.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="ncpd",
        title="Two networks, easy rows first, each taught by the other",
        when="for the method of the paper; NCPD+ takes about as long",
        paper="Yao, Gong, Deng and Yang, Network Cooperation with Progressive Disambiguation for "
        "Partial Label Learning",
        year=2020,
        deviations=(
            "Rows are not duplicated: one forward pass serves all candidates of a row. That equals "
            "the paper's algorithm without dropout, and with batch norm only where all sets are of "
            "one size.",
            "The loss is the mean over the rows of a mini-batch, not the sum.",
            "T(t) is the share of candidate losses that count as small (Sec. 3.2), so that more "
            "than this share of the rows can be simple; losses equal to the last one count too.",
            "Width, batch norm, dropout and scaling, which the paper leaves open, are one choice "
            "for all data, out of about ten, by held-out accuracy on Lost, BirdSong and MSRCv2; "
            "from_paper() is the plainest network instead.",
            "Where candidates carry weights, these take the place of 1/|S| in Eq. 2.",
            "Where rows come in groups that promise something, Eq. 1 also listens to the other "
            "rows of the group, and rows of a large group count less.",
        ),
    )

    ramp_epochs: int = 100
    n_networks: int = 2
    cooperation: bool = True
    progressive: bool = True

    @staticmethod
    def from_paper(**changes: Any) -> "NCPDClassifier":
        """Return NCPD with the plainest network that the paper's words allow.

        The defaults were chosen among about ten configurations by held-out accuracy on Lost,
        BirdSong and MSRCv2. Nothing here was chosen by a result. The paper states two networks,
        Adam, ``batch_size=128`` and ``ramp_epochs=100``. It leaves open all that follows:

        ``hidden=512``
            A "3-layer perceptron" is read as input, one hidden layer and output. Its width is not
            given; 512 is a common one. ``hidden=(512, 512)`` is the other reading: two hidden
            layers, so that three have weights.
        ``batch_norm=False``, ``dropout=0``, ``decay=0``
            Not mentioned, so not there; nor is weight decay, which this package does not have.
        ``activation="relu"``
            Not mentioned; the usual one.
        ``learning_rate=0.001``
            Not given; what the paper on Adam proposes.
        ``epochs=200``
            Not given; as many after the ramp as before. The last epoch counts.
        ``scaling="standard"``
            Not mentioned; published code for these data standardises features. Here the training
            rows alone say how.

        First weights are those of a linear layer in torch: uniform, within one over the root of
        the inputs. docs/ncpd.md says how the algorithm itself is read.

        Parameters
        ----------
        **changes : dict
            Parameters to change.

        Examples
        --------
        >>> from disambig import NCPDClassifier
        >>> NCPDClassifier.from_paper(random_state=0).batch_norm
        False
        """
        settings: dict[str, Any] = {
            "ramp_epochs": 100,
            "n_networks": 2,
            "hidden": 512,
            "epochs": 200,
            "batch_size": 128,
            "learning_rate": 1e-3,
            "decay": 0.0,
            "dropout": 0.0,
            "activation": "relu",
            "batch_norm": False,
            "scaling": "standard",
        }
        return NCPDClassifier(**(settings | changes))

    def _make_rule(self) -> Rule:
        return ProgressiveCooperation(self.ramp_epochs, self.cooperation, self.progressive)

    def _network_count(self) -> int:
        return self.n_networks if self.cooperation else 1

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("ramp_epochs", self.ramp_epochs, minimum=1)
        check_boolean("cooperation", self.cooperation)
        check_boolean("progressive", self.progressive)
        if self.cooperation and self.n_networks == 1:
            raise ParameterError(
                "'n_networks' must be an integer >= 2, because one network has no other to "
                "cooperate with. Got 1: for a single network give cooperation=False."
            )
        check_integer("n_networks", self.n_networks, minimum=1)
