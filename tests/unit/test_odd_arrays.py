"""Arrays as they come: strides, order, alignment, byte order and class make no difference to a result."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import poolgrad

from .good_calls import (
    ARRAYS,
    GOOD,
    OTHERWISE,
    PLAIN,
    RAW,
    WITH_OUT,
    Array,
    arguments_of,
    function,
    misaligned,
    ramp,
    results,
)


def _read_only(array: Array) -> Array:
    other = array.copy()
    other.flags.writeable = False
    return other


def _strided(array: Array) -> Array:
    wide = np.full((*array.shape[:-1], 3 * array.shape[-1]), 77, array.dtype)
    wide[..., 1::3] = array
    return wide[..., 1::3]


def _reversed(array: Array) -> Array:
    everywhere = (slice(None, None, -1),) * array.ndim
    return np.ascontiguousarray(array[everywhere])[everywhere]


def _swapped(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder())


class Labelled(np.ndarray):
    """A subclass that minds how it is used."""

    def __array_finalize__(self, other: object) -> None:
        self.label = getattr(other, "label", "none")

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("arithmetic on a subclass")


ODD: dict[str, Callable[[Array], Array]] = {
    "read-only": _read_only,
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": _reversed,
    "transposed": lambda array: np.ascontiguousarray(array.T).T,
    "misaligned": misaligned,
    "swapped": _swapped,
    "swapped-and-strided": lambda array: _strided(_swapped(array)),
    "subclass": lambda array: array.copy().view(Labelled),
    "record-array": lambda array: array.copy().view(np.recarray),
}


def test_odd_arrays_are_odd() -> None:
    plain = ramp(2, 4, 4, 2)
    made = {name: make(plain) for name, make in ODD.items()}
    assert not made["read-only"].flags.writeable
    assert not any(made[name].flags.c_contiguous for name in ("fortran", "strided", "reversed", "transposed"))
    assert min(made["reversed"].strides) < 0
    assert not made["misaligned"].flags.aligned
    assert not made["swapped"].dtype.isnative
    for name, array in made.items():
        np.testing.assert_array_equal(array.view(np.ndarray), plain, err_msg=name)


def assert_plain(array: Array, given: dict[str, Any]) -> None:
    assert type(array) is np.ndarray
    assert array.flags.c_contiguous
    assert array.flags.aligned
    assert array.flags.writeable
    assert array.dtype.isnative
    for key, value in given.items():
        assert not (isinstance(value, np.ndarray) and np.may_share_memory(array, value)), key


def assert_same(name: str, changes: dict[str, Any]) -> None:
    given = arguments_of(name, changes)
    before = {key: value.tobytes() for key, value in given.items() if isinstance(value, np.ndarray)}
    ours = results(name, given)
    for array, plain in zip(ours, results(name, {}), strict=True):
        np.testing.assert_array_equal(array, plain, strict=True)
        assert_plain(array, given)
    assert {key: value.tobytes() for key, value in given.items() if isinstance(value, np.ndarray)} == before


WITH_ARRAYS = [name for name in GOOD if ARRAYS[name]]


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in WITH_ARRAYS])
@pytest.mark.parametrize("odd", [pytest.param(make, id=kind) for kind, make in ODD.items()])
def test_same_result(name: str, odd: Callable[[Array], Array]) -> None:
    for argument in ARRAYS[name]:
        assert_same(name, {argument: odd(GOOD[name][argument])})
    assert_same(name, {argument: odd(GOOD[name][argument]) for argument in ARRAYS[name]})


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in WITH_ARRAYS])
def test_zero_strides(name: str) -> None:
    for argument in ARRAYS[name]:
        good = GOOD[name][argument]
        if name == "FractionalMaxPoolGrad" and argument != "out_backprop":
            continue  # its orig_output must hold the maxima of orig_input
        zeros = {argument: np.broadcast_to(good.dtype.type(1), good.shape)}
        plain = {argument: np.ones(good.shape, good.dtype)}
        for array, other in zip(results(name, zeros), results(name, plain), strict=True):
            np.testing.assert_array_equal(array, other, strict=True)
            assert_plain(array, zeros)


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in WITH_ARRAYS])
def test_memory_maps(name: str, tmp_path: Path) -> None:
    mapped = {}
    for argument in ARRAYS[name]:
        good = GOOD[name][argument]
        np.save(tmp_path / argument, good)
        mapped[argument] = np.load(tmp_path / f"{argument}.npy", mmap_mode="r")
        assert isinstance(mapped[argument], np.memmap)
    assert_same(name, mapped)


WITH_SHORTS = [name for name in WITH_ARRAYS if "vg" not in name and "ractional" not in name]


@pytest.mark.parametrize("dtype", [pytest.param(name, id=name) for name in (">i2", "<i2", ">u8", ">f8", "longlong")])
@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in WITH_SHORTS])
def test_byte_order_of_other_dtypes(name: str, dtype: str) -> None:
    odd = {a: GOOD[name][a].astype(dtype) for a in ARRAYS[name] if a not in ("argmax", "offsets")}
    native = {a: value.astype(value.dtype.newbyteorder("=")) for a, value in odd.items()}
    for array, plain in zip(results(name, odd), results(name, native), strict=True):
        np.testing.assert_array_equal(array, plain, strict=True)
        assert_plain(array, odd)
        assert array.dtype.itemsize == plain.dtype.itemsize


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in WITH_ARRAYS])
def test_extended_precision_is_refused(name: str) -> None:
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double is double here")
    arrays = {a: GOOD[name][a].astype(np.longdouble) for a in ARRAYS[name]}
    with pytest.raises(
        (poolgrad.UnsupportedError, poolgrad.InvalidArgumentError), match=r"must have .*dtype.*float128"
    ):
        function(name)(**arguments_of(name, arrays))


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in WITH_ARRAYS])
def test_bfloat16(name: str) -> None:
    floats = [a for a in ARRAYS[name] if a not in ("argmax", "offsets")]
    short = {a: GOOD[name][a].astype(ml_dtypes.bfloat16) for a in floats}
    for array, plain in zip(results(name, short), results(name, {}), strict=True):
        assert array.dtype == (ml_dtypes.bfloat16 if plain.dtype == np.float32 else plain.dtype)
        assert_plain(array, short)
        # All values of the good calls and their sums are small multiples of 1/4: exact in bfloat16.
        np.testing.assert_array_equal(array.astype(plain.dtype), plain)
    strided = {a: _strided(value) for a, value in short.items()}
    for array, plain in zip(results(name, strided), results(name, short), strict=True):
        np.testing.assert_array_equal(array, plain, strict=True)


@pytest.mark.parametrize("dtype", [pytest.param(d, id=d) for d in ("float8_e4m3fn", "float8_e5m2", "int4", "uint4")])
def test_other_small_dtypes_are_refused(dtype: str) -> None:
    with pytest.raises(poolgrad.UnsupportedError, match=f"input must have one of the dtypes .* got {dtype}"):
        function("MaxPool")(**arguments_of("MaxPool", {"input": np.zeros((2, 4, 4, 2), dtype)}))


WITHOUT_ML_DTYPES = """
import sys, numpy as np
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] == 'ml_dtypes':
            raise AssertionError('ml_dtypes is imported')
