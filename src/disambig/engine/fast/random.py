"""Random bits, and the dropout and swap noise made of them.

Random numbers are a pure function of a seed, a counter and a position: no generator has a state to
carry. A network draws the same bits alone or in a stack, on the CPU or on a card, in a run of one
piece or in one that was interrupted.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from disambig.engine.fast.step import RowsInBatch, Workspace

# The constants of splitmix64, as signed integers: that generator is a counter times the first one,
# mixed by the other two.
_STRIDE = -7046029254386353131
_FIRST_FACTOR = -4658895280553007687
_SECOND_FACTOR = -7723592293110705685


def streams_of(seeds: Sequence[int], purpose: int = 0) -> Tensor:
    """Return a stream of random numbers for every seed: the integer that it begins with.

    Seeds have up to 64 bits. Numbers for different purposes have nothing to do with each other.
    """
    mixed = _mixed(torch.tensor([_wrapped(seed) for seed in seeds]))
    return _mixed(mixed + _wrapped((purpose + 1) * _STRIDE))


def positions_of(streams: Tensor, count: int, first: int = 0) -> Tensor:
    """Return ``count`` positions of every stream, to be drawn from again and again."""
    numbers = torch.arange(first, first + count, device=streams.device)
    return streams.unsqueeze(-1) + numbers * _STRIDE


def random_words(positions: Tensor, counter: Tensor | int) -> Tensor:
    """Return a random integer of 64 bits for every position from ``positions_of``.

    Another counter, such as the number of a step, gives other numbers.
    """
    offset = counter * _NEXT_COUNTER
    return _mixed(positions + (offset if isinstance(offset, Tensor) else _wrapped(offset)))


def _wrapped(value: int) -> int:
    """Return the signed integer of 64 bits that arithmetic with 64 bits would give."""
    return (value + 2**63) % 2**64 - 2**63


# So many positions on that no counter reaches into the next one's.
_NEXT_COUNTER = _wrapped(2**32 * _STRIDE)


def _mixed(words: Tensor) -> Tensor:
    """Mix in place, so that every bit of the result hangs on every bit of the input."""
    words ^= _shifted(words, 30)
    words *= _FIRST_FACTOR
    words ^= _shifted(words, 27)
    words *= _SECOND_FACTOR
    words ^= _shifted(words, 31)
    return words


def _shifted(words: Tensor, bits: int) -> Tensor:
    """Shift right and fill up with zeros; torch fills up with the sign, which would lose a bit."""
    return (words >> bits).bitwise_and_(2 ** (64 - bits) - 1)


# Rows that share a random number, each with a bit of its own.
_ROWS_PER_WORD = 32
# Probabilities are multiples of one over this: a random bit for every halving.
_HALVINGS = 8
_LEVELS = 2**_HALVINGS
# Steps whose random numbers are drawn together, where steps are counted here; and the most numbers
# of 64 bits that this may take, unless a single step needs more.
_MOST_STEPS = 8
_MOST_WORDS = 2**20


class Dropout(nn.Module):
    """Units to keep in every step, for every network: a pure function of its seed and the step.

    Parameters
    ----------
    share : float
        Share of units to leave out, above 0 and below 1; to the nearest 1/256.
    n_units : int
        Units of the layer.
    seeds : sequence of int
        One for every network.
    layer : int
        Number of the layer: others draw other units.

    Attributes
    ----------
    scale : float
        What the outputs of the layer are to be multiplied by, so that as much comes through as
        without dropout.
    kept : int
        Share of units that are kept, in parts of 256.
    n_bits : int
        Fair random bits that decide on a unit.
    streams : Tensor of shape (networks,)
        Random numbers of every network.
    first_row : int
        Place in the batch of the first row that is asked for: another process may have others.
    """

    streams: Tensor
    _shifts: Tensor

    def __init__(self, share: float, n_units: int, seeds: Sequence[int], layer: int) -> None:
        super().__init__()
        self.kept = min(max(round((1 - share) * _LEVELS), 1), _LEVELS - 1)
        self.scale = _LEVELS / self.kept
        lowest_bit = (self.kept & -self.kept).bit_length() - 1
        self.n_bits: int = _HALVINGS - lowest_bit
        self.first_row = 0
        self._n_units = n_units
        self._workspace = Workspace()
        self._positions: Tensor | None = None
        self._drawn: tuple[int, int] | None = None
        self._masks: Tensor | None = None
        self._block: tuple[int, int] | None = None
        self._bits_of_steps = torch.empty(0)
        shifts = torch.arange(_ROWS_PER_WORD, dtype=torch.int32).unsqueeze(1)
        self.register_buffer("_shifts", shifts, persistent=False)
        self.register_buffer("streams", streams_of(seeds, layer), persistent=False)

    def forward(self, n_rows: int, step: int | Tensor) -> Tensor:
        """Return an integer for every network, row and unit: below zero to leave the unit out.

        Rows share random numbers: each looks at a bit of its own, shifted to where the sign is.
        What a row gets does not depend on the rows after it. A step that asks twice, for clean and
        for noisy inputs, gets the same.
        """
        if self._masks is not None and self._drawn == (n_rows, step):
            return self._masks
        offset = self.first_row % _ROWS_PER_WORD
        bits = self._dropped_bits(-(-(offset + n_rows) // _ROWS_PER_WORD), step)
        networks, words, units = bits.shape
        shape = (networks, words, _ROWS_PER_WORD, units)
        masks = self._workspace.tensor("masks", bits, shape)
        torch.bitwise_left_shift(bits.unsqueeze(2), self._shifts, out=masks)
        self._masks = masks.view(networks, words * _ROWS_PER_WORD, units)
        self._masks = self._masks[:, offset : offset + n_rows]
        # A step that is counted on a card is not known here.
        self._drawn = (n_rows, step) if isinstance(step, int) else None
        return self._masks

    def _dropped_bits(self, n_words: int, step: int | Tensor) -> Tensor:
        """Return random words whose bits are set with the probability of leaving a unit out."""
        if not isinstance(step, int):
            return ~self._kept_bits(n_words, step)
        # For several steps at once: to start an operation takes longer than to do it for one.
        size = len(self.streams) * self._words_of_step(n_words)
        count = max(1, min(_MOST_STEPS, _MOST_WORDS // size))
        block, number = divmod(step, count)
        if self._block != (n_words, block):
            first = block * count
            steps = torch.arange(first, first + count, device=self.streams.device)
            self._bits_of_steps = ~self._kept_bits(n_words, steps.view(-1, 1, 1))
            self._block = (n_words, block)
        return self._bits_of_steps[number]

    def _words_of_step(self, n_words: int) -> int:
        """Return how many random numbers of 64 bits a network draws in a step."""
        return -(-n_words * self.n_bits * self._n_units // 2)

    def _kept_bits(self, n_words: int, step: Tensor) -> Tensor:
        """Return random words whose bits are set with the probability of keeping a unit.

        Of shape (networks, words, units), behind an axis for the steps if there are several.
        """
        fair = self._fair_bits(n_words, step)
        # The binary digits of the probability, from the last one that is not zero to the first:
        # "and" with a fair bit halves what there is, "or" halves it and adds one half.
        bits = fair[..., 0, :]
        for number in range(1, self.n_bits):
            is_set = self.kept >> (_HALVINGS - self.n_bits + number) & 1
            bits = bits | fair[..., number, :] if is_set else bits & fair[..., number, :]
        return bits

    def _fair_bits(self, n_words: int, step: Tensor) -> Tensor:
        """Return random integers of 32 bits of the shape (..., networks, words, bits, units)."""
        per_word = self.n_bits * self._n_units
        # Two numbers of 32 bits to one of 64: the first wanted may be the second of the two.
        first, half = divmod(self.first_row // _ROWS_PER_WORD * per_word, 2)
        end = first + -(-(half + n_words * per_word) // 2)
        positions = self._positions
        if positions is None or positions.shape[1] < end or positions.device != self.streams.device:
            positions = self._positions = positions_of(self.streams, end)
        words = random_words(positions[:, first:end], step).view(torch.int32)
        words = words[..., half : half + n_words * per_word]
        return words.reshape(*words.shape[:-1], n_words, self.n_bits, self._n_units)


# Dropout takes the numbers of the layers, from zero on.
_PURPOSE = 2**16
# A random integer of 32 bits is cut into one half that decides and one that names the other row.
_HALF_BITS = 16
_LOW_HALF = 2**_HALF_BITS - 1
_LONGEST = 2**31 - 1


class SwapNoise:
    """Replace some features of every row by the same feature of other rows of the batch.

    What comes in is a value that the feature really takes, and as often as it takes it. Everything
    is a pure function of the seed and the step.

    Parameters
    ----------
    share : float
        Share of features to replace, above 0 and up to 1; to the nearest 1/65536.
    seeds : sequence of int
        One for every network.

    Attributes
    ----------
    limit : int
        The share, in parts of 65536.
    """

    def __init__(self, share: float, seeds: Sequence[int]) -> None:
        self.limit = round(float(share) * 2**_HALF_BITS)
        self._streams = streams_of(seeds, _PURPOSE)
        self._positions = torch.empty(0)
        # Numbers of the rows, and of every value of a batch in memory.
        self._rows = torch.empty(0)
        self._places = torch.empty(0)

    def streams_on(self, device: torch.device) -> Tensor:
        """Return the random numbers of every network, which move to where they are needed."""
        self._streams = self._streams.to(device)
        return self._streams

    def __call__(self, features: Tensor, rows: RowsInBatch, step: int | Tensor) -> Tensor:
        """Return other features for a batch, or for those of several steps; the given ones stay.

        Rows that only fill up, which come after the real ones, are never taken from.

        Parameters
        ----------
        features : Tensor of shape (networks, rows, features)
            Where there are several steps, the networks of the first one, then those of the second.
        rows : RowsInBatch
            Which rows are real; the first axis is the same.
        step : int or Tensor of integers of shape (steps,)
            Numbers of the steps.
        """
        stack, n_rows, n_features = features.shape
        count = n_rows * n_features
        n_words = -(-count // 2)
        if self._positions.shape != (len(self._streams), n_words):
            self._positions = positions_of(self.streams_on(features.device), n_words)
        if self._places.shape != features.shape:
            # Integers of 32 bits are quicker, where they are long enough.
            is_long = max(n_rows << _HALF_BITS, stack * count) > _LONGEST
            kind = torch.int64 if is_long else torch.int32
            places = torch.arange(stack * count, dtype=kind, device=features.device)
            self._places = places.view_as(features)
            self._rows = torch.arange(n_rows, dtype=kind, device=features.device).view(1, -1, 1)
        counter = step.view(-1, 1, 1) if isinstance(step, Tensor) else step
        words = random_words(self._positions, counter).view(stack, n_words)
        bits = words.view(torch.int32)[:, :count].view_as(features)
        # All bits set where a feature is replaced: the sign of what is below the limit.
        decides = bits.bitwise_and(_LOW_HALF).sub_(self.limit).bitwise_right_shift_(31)
        # A random number below the number of real rows: that number times a random fraction.
        other = (bits >> _HALF_BITS).bitwise_and_(_LOW_HALF).to(self._rows.dtype)
        other.mul_(rows.counts.to(other.dtype)).bitwise_right_shift_(_HALF_BITS)
        # By places in memory: on the CPU several times as fast as choosing rows and gathering.
        steps_away = other.sub_(self._rows).bitwise_and_(decides)
        places = steps_away.mul_(n_features).add_(self._places).flatten()
        return features.reshape(-1).index_select(0, places).view_as(features)
