"""The slow reference against hand-made tables and against recorded TensorFlow results."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from poolgrad import reference

from .compare import (
    AVERAGES,
    SPREADS,
    as_tuple,
    assert_same_bits,
    assert_same_form,
    bits,
    cells,
    channels_first,
    channels_last,
    comparable_part,
    error,
    exact_values,
    has_layout,
    is_float_average,
    is_special,
    magnitudes,
    may_overflow,
    reference_result,
)
from .golden import load
from .model import Array, Call, Failure
from .worked import EXAMPLES, INF, LINE, LOWEST, NAN, NINE, TWO_IMAGES, edges, plane, row

RESULTS = [(call, result) for call, result in load() if not isinstance(result, Failure)]
AVERAGED = [pytest.param(call, result[0], id=call.id) for call, result in RESULTS if is_float_average(call)]
EXACT = [
    pytest.param(call, result, id=call.id)
    for call, result in RESULTS
    if not is_float_average(call) and call.quirk != "nan3d"
]


@pytest.mark.parametrize(("op", "arguments", "expected"), EXAMPLES)
def test_worked_example(op: str, arguments: dict[str, Any], expected: list[float]) -> None:
    actual = as_tuple(reference.RAW_OPS[op](**arguments))[0]
    assert_same_bits(np.array(expected, actual.dtype), actual.ravel())


@pytest.mark.parametrize(("include_batch", "expected"), [(False, [2, 1, 0, 3]), (True, [2, 1, 4, 7])])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_argmax_is_a_flat_index(include_batch: bool, expected: list[int], dtype: Any) -> None:
    run = reference.RAW_OPS["MaxPoolWithArgmax"]
    _, argmax = run(input=TWO_IMAGES, include_batch_in_index=include_batch, Targmax=dtype, **row(2, 2))
    assert_same_bits(np.array(expected, dtype), argmax.ravel())


@pytest.mark.parametrize(("width", "window", "stride"), [(2, 4, 1), (2, 6, 2)])
def test_negative_output_length_is_refused(width: int, window: int, stride: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        reference.RAW_OPS["AvgPool"](value=plane(range(width)), **row(window, stride))


@pytest.mark.parametrize("index", [-1, 4])
def test_argmax_outside_the_input_is_refused(index: int) -> None:
    given = {"input": plane([0, 0, 0, 0]), "grad": plane([1, 2]), "argmax": plane([0, index], np.int64)}
    with pytest.raises(ValueError, match="outside"):
        reference.RAW_OPS["MaxPoolGradWithArgmax"](**given, **row(2, 2))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param([1, 2], [1], id="other-output"),
        pytest.param([NAN, 1], [1], id="leading-nan"),
        pytest.param([-INF, -INF], [LOWEST], id="all-infinite"),
    ],
)
def test_fractional_gradient_insists_on_its_own_maxima(x: list[float], y: list[float]) -> None:
    run = reference.RAW_OPS["FractionalMaxPoolGrad"]
    with pytest.raises(ValueError, match="maxima"):
        run(orig_input=plane(x), orig_output=plane(y), out_backprop=plane([1]), **edges([0, 1], [0, 2]))


def test_philox_blocks() -> None:
    generator = reference.Philox(1, 2)
    assert generator.block(0) == (0xE73404CF, 0x8CEDC5D3, 0x3F071736, 0x0A0AFDDD)
    assert generator.block(1) == (0xB7B4C173, 0xDB04B052, 0x44541F91, 0x0E0B3CF3)


# size, ratio, pseudo_random, seeds, boundaries along both axes
SEQUENCES = [
    pytest.param((10, 13), 1.5, False, (1, 2), [0, 1, 3, 4, 6, 8, 10], [0, 1, 3, 5, 6, 7, 9, 11, 13], id="random-1.5"),
    pytest.param((10, 13), 1.5, True, (1, 2), [0, 2, 3, 5, 7, 8, 10], [0, 2, 3, 5, 6, 8, 10, 11, 13], id="pseudo-1.5"),
    pytest.param((7, 9), 1.44, False, (12345, 0), [0, 2, 4, 5, 7], [0, 2, 3, 5, 7, 8, 9], id="random-1.44"),
    pytest.param((7, 9), 1.44, True, (-1, -1), [0, 2, 4, 6, 7], [0, 2, 3, 5, 6, 8, 9], id="pseudo-1.44"),
    pytest.param(
        (20, 20),
        2.3,
        False,
        (87654321, 5),
        [0, 2, 4, 7, 10, 12, 14, 17, 20],
        [0, 3, 5, 7, 10, 13, 15, 18, 20],
        id="random-2.3",
    ),
]


@pytest.mark.parametrize(("sizes", "ratio", "pseudo_random", "seeds", "high", "wide"), SEQUENCES)
def test_pooling_sequence(
    sizes: tuple[int, int], ratio: float, pseudo_random: bool, seeds: tuple[int, int], high: list[int], wide: list[int]
) -> None:
    generator = reference.Philox(*seeds)
    found = [reference.pooling_sequence(n, int(n / ratio), generator, pseudo_random) for n in sizes]
    assert found == [high, wide]


def test_fractional_length_is_computed_in_single_precision() -> None:
    value = np.zeros((1, 3, 3, 2), np.float32)
    ratio = [1, 1.5000000000000004, 1.5000000000000004, 1]
    output, _, _ = reference.RAW_OPS["FractionalAvgPool"](value=value, pooling_ratio=ratio)
    assert output.shape == (1, 2, 2, 2)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        pytest.param("float16", Fraction(2049), 2048.0, id="tie-to-even"),
        pytest.param("float16", Fraction(2049) + Fraction(1, 2**60), 2050.0, id="no-double-rounding"),
        pytest.param("float16", Fraction(65519), 65504.0, id="below-overflow"),
        pytest.param("float16", Fraction(65520), INF, id="overflow"),
        pytest.param("float16", Fraction(-3, 2**25), -(2.0**-23), id="subnormal-tie"),
        pytest.param("float32", Fraction(1, 3), float(np.float32(1) / np.float32(3)), id="third"),
        pytest.param("float64", Fraction(1, 10), 0.1, id="tenth"),
        pytest.param("float64", Fraction(0), 0.0, id="zero"),
    ],
)
def test_nearest(dtype: str, value: Fraction, expected: float) -> None:
    assert reference.nearest(value, np.dtype(dtype)) == expected


@pytest.mark.parametrize("call", [pytest.param(c, id=c.id) for c, _ in RESULTS[::3] if has_layout(c)])
def test_channels_first_is_a_transpose(call: Call) -> None:
    actual = channels_last(reference_result(channels_first(call)))
    assert_same_bits(reference_result(call)[0], actual[0])


@pytest.mark.parametrize(("call", "theirs"), EXACT)
def test_same_bits_as_tensorflow(call: Call, theirs: tuple[Array, ...]) -> None:
    for expected, actual in zip(comparable_part(call, theirs) or (), reference_result(call), strict=True):
        assert_same_bits(expected, actual)


@pytest.mark.parametrize(
    ("call", "theirs"),
    [
        pytest.param(call, result[0], id=call.id)
        for call, result in RESULTS
        if is_float_average(call) and call.quirk not in ("Q3", "nan3d", "count", "denormal")
    ],
)
def test_exact_average_explains_tensorflow(call: Call, theirs: Array) -> None:
    """TensorFlow's result lies as close as its own roundings allow, and so confirms the exact value."""
    exact, sizes = exact_values(call), magnitudes(call)
    assert exact.shape == theirs.shape
    special = is_special(exact)
    assert_same_bits(theirs[special], reference_result(call)[0][special])
    # Each addition, and the reciprocal, product or quotient at the end, errs by at most half an ulp.
    roundings = cells(call) + (3 if call.op in SPREADS else 1)
    unit = reference.ulp(Fraction(1), theirs.dtype) / 2
    smallest = reference.ulp(Fraction(0), theirs.dtype)
    for index in zip(*np.nonzero(~special & ~may_overflow(call, sizes)), strict=True):
        allowed = ((1 + unit) ** roundings - 1) * sizes[index] + roundings * smallest
        assert error(theirs[index], exact[index]) <= allowed, (index, theirs[index], float(exact[index]))


