"""Triton kernels that learn: ranked losses, gradients, and Adam's step where they are made."""

from disambig.engine.fast.triton_parts import (
    adam_step,
    product_of,
    tl,
    triton,
    update_places,
)


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
        of_hidden = product_of(of_logits, tl.trans(weight), of_hidden)
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
        gradient = product_of(one, other, gradient)
    new, mean, square = adam_step(old, mean, square, scale * gradient, step_size, correction)
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
            update_places(bias, bias_mean, bias_square, at, inside, change, step_size, correction)
            change = tl.load(of_gamma + at, mask=inside, other=0.0)
            update_places(
                gamma, gamma_mean, gamma_square, at, inside, change, step_size, correction
            )
        row = tl.arange(0, ROWS)
        for first in range(0, padded_classes, 32):
            label = first + tl.arange(0, 32)
            at = (network * ROWS + row[:, None]) * padded_classes + label[None, :]
            inside = label < n_classes
            change = tl.sum(tl.load(gradient + at, mask=inside[None, :], other=0.0), 0)
            at = network * n_classes + label
            update_places(
                offset, offset_mean, offset_square, at, inside, change, step_size, correction
            )
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