sys.meta_path.insert(0, Refuse())
import poolgrad
x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
for op, name in ((poolgrad.raw_ops.AvgPool, 'value'), (poolgrad.raw_ops.MaxPool, 'input')):
    op(**{name: x}, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID')
assert 'ml_dtypes' not in sys.modules
sys.meta_path.pop(0)
import ml_dtypes
short = x.astype(ml_dtypes.bfloat16)
result = poolgrad.raw_ops.AvgPool(value=short, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID')
print(result.dtype, result.ravel().tolist())
"""


def test_bfloat16_is_known_without_its_package() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_ML_DTYPES], capture_output=True, text=True, check=False)
    assert run.stdout == "bfloat16 [2.5, 4.5, 10.5, 12.5]\n", run.stderr


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in (*PLAIN, *OTHERWISE) if name in WITH_OUT])
def test_out_is_filled_and_given_back(name: str) -> None:
    plain = results(name, {})
    count = 1 if name.startswith("fractional") else len(plain)  # borders come beside the result
    outs = [np.full_like(array, 99) for array in plain[:count]]
    filled = results(name, {"out": outs[0] if count == 1 else tuple(outs)})
    for out, array, wanted in zip(outs, filled[:count], plain[:count], strict=True):
        np.testing.assert_array_equal(out, wanted)
        assert array is out


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in RAW])
def test_array_that_is_another_argument_too(name: str) -> None:
    """One array as two arguments is read, never written."""
    for first in ARRAYS[name]:
        for second in ARRAYS[name]:
            one, two = GOOD[name][first], GOOD[name][second]
            if first == second or one.shape != two.shape or one.dtype != two.dtype or "Fractional" in name:
                continue
            shared = one.copy()
            ours = results(name, {first: shared, second: shared})
            plain = results(name, {first: one.copy(), second: one.copy()})
            np.testing.assert_array_equal(ours[0], plain[0], strict=True)
            assert shared.tobytes() == one.tobytes()