@pytest.mark.parametrize(("call", "theirs"), AVERAGED)
def test_average_is_correctly_rounded(call: Call, theirs: Array) -> None:
    """No neighbour is closer to the exact value, and a tie goes to the even one."""
    rounded = reference_result(call)[0]
    assert_same_form(theirs, rounded)
    exact = exact_values(call)
    for index in zip(*np.nonzero(np.isfinite(rounded.astype(np.float64))), strict=True):
        value = rounded[index]
        code = int(bits(value.reshape(1))[0]) & (2 ** (8 * value.itemsize - 1) - 1)
        off = error(value, exact[index])
        assert value == 0 or (value < 0) == (exact[index] < 0)
        for neighbour in (code + 1, abs(code - 1)):
            other = np.array([neighbour], f"u{value.itemsize}").view(rounded.dtype).astype(np.float64)[0]
            if np.isfinite(other):
                distance = abs(Fraction(float(other)) - abs(exact[index]))
                assert off < distance or (off == distance and code % 2 == 0), (index, value)


def test_every_average_is_measured() -> None:
    assert {call.op for call, _ in RESULTS if is_float_average(call)} == set(AVERAGES)
    assert len(AVERAGED) > 250


POOLED = [
    pytest.param([1, 3, 3, 2], 2, 1, (0, 0), 1, [3, 3, 3], [1, 0, 0], [1, 1, 2], id="ties"),
    pytest.param([1, 2, 3, 4, 5], 2, 1, (0, 0), 3, [4, 5], [1, 1], [3, 4], id="dilation"),
    pytest.param([5, 1, 4], 3, 2, (1, 1), 1, [5, 4], [1, 1], [0, 2], id="padding"),
    pytest.param([1, NAN, 9, NAN], 4, 1, (0, 0), 1, [NAN], [1], [1], id="first-nan"),
    pytest.param([-INF, -INF], 2, 1, (0, 0), 1, [-INF], [0], [0], id="infinite"),
    pytest.param([7], 2, 1, (1, 1), 2, [-INF], [-1], [-1], id="no-cell"),
]


