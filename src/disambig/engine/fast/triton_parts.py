"""Parts that kernels in Triton share: random bits, products, Adam; and Triton, or nothing.

Only kernels are made of these. A module with kernels can be imported anywhere; without Triton none
of them is called.
"""

try:
    import triton
    from triton import language as tl
except ModuleNotFoundError:
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
VARIANCE_EPSILON = tl.constexpr(1e-5)
MOMENTUM = tl.constexpr(0.1)


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
def random_bits(stream, positions, counter):
    """Return the same, cut into halves of 32 bits: two positions share a word."""
    words = _random_words(stream, positions >> 1, counter)
    return tl.where((positions & 1) == 1, words >> 32, words & 0xFFFFFFFF).to(tl.uint32)


@triton.jit
def kept_units(
    stream, counter, units, n_units, KEPT: tl.constexpr, N_BITS: tl.constexpr, ROWS: tl.constexpr
):
    """Return which units ``Dropout`` keeps in every row: shape (rows, units)."""
    words = tl.arange(0, ROWS // 32)[:, None] * N_BITS * n_units + units[None, :]
    bits = random_bits(stream, words, counter)
    # See ``Dropout._kept_bits``.
    for number in tl.static_range(1, N_BITS):
        fair = random_bits(stream, words + number * n_units, counter)
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
def product_of(left, right, total):
    """Return ``total + left @ right`` with the precision of float32, out of products in TF32.

    Begun anew and added to the total, because units for TF32 cut off digits when they add up.
    """
    left_high, right_high = _high_part(left), _high_part(right)
    product = tl.dot(left - left_high, right_high, input_precision="tf32")
    product = tl.dot(left_high, right - right_high, product, input_precision="tf32")
    return total + tl.dot(left_high, right_high, product, input_precision="tf32")


@triton.jit
def adam_step(old, mean, square, gradient, step_size, correction):
    """Return a parameter after Adam's step, and what Adam remembers of it, as torch does."""
    mean = _BETA1 * mean + (1 - _BETA1) * gradient
    square = _BETA2 * square + (1 - _BETA2) * gradient * gradient
    return old - step_size * mean / (tl.sqrt(square) / correction + _ADAM_EPSILON), mean, square


@triton.jit
def update_places(parameter, means, squares, at, mask, gradient, step_size, correction):
    """Take Adam's step for the parameters at some places."""
    old = tl.load(parameter + at, mask=mask, other=0.0)
    mean = tl.load(means + at, mask=mask, other=0.0)
    square = tl.load(squares + at, mask=mask, other=0.0)
    new, mean, square = adam_step(old, mean, square, gradient, step_size, correction)
    tl.store(parameter + at, new, mask=mask)
    tl.store(means + at, mean, mask=mask)
    tl.store(squares + at, square, mask=mask)
