"""One result, bit for bit: for every layout, rank, split, instruction set, thread count and memory, kept or new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16

import poolgrad
from poolgrad import calls
from poolgrad.kernels import cpu

from .calls import BACK, CALLS, data, dtypes, run
from .shapes import Array, Geometry, geometries, same_bits

SEEDS = st.integers(0, 2**32 - 1)
NAMES = list(CALLS)
ISAS = cpu.available_isas()


@pytest.fixture
def default_isa() -> Iterator[None]:
    yield
    cpu.force_isa(None)


@pytest.fixture
def remembering() -> Iterator[None]:
    yield
    calls.remember(True)


@pytest.fixture
def default_threads() -> Iterator[None]:
    yield
    poolgrad.set_num_threads(None)


def first(array: Array) -> Array:
    return np.ascontiguousarray(np.moveaxis(array, -1, 1))


def last(array: Array) -> Array:
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


@pytest.mark.parametrize("name", NAMES)
@given(st.data(), geometries(), SEEDS)
def test_layout_changes_nothing(name: str, draw: st.DataObject, geometry: Geometry, seed: int) -> None:
    arrays = data(geometry, draw.draw(st.sampled_from(dtypes(name))), seed)
    expected = run(name, arrays, geometry)
    x, g, v = arrays
    actual = run(name, (first(x), first(g), first(v)), geometry, layout="channels_first")
    assert all(same_bits(a, last(b)) for a, b in zip(expected, actual, strict=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("isa", ISAS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), geometries(), SEEDS)
def test_instruction_set_changes_nothing(
    default_isa: None, isa: str, name: str, draw: st.DataObject, geometry: Geometry, seed: int
) -> None:
    arrays = data(geometry, draw.draw(st.sampled_from(dtypes(name))), seed)
    cpu.force_isa("base")
    expected = run(name, arrays, geometry)
    cpu.force_isa(isa)
    assert all(same_bits(a, b) for a, b in zip(expected, run(name, arrays, geometry), strict=True))


@pytest.mark.parametrize("name", NAMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), geometries(), SEEDS)
def test_memory_of_calls_changes_nothing(
    remembering: None, name: str, draw: st.DataObject, geometry: Geometry, seed: int
) -> None:
    dtype = draw.draw(st.sampled_from(dtypes(name)))
    arrays, others = data(geometry, dtype, seed), data(geometry, dtype, seed + 3)
    calls.remember(False)
    expected = run(name, arrays, geometry)
    calls.remember(True)
    run(name, others, geometry)
    actual = run(name, arrays, geometry)
    assert [type(array) for array in expected] == [type(array) for array in actual]
    assert all(same_bits(a, b) for a, b in zip(expected, actual, strict=True))


# Large enough for several threads and tiles, with sizes that no tile divides.
LARGE = [
    pytest.param(Geometry((3, 61, 67, 70), (3, 2), (2, 1), ((1, 1), (0, 1)), (1, 2), (3, 31, 66, 70)), id="planes"),
    pytest.param(
        Geometry((1, 23, 41, 157, 2), (3, 3, 5), (1, 2, 2), ((1, 1),) * 3, (1, 1, 1), (1, 23, 21, 78, 2)), id="volume"
    ),
    pytest.param(Geometry((3, 61, 67, 192), (3, 3), (2, 2), ((1, 1),) * 2, (1, 1), (3, 31, 34, 192)), id="vectors"),
    pytest.param(Geometry((1, 300_007, 1), (5,), (2,), ((2, 2),), (1,), (1, 150_004, 1)), id="signal"),
    pytest.param(Geometry((40_009, 3, 7), (2,), (1,), ((0, 0),), (1,), (40_009, 2, 7)), id="batch"),
]


@pytest.mark.parametrize("geometry", LARGE)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("name", NAMES)
def test_thread_count_changes_nothing(default_threads: None, name: str, dtype: str, geometry: Geometry) -> None:
    if np.dtype(dtype) not in [np.dtype(d) for d in dtypes(name)]:
        dtype = "float64"
    arrays = data(geometry, np.dtype(dtype), 7)
    poolgrad.set_num_threads(1)
    expected = run(name, arrays, geometry)
    for threads in (2, 3, 8):
        poolgrad.set_num_threads(threads)
        assert all(same_bits(a, b) for a, b in zip(expected, run(name, arrays, geometry), strict=True))


# Results of these go to memory past the caches, those of one image do not.
STREAMED = {
    "tiles": Geometry((9, 65, 66, 64), (2, 2), (2, 2), ((0, 0),) * 2, (1, 1), (9, 32, 33, 64)),
    "overlapping": Geometry((9, 65, 66, 64), (3, 3), (2, 2), ((1, 1),) * 2, (1, 1), (9, 33, 33, 64)),
    "dense": Geometry((9, 65, 66, 64), (3, 3), (1, 1), ((1, 1),) * 2, (1, 1), (9, 65, 66, 64)),
    "large windows": Geometry((9, 65, 66, 60), (5, 5), (1, 1), ((2, 2),) * 2, (1, 1), (9, 65, 66, 60)),
    "volumes": Geometry((8, 17, 32, 33, 16), (2,) * 3, (2,) * 3, ((0, 1),) * 3, (1,) * 3, (8, 9, 16, 17, 16)),
    "slices": Geometry((1151, 64, 33, 1), (3, 2), (2, 1), ((1, 1),) * 2, (1, 1), (1151, 32, 34, 1)),
}
# The same with one channel, which is how channels first come: rows of whole lines and others.
STREAMED_ROWS = {
    "lines of tiles": Geometry((521, 66, 64, 1), (2, 2), (2, 2), ((0, 0),) * 2, (1, 1), (521, 33, 32, 1)),
    "rows of tiles": Geometry((571, 65, 57, 1), (2, 2), (2, 2), ((0, 0),) * 2, (1, 1), (571, 32, 28, 1)),
    "tiled volumes": Geometry((31, 18, 64, 64, 1), (2,) * 3, (2,) * 3, ((0, 0),) * 3, (1,) * 3, (31, 9, 32, 32, 1)),
    "whole slices": Geometry((43001, 7, 7, 1), (7, 7), (7, 7), ((0, 0),) * 2, (1, 1), (43001, 1, 1, 1)),
    "overlapping rows": Geometry((571, 65, 57, 1), (3, 3), (2, 2), ((1, 1),) * 2, (1, 1), (571, 33, 29, 1)),
    "dense rows": Geometry((571, 65, 57, 1), (3, 3), (1, 1), ((1, 1),) * 2, (1, 1), (571, 65, 57, 1)),
    "overlapping volumes": Geometry(
        (37, 16, 64, 56, 1), (3,) * 3, (2,) * 3, ((0, 1),) * 3, (1,) * 3, (37, 8, 32, 28, 1)
    ),
}
SIZES = [
    *(
        pytest.param(dtype, STREAMED[k], id=f"{dtype.__name__}-{k}")
        for dtype in (np.float32, np.float16, bfloat16)
        for k in STREAMED
    ),
    *(pytest.param(np.float32, geometry, id=f"float32-{k}") for k, geometry in STREAMED_ROWS.items()),
    pytest.param(np.float64, STREAMED["overlapping"], id="float64-overlapping"),
]


@pytest.mark.parametrize(("dtype", "geometry"), SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_size_changes_nothing(name: str, dtype: Any, geometry: Geometry) -> None:
    times = max(4 // np.dtype(dtype).itemsize, 1)
    geometry = replace(
        geometry,
        shape=(times * geometry.shape[0], *geometry.shape[1:]),
        output_shape=(times * geometry.output_shape[0], *geometry.output_shape[1:]),
    )
    arrays = data(geometry, np.dtype(dtype), 11)
    assert arrays[0].nbytes > 8 << 20
    whole = run(name, arrays, geometry)
    for k in (0, 3, geometry.shape[0] - 1):
        one = run(name, (arrays[0][k : k + 1], arrays[1][k : k + 1], arrays[2][k : k + 1]), geometry)
        assert all(same_bits(a[k : k + 1], b) for a, b in zip(whole, one, strict=True))


@pytest.mark.parametrize("name", NAMES)
@given(st.data(), geometries(), SEEDS)
def test_splitting_batch_and_channels_changes_nothing(
    name: str, draw: st.DataObject, geometry: Geometry, seed: int
) -> None:
    arrays = data(geometry, draw.draw(st.sampled_from(dtypes(name))), seed)
    expected = run(name, arrays, geometry)
    for axis in (0, -1):
        pieces = [
            run(name, tuple(np.take(array, [k], axis) for array in arrays), geometry)
            for k in range(geometry.shape[axis])
        ]
        for number, whole in enumerate(expected):
            assert same_bits(whole, np.concatenate([piece[number] for piece in pieces], axis))


@pytest.mark.parametrize("name", NAMES)
@given(st.data(), geometries(most_axes=2), SEEDS)
def test_an_axis_of_one_cell_changes_nothing(name: str, draw: st.DataObject, geometry: Geometry, seed: int) -> None:
    arrays = data(geometry, draw.draw(st.sampled_from(dtypes(name))), seed)
    expected = run(name, arrays, geometry)
    deeper = Geometry(
        (geometry.shape[0], 1, *geometry.shape[1:]),
        (1, *geometry.window),
        (3, *geometry.stride),
        ((0, 0), *geometry.padding),
        (1, *geometry.dilation),
        (geometry.output_shape[0], 1, *geometry.output_shape[1:]),
    )
    actual = run(name, tuple(array[:, None] for array in arrays), deeper)
    assert all(same_bits(a, b[:, 0]) for a, b in zip(expected, actual, strict=True))


@pytest.mark.parametrize("name", NAMES)
@given(st.data(), geometries(), SEEDS)
def test_out_is_filled_whole_and_returned(name: str, draw: st.DataObject, geometry: Geometry, seed: int) -> None:
    arrays = data(geometry, draw.draw(st.sampled_from(dtypes(name))), seed)
    expected = run(name, arrays, geometry)
    for garbage in (0xFF, 0x5A):  # as floats: NaN, and something finite
        outs = tuple(np.frombuffer(bytearray([garbage]) * e.nbytes, e.dtype).reshape(e.shape) for e in expected)
        actual = run(name, arrays, geometry, out=outs if len(outs) > 1 else outs[0])
        assert all(np.shares_memory(a, b) or not a.size for a, b in zip(actual, outs, strict=True))
        assert all(same_bits(a, b) for a, b in zip(expected, outs, strict=True))


@pytest.mark.parametrize("name", NAMES)
@given(st.data(), geometries(), SEEDS)
def test_inputs_are_left_alone(name: str, draw: st.DataObject, geometry: Geometry, seed: int) -> None:
    arrays = data(geometry, draw.draw(st.sampled_from(dtypes(name))), seed)
    before = [array.tobytes() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    results: tuple[Any, ...] = run(name, arrays, geometry)
    assert [array.tobytes() for array in arrays] == before
    assert not any(np.shares_memory(result, array) for result in results for array in arrays)
    assert results[0].shape == (geometry.shape if name in BACK else geometry.output_shape)