@pytest.mark.parametrize(("x", "k", "s", "pads", "d", "values", "offsets", "argmax"), POOLED)
def test_max_pool(
    x: list[float],
    k: int,
    s: int,
    pads: tuple[int, int],
    d: int,
    values: list[float],
    offsets: list[int],
    argmax: list[int],
) -> None:
    found = reference.max_pool(np.array(x, np.float32).reshape(1, -1, 1), [k], [s], [pads], [d])
    assert_same_bits(np.array(values, np.float32), found[0].ravel())
    assert [found[1].ravel().tolist(), found[2].ravel().tolist()] == [offsets, argmax]


def test_max_pool_offsets_over_two_axes() -> None:
    values, offsets, argmax = reference.max_pool(plane(NINE), [2, 2], [1, 1], [(1, 0), (0, 0)])
    assert values.ravel().tolist() == [2, 3, 5, 6, 8, 9]
    assert offsets.ravel().tolist() == [3] * 6
    assert argmax.ravel().tolist() == [1, 2, 4, 5, 7, 8]


@pytest.mark.parametrize(
    ("x", "ties", "routed", "picked"),
    [
        pytest.param(LINE, "first", [0, 11, 100, 0], [20, 20, 30], id="first"),
        pytest.param(LINE, "all", [0, 11, 110, 0], [20, 50, 30], id="all"),
        pytest.param([NAN, 1, NAN, NAN], "first", [1, 0, 110, 0], [10, 30, 30], id="first-nan"),
        pytest.param([NAN, 1, NAN, NAN], "all", [1, 0, 110, 100], [10, 30, 70], id="all-nan"),
    ],
)
def test_max_pool_gradients(x: list[float], ties: str, routed: list[float], picked: list[float]) -> None:
    values = np.array(x, np.float32).reshape(1, 4, 1)
    grad = np.array([1, 10, 100], np.float32).reshape(1, 3, 1)
    back = np.array([10, 20, 30, 40], np.float32).reshape(1, 4, 1)
    given = ([2], [1], [(0, 0)])
    assert reference.max_pool_grad(values, grad, *given, ties=ties).ravel().tolist() == routed
    assert reference.max_pool_grad_grad(values, back, *given, ties=ties).ravel().tolist() == picked


def window_arguments(call: Call, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """window, stride and padding pairs of a recorded call."""
    window, stride = call.attributes["ksize"][1:-1], call.attributes["strides"][1:-1]
    flat = call.attributes.get("explicit_paddings") or [0] * 2 * len(shape)
    pads = list(zip(flat[2:-2:2], flat[3:-2:2], strict=True))
    if call.attributes["padding"] == "SAME":
        needed = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(shape[1:-1], window, stride, strict=True)]
        pads = [(n // 2, n - n // 2) for n in needed]
    return window, stride, pads


PLAIN = [pytest.param(c, r[0], id=c.id) for c, r in RESULTS if "-plain-" in c.id or "-ties-" in c.id]


@pytest.mark.parametrize(("call", "theirs"), [p for p in PLAIN if str(p.id).startswith("MaxPoolWithArgmax-")])
def test_max_pool_like_tensorflow(call: Call, theirs: Array) -> None:
    x = call.arrays["input"]
    assert_same_bits(theirs, reference.max_pool(x, *window_arguments(call, x.shape))[0])


def has_own_maxima(call: Call) -> bool:
    """orig_output holds the maxima of orig_input."""
    x = call.arrays["orig_input"]
    best = reference.max_pool(x, *window_arguments(call, x.shape))[0]
    return np.array_equal(best, call.arrays["orig_output"])


MOVED = {"MaxPoolGrad": reference.max_pool_grad, "MaxPool3DGradGrad": reference.max_pool_grad_grad}
OWN = [(c, r) for c, r in RESULTS if c.op in MOVED and ("-plain-" in c.id or "-ties-" in c.id)]
OWN = [(c, r) for c, r in OWN if c.op == "MaxPoolGrad" or has_own_maxima(c)]


@pytest.mark.parametrize(("call", "theirs"), [pytest.param(c, r[0], id=c.id) for c, r in OWN])
def test_max_pool_gradients_like_tensorflow(call: Call, theirs: Array) -> None:
    x, grad = call.arrays["orig_input"], call.arrays["grad"]
    assert_same_bits(theirs, MOVED[call.op](x, grad, *window_arguments(call, x.shape)))


def test_avg_pool_with_dilation() -> None:
    assert reference.avg_pool(plane(NINE), [2, 2], [1, 1], [(0, 0), (0, 0)], [2, 2]).ravel().tolist() == [5]


def test_avg_pool_grad_shares_over_cells_inside_the_input() -> None:
    grad = np.array([6, 4, 3, 6], np.float64).reshape(1, 4, 1)
    shared = reference.avg_pool_grad(grad, (1, 3, 1), [3], [1], [(2, 1)], [1])
    assert shared.ravel().tolist() == [6 + 2 + 1, 2 + 1 + 3, 1 + 3]
