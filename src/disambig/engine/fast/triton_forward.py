"""Triton kernels of a forward pass of perceptrons with one normalised hidden layer.

Everything but the logits is independent by hidden unit: one sweep over panels of units goes
forwards, another one backwards (``triton_backward``), and what is between them is small. Nothing is
added up in an order that could change: the same step gives the same bits.
"""

from disambig.engine.fast.triton_parts import (
    MOMENTUM,
    VARIANCE_EPSILON,
    kept_units,
    product_of,
    random_bits,
    tl,
    triton,
)


@triton.jit
def read_candidates(
    clock, all_rows, starts, sizes, all_columns, all_priors, adam_steps, learning_rate,
    rows, columns, masks, priors, entries, pace,
    n_rows, n_slots, ROWS: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Copy the rows of this step and their candidates; and how far Adam goes in it.

    One program for so many rows of a problem.
    """
    problem, block = tl.program_id(0), tl.program_id(1)
    step = tl.load(clock)
    row = block * ROWS + tl.arange(0, ROWS)
    is_row = row < n_rows
    at = problem * n_rows + row
    number = tl.load(all_rows + step * tl.num_programs(0) * n_rows + at, mask=is_row, other=0)
    tl.store(rows + at, number, mask=is_row)
    start = tl.load(starts + number, mask=is_row, other=0)
    size = tl.load(sizes + number, mask=is_row, other=0)
    slot = tl.arange(0, SLOTS)
    inside = is_row[:, None] & (slot < n_slots)[None, :]
    used = slot[None, :] < size[:, None]
    entry = start[:, None] + slot[None, :]
    to = at[:, None] * n_slots + slot[None, :]
    prior = tl.load(all_priors + entry, mask=inside, other=0.0)
    tl.store(columns + to, tl.load(all_columns + entry, mask=inside, other=0), mask=inside)
    tl.store(masks + to, used, mask=inside)
    tl.store(priors + to, tl.where(used, prior, 0.0), mask=inside)
    tl.store(entries + to, entry, mask=inside)
    if problem == 0 and block == 0:
        # In double precision, as torch does: early powers of the second rate are almost one.
        count = tl.load(adam_steps).to(tl.float64) + 1
        first = 1 - tl.exp(count * -0.10536051565782628)  # log(0.9)
        second = 1 - tl.exp(count * -0.0010005003335835344)  # log(0.999)
        tl.store(pace, (tl.load(learning_rate).to(tl.float64) / first).to(tl.float32))
        tl.store(pace + 1, tl.sqrt(second).to(tl.float32))


@triton.jit
def read_features(
    clock, all_rows, table, counts, streams, input_mean, inputs,
    n_rows, n_networks, n_features, padded_features, noise_limit,
    NOISY: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Gather features, swap some of them for noise, and subtract their mean over the batch.

    One program for every network and block of features. Filler rows become zero.
    """
    network = tl.program_id(0)
    step = tl.load(clock)
    problem = network // n_networks
    n_problems = tl.num_programs(0) // n_networks
    count = tl.load(counts + step * tl.num_programs(0) + network)
    row = tl.arange(0, ROWS)
    real = (row < count)[:, None]
    feature = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    is_feature = feature < n_features
    inside = real & is_feature[None, :]
    all_rows += (step * n_problems + problem) * n_rows
    if NOISY:
        # See ``SwapNoise``.
        positions = row[:, None] * n_features + feature[None, :]
        bits = random_bits(tl.load(streams + network), positions, tl.load(clock + 1))
        other = ((bits >> 16) * count.to(tl.uint32)) >> 16
        taken = tl.where((bits & 0xFFFF) < noise_limit, other.to(tl.int32), row[:, None])
        number = tl.load(all_rows + taken, mask=inside, other=0)
    else:
        number = tl.load(all_rows + row, mask=row < n_rows, other=0)[:, None]
    value = tl.load(table + number * n_features + feature[None, :], mask=inside, other=0.0)
    mean = tl.sum(value, 0) / count
    centred = tl.where(inside, value - mean[None, :], 0.0)
    at = (network * ROWS + row[:, None]) * padded_features + feature[None, :]
    tl.store(inputs + at, centred, mask=(feature < padded_features)[None, :])
    at_mean = network * n_features + feature
    old = tl.load(input_mean + at_mean, mask=is_feature, other=0.0)
    tl.store(input_mean + at_mean, old + MOMENTUM * (mean - old), mask=is_feature)


@triton.jit
def hidden_forward(
    clock, counts, streams, inputs, weight, gamma, bias, variance, value, hidden, deviation,
    n_features, padded_features, n_units, KEPT: tl.constexpr, N_BITS: tl.constexpr,
    ROWS: tl.constexpr, UNITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Product with the weights, batch norm, dropout, ReLU. One program for a panel of units."""
    network = tl.program_id(0)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    is_unit = unit < n_units
    row = tl.arange(0, ROWS)
    block = tl.arange(0, BLOCK)
    inputs += network * ROWS * padded_features
    weight += network * n_features * n_units
    product = tl.zeros((ROWS, UNITS), dtype=tl.float32)
    for first in range(0, padded_features, BLOCK):
        feature = first + block
        left = tl.load(
            inputs + row[:, None] * padded_features + feature[None, :],
            mask=(feature < padded_features)[None, :],
            other=0.0,
        )
        inside = (feature < n_features)[:, None] & is_unit[None, :]
        right = tl.load(weight + feature[:, None] * n_units + unit[None, :], mask=inside, other=0.0)
        product = product_of(left, right, product)
    step = tl.load(clock)
    count = tl.load(counts + step * tl.num_programs(0) + network)
    spread = tl.sum(product * product, 0) / count
    at_unit = network * n_units + unit
    old = tl.load(variance + at_unit, mask=is_unit, other=0.0)
    unbiased = spread * (count / tl.maximum(count - 1, 1.0))
    tl.store(variance + at_unit, old + MOMENTUM * (unbiased - old), mask=is_unit)
    root = tl.sqrt(spread + VARIANCE_EPSILON)
    tl.store(deviation + at_unit, root, mask=is_unit)
    factor = tl.load(gamma + at_unit, mask=is_unit, other=0.0) / root
    offset = tl.load(bias + at_unit, mask=is_unit, other=0.0)
    active = tl.maximum(offset[None, :] + product * factor[None, :], 0.0)
    if N_BITS > 0:
        stream, counter = tl.load(streams + network), tl.load(clock + 1)
        keep = kept_units(stream, counter, unit, n_units, KEPT, N_BITS, ROWS)
        active = tl.where(keep, active, 0.0)
    at = (network * ROWS + row[:, None]) * n_units + unit[None, :]
    tl.store(value + at, product, mask=is_unit[None, :])
    tl.store(hidden + at, active, mask=is_unit[None, :])


@triton.jit
def logits_forward(
    hidden, weight, partial, n_units, units_in_part, padded_classes, padded_rows,
    ROWS: tl.constexpr, CLASSES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Product of the hidden units, some of them at a time, with the weights of the output layer.

    One program for a tile of logits and a part of the units. ``see`` adds the parts up.
    """
    network, part = tl.program_id(0), tl.program_id(2)
    n_tiles = tl.cdiv(padded_classes, CLASSES)
    row = (tl.program_id(1) // n_tiles) * ROWS + tl.arange(0, ROWS)
    label = (tl.program_id(1) % n_tiles) * CLASSES + tl.arange(0, CLASSES)
    is_class = (label < padded_classes)[None, :]
    block = tl.arange(0, BLOCK)
    hidden += network * padded_rows * n_units
    weight += network * n_units * padded_classes
    product = tl.zeros((ROWS, CLASSES), dtype=tl.float32)
    for first in range(part * units_in_part, (part + 1) * units_in_part, BLOCK):
        unit = first + block
        is_unit = unit < n_units
        left = tl.load(
            hidden + row[:, None] * n_units + unit[None, :], mask=is_unit[None, :], other=0.0
        )
        right = tl.load(
            weight + unit[:, None] * padded_classes + label[None, :],
            mask=is_unit[:, None] & is_class,
            other=0.0,
        )
        product = product_of(left, right, product)
    partial += (part * tl.num_programs(0) + network) * padded_rows * padded_classes
    tl.store(partial + row[:, None] * padded_classes + label[None, :], product, mask=is_class)


@triton.jit
def see(
    partial, bias, columns, masks,
    log_probabilities, predicted, of_candidates, losses, is_predicted,
    n_networks, n_rows, padded_rows, n_classes, padded_classes, n_slots, scale,
    PARTS: tl.constexpr, SEE: tl.constexpr,
    ROWS: tl.constexpr, CLASSES: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Log-softmax of the logits, and what it says of the candidates if asked to ``SEE`` them.

    One program for some rows.
    """
    network = tl.program_id(0)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    is_row = row < n_rows
    label = tl.arange(0, CLASSES)
    is_class = (label < n_classes)[None, :]
    inside = is_row[:, None] & is_class
    product = tl.zeros((ROWS, CLASSES), dtype=tl.float32)
    for part in tl.static_range(PARTS):
        first = (part * tl.num_programs(0) + network) * padded_rows
        at = (first + row[:, None]) * padded_classes + label[None, :]
        product += tl.load(partial + at, mask=inside, other=0.0)
    offset = tl.load(bias + network * n_classes + label, mask=label < n_classes, other=0.0)
    logits = tl.where(is_class, offset[None, :] + scale * product, -float("inf"))
    below = logits - tl.max(logits, 1)[:, None]
    log_probability = below - tl.log(tl.sum(tl.exp(below), 1))[:, None]
    at_row = network * n_rows + row
    to = at_row[:, None] * n_classes + label[None, :]
    tl.store(log_probabilities + to, log_probability, mask=inside)
    if SEE:
        best = tl.argmax(logits, 1)
        tl.store(predicted + at_row, best.to(tl.int64), mask=is_row)
        slot = tl.arange(0, SLOTS)
        in_slots = is_row[:, None] & (slot < n_slots)[None, :]
        of_problem = ((network // n_networks) * n_rows + row)[:, None] * n_slots + slot[None, :]
        column = tl.load(columns + of_problem, mask=in_slots, other=0).to(tl.int32)
        used = tl.load(masks + of_problem, mask=in_slots, other=0) != 0
        of_slots = tl.gather(log_probability, column, 1)
        to_slots = at_row[:, None] * n_slots + slot[None, :]
        tl.store(of_candidates + to_slots, of_slots, mask=in_slots)
        tl.store(losses + to_slots, tl.where(used, -of_slots, float("inf")), mask=in_slots)
        tl.store(is_predicted + to_slots, used & (column == best[:, None]), mask=in_slots)
