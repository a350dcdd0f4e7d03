"""Triton kernels of a training step of perceptrons with one normalised hidden layer.

Everything but the logits is independent by hidden unit. So a step is two sweeps over panels of
units, one forwards and one backwards with Adam at its end, and what is between them is small.
Nothing is added up in an order that could change: the same step gives the same bits.

Only ``fused_step`` and ``ranking`` import this module, and only where Triton is there. Products are
taken as three products in TF32 of the high and low parts of the numbers, which keeps the precision
of float32.
"""

try:
    import triton
    from triton import language as tl
except ModuleNotFoundError:
    # A module can be imported anywhere; nothing in this one is called without Triton.
    from types import SimpleNamespace

    triton = SimpleNamespace(jit=lambda function: function)
    tl = SimpleNamespace(constexpr=lambda value: value)

# The constants of ``disambig.engine.fast.random``, unsigned.
_STRIDE = tl.constexpr(0x9E3779B97F4A7C15)
_FIRST_FACTOR = tl.constexpr(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = tl.constexpr(0x94D049BB133111EB)
_NEXT_COUNTER = tl.constexpr((0x9E3779B97F4A7C15 << 32) % 2**64)
# Adam's rates of forgetting, and what keeps it from dividing by zero.
_BETA1 = tl.constexpr(0.9)
_BETA2 = tl.constexpr(0.999)
_ADAM_EPSILON = tl.constexpr(1e-8)
# Batch norm's, as in ``disambig.engine.fast.batch_norm``.
_VARIANCE_EPSILON = tl.constexpr(1e-5)
_MOMENTUM = tl.constexpr(0.1)


@triton.jit
def _random_words(stream, positions, counter):
    """Return ``random_words`` of some positions of a stream, as unsigned integers of 64 bits."""
    words = stream.to(tl.uint64) + positions.to(tl.uint64) * _STRIDE
    words += counter.to(tl.uint64) * _NEXT_COUNTER
    words ^= words >> 30
    words *= _FIRST_FACTOR
    words ^= words >> 27
    words *= _SECOND_FACTOR
    return words ^ (words >> 31)


@triton.jit
def _random_bits(stream, positions, counter):
    """Return the same, cut into halves of 32 bits: two positions share a word."""
    words = _random_words(stream, positions >> 1, counter)
    return tl.where((positions & 1) == 1, words >> 32, words & 0xFFFFFFFF).to(tl.uint32)


@triton.jit
def _kept_units(
    stream, counter, units, n_units, KEPT: tl.constexpr, N_BITS: tl.constexpr, ROWS: tl.constexpr
):
    """Return which units ``Dropout`` keeps in every row: shape (rows, units)."""
    words = tl.arange(0, ROWS // 32)[:, None] * N_BITS * n_units + units[None, :]
    bits = _random_bits(stream, words, counter)
    # See ``Dropout._kept_bits``.
    for number in tl.static_range(1, N_BITS):
        fair = _random_bits(stream, words + number * n_units, counter)
        if (KEPT >> (8 - N_BITS + number)) & 1:
            bits |= fair
        else:
            bits &= fair
    of_rows = bits[:, None, :] >> (31 - tl.arange(0, 32).to(tl.uint32))[None, :, None]
    return tl.reshape(of_rows & 1, (ROWS, units.shape[0])) == 1


@triton.jit
def _high_part(value):
    """Return a number rounded to the digits that TF32 has."""
    bits = value.to(tl.int32, bitcast=True)
    return ((bits + 0x1000) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def _product(left, right, total):
    """Return ``total + left @ right`` with the precision of float32, out of products in TF32.

    Begun anew and added to the total, because units for TF32 cut off digits when they add up.
    """
    left_high, right_high = _high_part(left), _high_part(right)
    product = tl.dot(left - left_high, right_high, input_precision="tf32")
    product = tl.dot(left_high, right - right_high, product, input_precision="tf32")
    return total + tl.dot(left_high, right_high, product, input_precision="tf32")


@triton.jit
def _adam(old, mean, square, gradient, step_size, correction):
    """Return a parameter after Adam's step, and what Adam remembers of it, as torch does."""
    mean = _BETA1 * mean + (1 - _BETA1) * gradient
    square = _BETA2 * square + (1 - _BETA2) * gradient * gradient
    return old - step_size * mean / (tl.sqrt(square) / correction + _ADAM_EPSILON), mean, square


@triton.jit
def _update(parameter, means, squares, at, mask, gradient, step_size, correction):
    """Take Adam's step for the parameters at some places."""
    old = tl.load(parameter + at, mask=mask, other=0.0)
    mean = tl.load(means + at, mask=mask, other=0.0)
    square = tl.load(squares + at, mask=mask, other=0.0)
    new, mean, square = _adam(old, mean, square, gradient, step_size, correction)
    tl.store(parameter + at, new, mask=mask)
    tl.store(means + at, mean, mask=mask)
    tl.store(squares + at, square, mask=mask)


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
        bits = _random_bits(tl.load(streams + network), positions, tl.load(clock + 1))
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
    tl.store(input_mean + at_mean, old + _MOMENTUM * (mean - old), mask=is_feature)


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
        product = _product(left, right, product)
    step = tl.load(clock)
    count = tl.load(counts + step * tl.num_programs(0) + network)
    spread = tl.sum(product * product, 0) / count
    at_unit = network * n_units + unit
    old = tl.load(variance + at_unit, mask=is_unit, other=0.0)
    unbiased = spread * (count / tl.maximum(count - 1, 1.0))
    tl.store(variance + at_unit, old + _MOMENTUM * (unbiased - old), mask=is_unit)
    root = tl.sqrt(spread + _VARIANCE_EPSILON)
    tl.store(deviation + at_unit, root, mask=is_unit)
    factor = tl.load(gamma + at_unit, mask=is_unit, other=0.0) / root
    offset = tl.load(bias + at_unit, mask=is_unit, other=0.0)
    active = tl.maximum(offset[None, :] + product * factor[None, :], 0.0)
    if N_BITS > 0:
        stream, counter = tl.load(streams + network), tl.load(clock + 1)
        keep = _kept_units(stream, counter, unit, n_units, KEPT, N_BITS, ROWS)
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
        product = _product(left, right, product)
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


@triton.jit
def gradient_of_slots(
    clock, counts, columns, targets, log_probabilities,
    predicted, of_candidates, losses, is_predicted,
    gradient, log_likelihoods, covered, predictions, chosen,
    n_networks, n_rows, padded_rows, n_classes, padded_classes, n_slots,
    ROWS: tl.constexpr, CLASSES: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Differentiate the mean loss by the logits, and note down what the records keep.

    One program for some rows of all networks of a problem.
    """
    problem, n_problems = tl.program_id(0), tl.num_programs(0)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    is_row = row < n_rows
    step = tl.load(clock)
    label, slot = tl.arange(0, CLASSES), tl.arange(0, SLOTS)
    is_class = (label < n_classes)[None, :]
    of_problem = problem * n_rows + row
    inside = is_row[:, None] & (slot < n_slots)[None, :]
    loss_of_all = tl.zeros((ROWS, SLOTS), dtype=tl.float32)
    for number in range(n_networks):
        network = problem * n_networks + number
        count = tl.load(counts + step * n_problems * n_networks + network)
        at_row = network * n_rows + row
        result = tl.exp(
            tl.load(
                log_probabilities + at_row[:, None] * n_classes + label[None, :],
                mask=is_row[:, None] & is_class,
                other=-float("inf"),
            )
        )
        for position in range(n_slots):
            column = tl.load(columns + of_problem * n_slots + position, mask=is_row, other=0)
            target = tl.load(targets + at_row * n_slots + position, mask=is_row, other=0.0)
            result -= tl.where(label[None, :] == column[:, None], target[:, None], 0.0)
        result *= tl.where(row < count, 1.0 / count, 0.0)[:, None]
        at = (network * padded_rows + row[:, None]) * padded_classes + label[None, :]
        tl.store(gradient + at, result, mask=(label < padded_classes)[None, :])
        at_slots = at_row[:, None] * n_slots + slot[None, :]
        loss_of_all += tl.load(losses + at_slots, mask=inside, other=float("inf"))
        said = tl.load(of_candidates + at_slots, mask=inside, other=0.0)
        likelihood = tl.sum(tl.load(targets + at_slots, mask=inside, other=0.0) * said, 1)
        hits = tl.load(is_predicted + at_slots, mask=inside, other=0).to(tl.int32)
        to = step * n_problems * n_networks * n_rows + at_row
        tl.store(log_likelihoods + to, likelihood, mask=is_row)
        tl.store(covered + to, tl.max(hits, 1) != 0, mask=is_row)
        tl.store(predictions + to, tl.load(predicted + at_row, mask=is_row, other=0), mask=is_row)
    best = tl.argmin(loss_of_all, 1).to(tl.int64)
    tl.store(chosen + step * n_problems * n_rows + of_problem, best, mask=is_row)


@triton.jit
def hidden_backward(
    clock, counts, value, hidden, deviation, gradient, gamma, output,
    of_product, of_bias, of_gamma, n_units, padded_classes, scale,
    ROWS: tl.constexpr, UNITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """From the gradient of the logits to that of the first product, of gamma and of the bias.

    One program for a panel of units. ``output`` are the weights of the output layer.
    """
    network = tl.program_id(0)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    is_unit = unit < n_units
    row = tl.arange(0, ROWS)
    block = tl.arange(0, BLOCK)
    gradient += network * ROWS * padded_classes
    of_hidden = tl.zeros((ROWS, UNITS), dtype=tl.float32)
    for first in range(0, padded_classes, BLOCK):
        label = first + block
        is_class = (label < padded_classes)[None, :]
        of_logits = tl.load(
            gradient + row[:, None] * padded_classes + label[None, :], mask=is_class, other=0.0
        )
        weight = tl.load(
            output + (network * n_units + unit[:, None]) * padded_classes + label[None, :],
            mask=is_unit[:, None] & is_class,
            other=0.0,
        )
        of_hidden = _product(of_logits, tl.trans(weight), of_hidden)
    at = (network * ROWS + row[:, None]) * n_units + unit[None, :]
    active = tl.load(hidden + at, mask=is_unit[None, :], other=0.0)
    product = tl.load(value + at, mask=is_unit[None, :], other=0.0)
    count = tl.load(counts + tl.load(clock) * tl.num_programs(0) + network)
    at_unit = network * n_units + unit
    root = tl.load(deviation + at_unit, mask=is_unit, other=1.0)
    factor = tl.load(gamma + at_unit, mask=is_unit, other=0.0) / root
    of_active = tl.where(active > 0, scale * of_hidden, 0.0)
    # With normalised = product / deviation, and the mean of the inputs gone already:
    # d gamma = sum(d active * normalised)
    # d product = gamma / deviation * (d active - normalised * mean(d active * normalised))
    aligned = tl.sum(of_active * product, 0) / root
    tl.store(of_gamma + at_unit, aligned, mask=is_unit)
    tl.store(of_bias + at_unit, tl.sum(of_active, 0), mask=is_unit)
    result = (of_active - product * (aligned / (root * count))[None, :]) * factor[None, :]
    tl.store(of_product + at, result, mask=is_unit[None, :])


@triton.jit
def _update_tile(
    network, tile, left, right, weight, means, squares, scale, step_size, correction,
    n_left, padded_left, n_right,
    ROWS: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Adam's step for a tile of weights whose gradient is ``scale * left.T @ right``."""
    n_wide = tl.cdiv(n_right, WIDE)
    upright = (tile // n_wide) * TALL + tl.arange(0, TALL)
    across = (tile % n_wide) * WIDE + tl.arange(0, WIDE)
    at = (network * n_left + upright[:, None]) * n_right + across[None, :]
    in_right = (across < n_right)[None, :]
    inside = (upright < n_left)[:, None] & in_right
    # Loaded before the product, during which they can arrive.
    old = tl.load(weight + at, mask=inside, other=0.0)
    mean = tl.load(means + at, mask=inside, other=0.0)
    square = tl.load(squares + at, mask=inside, other=0.0)
    in_left = (upright < padded_left)[:, None]
    left += network * ROWS * padded_left
    right += network * ROWS * n_right
    gradient = tl.zeros((TALL, WIDE), dtype=tl.float32)
    for first in range(0, ROWS, BLOCK):
        row = first + tl.arange(0, BLOCK)
        # Transposed by its addresses.
        one = tl.load(left + row[None, :] * padded_left + upright[:, None], mask=in_left, other=0.0)
        other = tl.load(right + row[:, None] * n_right + across[None, :], mask=in_right, other=0.0)
        gradient = _product(one, other, gradient)
    new, mean, square = _adam(old, mean, square, scale * gradient, step_size, correction)
    tl.store(weight + at, new, mask=inside)
    tl.store(means + at, mean, mask=inside)
    tl.store(squares + at, square, mask=inside)


@triton.jit
def update(
    pace, inputs, of_product, hidden, gradient, of_bias, of_gamma,
    weight, weight_mean, weight_square, output, output_mean, output_square,
    bias, bias_mean, bias_square, gamma, gamma_mean, gamma_square,
    offset, offset_mean, offset_square, clock, adam_steps,
    n_features, padded_features, n_units, n_classes, padded_classes,
    hidden_tiles, scale, N_STEPS: tl.constexpr,
    ROWS: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Adam's step of all parameters; gradients of weights, made here, never reach memory.

    One program for a tile of weights, those of the hidden layer before those of the output layer.
    The first program of a network, which takes longest, has its vectors. The very first also goes
    on to the next step, because nobody looks at the clock here.
    """
    network, tile = tl.program_id(0), tl.program_id(1) - 1
    step_size, correction = tl.load(pace), tl.load(pace + 1)
    if tile < 0:
        for first in range(0, n_units, 256):
            unit = first + tl.arange(0, 256)
            at, inside = network * n_units + unit, unit < n_units
            change = tl.load(of_bias + at, mask=inside, other=0.0)
            _update(bias, bias_mean, bias_square, at, inside, change, step_size, correction)
            change = tl.load(of_gamma + at, mask=inside, other=0.0)
            _update(gamma, gamma_mean, gamma_square, at, inside, change, step_size, correction)
        row = tl.arange(0, ROWS)
        for first in range(0, padded_classes, 32):
            label = first + tl.arange(0, 32)
            at = (network * ROWS + row[:, None]) * padded_classes + label[None, :]
            inside = label < n_classes
            change = tl.sum(tl.load(gradient + at, mask=inside[None, :], other=0.0), 0)
            at = network * n_classes + label
            _update(offset, offset_mean, offset_square, at, inside, change, step_size, correction)
        if network == 0:
            tl.store(clock, tl.load(clock) + 1)
            tl.store(clock + 1, tl.load(clock + 1) + 1)
            for number in tl.static_range(N_STEPS):
                tl.store(adam_steps + number, tl.load(adam_steps + number) + 1)
    elif tile < hidden_tiles:
        _update_tile(
            network, tile, inputs, of_product, weight, weight_mean, weight_square, 1.0,
            step_size, correction, n_features, padded_features, n_units,
            ROWS, TALL, WIDE, BLOCK,
        )  # fmt: skip
    else:
        _update_tile(
            network, tile - hidden_tiles, hidden, gradient, output, output_mean, output_square,
            scale, step_size, correction, n_units, n_units, padded_classes,
            ROWS, TALL, WIDE, BLOCK,
        )  # fmt: skip


@triton.jit
def rank(
    losses, share, is_small, n_losses,
    ROUNDS: tl.constexpr, OTHERS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Whether fewer losses of a batch are below one than the given share of them.

    One program for a block of the losses that a network has.
    """
    network = tl.program_id(0)
    losses += network * n_losses
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    loss = tl.load(losses + at, mask=at < n_losses, other=float("inf"))
    below = tl.zeros((BLOCK,), dtype=tl.int32)
    n_candidates = tl.zeros((), dtype=tl.int32)
    for round_ in range(ROUNDS):
        other = round_ * OTHERS + tl.arange(0, OTHERS)
        losses_there = tl.load(losses + other, mask=other < n_losses, other=float("inf"))
        n_candidates += tl.sum((losses_there < float("inf")).to(tl.int32), 0)
        below += tl.sum((losses_there[None, :] < loss[:, None]).to(tl.int32), 1)
    n_small = (tl.load(share) * n_candidates.to(tl.float64)).to(tl.int32)
    tl.store(is_small + network * n_losses + at, below < n_small, mask=at < n_losses)
