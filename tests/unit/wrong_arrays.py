"""Wrong calls as data, continued: arrays, borders, ratios, seeds, and ways to call."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from poolgrad import InvalidArgumentError, UnsupportedError

from .good_calls import ARRAYS, GOOD, HALVED, PLANE, RAW, WITH_OUT, Array, ramp
from .wrong_arguments import INT64, Row, Wrong

# The array whose shape and dtype the others must fit.
FIRST = {name: arrays[0] for name, arrays in ARRAYS.items() if arrays} | {
    "fractional_max_pool_grad": "x",
    "fractional_max_pool_grad_grad": "x",
}


def _taller(array: Array) -> Array:
    return ramp(array.shape[0], array.shape[1] + 1, *array.shape[2:], dtype=array.dtype)


def _listed(array: Array) -> str:
    return str(list(array.shape)).replace(" ", "")


def _no_arrays() -> Iterator[Wrong]:
    for name, arguments in ARRAYS.items():
        for argument in arguments:
            good = GOOD[name][argument]
            rows: list[Row] = [
                ("list", [1.0, 2.0], TypeError, ("array", "[1.0, 2.0] (list)")),
                ("number", 3.0, TypeError, ("array", "3.0 (float)")),
                ("numpy-number", np.float32(3), TypeError, ("array", "3.0")),
                ("text", "abc", TypeError, ("array", "'abc' (str)")),
                ("bytes", b"abc", TypeError, ("array", "b'abc' (bytes)")),
                ("memory", memoryview(good), TypeError, ("array", "memoryview")),
                ("masked", np.ma.masked_equal(good, 1), TypeError, ("masked", "filled")),
            ]
            if argument != "offsets" and (argument != "x" or "grad" not in GOOD[name]):
                rows.append(("none", None, TypeError, ("array", "None")))
            for case, value, error, says in rows:
                yield Wrong(name, case, {argument: value}, error, (argument, *says))


def _dtypes() -> Iterator[Wrong]:
    for name, argument in FIRST.items():
        good = GOOD[name][argument]
        for dtype in ("bool", "complex64", "object", "U1", "S1", "datetime64[s]", "timedelta64[s]", "V4"):
            value = np.zeros(good.shape, dtype)
            yield Wrong(name, dtype, {argument: value}, UnsupportedError, (argument, "float32", f"got {value.dtype}"))
        pair = np.zeros(good.shape, [("a", "f4"), ("b", "f4")])
        yield Wrong(name, "structured", {argument: pair}, UnsupportedError, (argument, "structured dtype"))
    for name in ("AvgPool", "AvgPool3D", "AvgPoolGrad", "AvgPool3DGrad", "avg_pool", "avg_pool_grad"):
        value = GOOD[name][FIRST[name]].astype("int32")
        yield Wrong(name, "int32", {FIRST[name]: value}, UnsupportedError, (FIRST[name], "float64", "got int32"))
    for name in ("FractionalAvgPool", "FractionalAvgPoolGrad", "fractional_avg_pool", "fractional_avg_pool_grad"):
        value = GOOD[name][FIRST[name]].astype("uint8")
        yield Wrong(name, "uint8", {FIRST[name]: value}, UnsupportedError, (FIRST[name], "int64", "got uint8"))


def _ranks() -> Iterator[Wrong]:
    for name, argument in FIRST.items():
        good = GOOD[name][argument]
        values = {"flat": good[0], "deep": good[None, None, None], "scalar": np.zeros((), good.dtype)}
        for case, value in values.items():
            if case == "flat" and argument == "x":
                continue  # a plane is an image of one spatial axis
            yield Wrong(name, case, {argument: value}, InvalidArgumentError, (argument,))


def _second_arrays() -> Iterator[Wrong]:
    """Arrays that must fit the first: other shapes and dtypes."""
    for name, arguments in ARRAYS.items():
        for argument in arguments:
            if argument not in ("orig_output", "grad", "out_backprop", "values") or name == "max_unpool_grad":
                continue
            good = GOOD[name][argument]
            taller = _taller(good)
            if not GOOD[name].keys() & {"row_pooling_sequence", "sequences"}:
                says = (argument, _listed(good), _listed(taller))
                yield Wrong(name, "taller", {argument: taller}, InvalidArgumentError, says)
            if argument != FIRST[name]:
                says = (argument, "dtype of", "float32", "got float64")
                yield Wrong(name, "float64", {argument: good.astype("float64")}, InvalidArgumentError, says)
    for name in ("FractionalAvgPoolGrad", "FractionalMaxPoolGrad"):
        for case, shape in (("batch", (3, 2, 2, 2)), ("channels", (2, 2, 2, 3))):
            says = ("out_backprop", "[2,2,2,2]", str(list(shape)).replace(" ", ""))
            yield Wrong(name, case, {"out_backprop": ramp(*shape)}, InvalidArgumentError, says)
    wrong = ramp(*HALVED) + 1
    says = ("orig_output", "maxima of orig_input", "got 1.0 at [0, 0, 0, 0]")
    yield Wrong("FractionalMaxPoolGrad", "not-maxima", {"orig_output": wrong}, InvalidArgumentError, says)


def _at(dtype: str, where: tuple[int, ...], value: int) -> Array:
    array = np.zeros(HALVED, dtype)
    array[where] = value
    return array


def _indices() -> Iterator[Wrong]:
    cells = math.prod(PLANE)
    for name in ("MaxPoolGradWithArgmax", "MaxPoolGradGradWithArgmax", "max_unpool", "max_unpool_grad"):
        for dtype in ("uint8", "int16", "float32", "bool"):
            value = np.zeros(HALVED, dtype)
            yield Wrong(name, dtype, {"argmax": value}, UnsupportedError, ("argmax", "int32, int64", f"got {dtype}"))
        taller = np.zeros((2, 3, 2, 3), np.int64)
        if name in RAW:
            says: tuple[str, ...] = ("argmax", "[2,2,2,2]", "[2,3,2,3]")
        else:
            says = ("argmax", "batch and channels", "[2, 3, 2, 3]", "[2, 4, 4, 2]")
        yield Wrong(name, "shape", {"argmax": taller}, InvalidArgumentError, says)
        for dtype in ("int32", "int64"):
            for batch in (False, True) if name in RAW else (None,):
                # Without the batch an index may reach into the next image, as in TensorFlow, but not past the last.
                limit = cells if batch else cells // 2 if batch is False else 16
                changes: dict[str, Any] = {} if batch is None else {"include_batch_in_index": batch}
                values = {"above": limit, "below": -1, "far-above": 2**31 - 1, "far-below": -(2**31)}
                for case, value in values.items():
                    place = (0, 1, 0, 1) if case.endswith("below") else (1, 0, 1, 1)
                    given = {"argmax": _at(dtype, place, value)} | changes
                    says = ("argmax", f"got {value} at {list(place)}")
                    yield Wrong(name, f"{case}-{dtype}-{batch}", given, InvalidArgumentError, says)
        extreme = {"argmax": _at("int64", (1, 1, 1, 1), -(2**63))}
        yield Wrong(name, "lowest", extreme, InvalidArgumentError, ("argmax", f"got {-(2**63)} at [1, 1, 1, 1]"))
        highest = {"argmax": _at("int64", (1, 1, 1, 1), INT64)}
        yield Wrong(name, "highest", highest, InvalidArgumentError, ("argmax", f"got {INT64} at [1, 1, 1, 1]"))
    for name in ("max_pool_grad.offsets", "max_pool_grad_grad.offsets"):
        for dtype in ("int64", "int8", "uint16", "float32"):
            value = np.zeros(HALVED, dtype)
            yield Wrong(name, dtype, {"offsets": value}, InvalidArgumentError, ("offsets", "uint8", f"got {dtype}"))
        shape = ("offsets", "[2,2,2,2]", "[2,2,2,1]")
        yield Wrong(name, "shape", {"offsets": np.zeros((2, 2, 2, 1), np.uint8)}, InvalidArgumentError, shape)
        above = {"offsets": _at("uint8", (1, 0, 1, 1), 4)}
        yield Wrong(name, "above", above, InvalidArgumentError, ("offsets", "got 4 at [1, 0, 1, 1]"))
        # With a cell of padding before and after, the first of four cells of the first window is no cell of the input.
        grad = ramp(2, 3, 3, 2) if name.startswith("max_pool_grad.") else ramp(*PLANE)
        corners = np.tile(np.array([3, 2, 2, 1, 0, 0, 1, 0, 0], np.uint8).reshape(1, 3, 3, 1), (2, 1, 1, 2))
        corners[1, 0, 1, 1] = 1
        padded = {"padding": [(1, 1), (1, 1)], "grad": grad, "offsets": corners}
        yield Wrong(name, "padding", padded, InvalidArgumentError, ("offsets", "got 1 at [1, 0, 1, 1]"))


PAIRED = ("max_pool.offsets", "max_pool.argmax")


def _outs() -> Iterator[Wrong]:
    for name in WITH_OUT:
        if name in PAIRED:
            continue
        shape = PLANE if any(key in GOOD[name] for key in ("input_shape", "values")) else HALVED
        if name.endswith(("avg_pool_grad", "max_pool_grad")) or name == "max_pool_grad.all":
            shape = PLANE
        if "grad_grad" in name:
            shape = HALVED
        narrow = np.empty(shape, np.float32)
        narrow.flags.writeable = False
        rows: list[Row] = [
            ("shape", np.empty((*shape[:-1], 5), np.float32), InvalidArgumentError, (str(list(shape)), "5]")),
            ("dtype", np.empty(shape), InvalidArgumentError, ("dtype float32", "float64")),
            ("swapped", np.empty(shape, ">f4"), InvalidArgumentError, ("dtype float32", ">f4")),
            ("read-only", narrow, InvalidArgumentError, ("writable",)),
            ("fortran", np.empty(shape, np.float32, order="F"), InvalidArgumentError, ("C-contiguous",)),
            ("strided", np.empty((*shape[:-1], 4), np.float32)[..., ::2], InvalidArgumentError, ("C-contiguous",)),
            ("list", [0.0], TypeError, ("array", "list")),
            ("masked", np.ma.zeros(shape, np.float32), TypeError, ("array", "MaskedArray")),
        ]
        for case, value, error, says in rows:
            yield Wrong(name, case, {"out": value}, error, ("out", *says))
    for name, dtype in zip(PAIRED, ("uint8", "int64"), strict=True):
        values, index = np.zeros(HALVED, np.float32), np.zeros(HALVED, dtype)
        rows = [
            ("one", values, TypeError, ("pair", "ndarray")),
            ("list", [values, index], TypeError, ("pair", "list")),
            ("three", (values, index, index), TypeError, ("pair", "3")),
            ("values-dtype", (values.astype(float), index), InvalidArgumentError, ("out[0]", "float32", "float64")),
            ("index-dtype", (values, index.astype("int16")), InvalidArgumentError, ("out[1]", dtype, "int16")),
            ("index-shape", (values, index[:1]), InvalidArgumentError, ("out[1]", "[2, 2, 2, 2]", "[1, 2, 2, 2]")),
        ]
        for case, value, error, says in rows:
            yield Wrong(name, case, {"out": value}, error, ("out", *says))


BAD_BORDERS: list[Row] = [
    ("empty", [], InvalidArgumentError, ("entries", "got 0")),
    ("short", [0], InvalidArgumentError, ("entries", "got 1")),
    ("not-from-0", [1, 2, 4], InvalidArgumentError, ("start at 0", "got 1")),
    ("negative", [-1, 2, 4], InvalidArgumentError, ("at least 0", "got -1")),
    ("repeated", [0, 2, 2], InvalidArgumentError, ("increasing", "got 2 after 2")),
    ("falling", [0, 3, 2], InvalidArgumentError, ("increasing", "got 2 after 3")),
    ("beyond", [0, 2, 5], InvalidArgumentError, ("4 cells", "got 5")),
    ("far-beyond", [0, 2, 2**62], InvalidArgumentError, ("4 cells", str(2**62))),
    ("too-large", [0, 2, 2**63], InvalidArgumentError, (str(INT64), str(2**63))),
    ("matrix", np.array([[0, 2, 4]]), InvalidArgumentError, ("vector", "(1, 3)")),
    ("floats", [0.0, 2.0, 4.0], TypeError, ("0.0 (float)",)),
    ("float-array", np.array([0.0, 2.0, 4.0]), TypeError, ("float64 array of shape (3,)",)),
    ("flags", [False, 2, 4], TypeError, ("False (bool)",)),
    ("number", 4, TypeError, ("4 (int)",)),
    ("text", "024", TypeError, ("'024' (str)",)),
    ("none", None, TypeError, ("None",)),
    ("set", {0, 2, 4}, TypeError, ("{0, 2, 4} (set)",)),
    ("generator", iter([0, 2, 4]), TypeError, ("iterator",)),
]
COUNTED: list[Row] = [
    ("one-short", [0, 4], InvalidArgumentError, ("3 entries", "got 2")),
    ("one-long", [0, 1, 2, 4], InvalidArgumentError, ("3 entries", "got 4")),
]


def _borders() -> Iterator[Wrong]:
    for name in ("FractionalAvgPoolGrad", "FractionalMaxPoolGrad"):
        for argument in ("row_pooling_sequence", "col_pooling_sequence"):
            for case, value, error, says in BAD_BORDERS + COUNTED:
                yield Wrong(name, case, {argument: value}, error, (argument, *says))
    for name in (name for name, given in GOOD.items() if "sequences" in given):
        rows = BAD_BORDERS + (COUNTED if name in ("fractional_avg_pool_grad", "fractional_max_pool_grad") else [])
        for case, value, error, says in rows:
            yield Wrong(name, case, {"sequences": ([0, 2, 4], value)}, error, ("sequences[1]", *says))
        for case, value in (("one", ([0, 2, 4],)), ("three", ([0, 2, 4],) * 3), ("set", {0}), ("number", 4)):
            says = ("sequences", "2", str(value))
            yield Wrong(name, f"{case}-axes", {"sequences": value}, TypeError, says)
    for name in ("fractional_avg_pool", "fractional_max_pool"):
        yield Wrong(name, "neither", {"ratio": None}, TypeError, ("ratio", "sequences", "None"))
        yield Wrong(name, "both", {"sequences": ([0, 2, 4],) * 2}, TypeError, ("ratio", "sequences", "both"))


def _ratios() -> Iterator[Wrong]:
    numbers: list[Row] = [
        ("below-one", 0.5, InvalidArgumentError, ("at least 1", "got 0.5")),
        ("just-below-one", np.nextafter(1.0, 0.0), InvalidArgumentError, ("at least 1", "0.99999")),
        ("zero", 0, InvalidArgumentError, ("at least 1", "got 0")),
        ("negative", -2.0, InvalidArgumentError, ("at least 1", "got -2.0")),
        ("nan", math.nan, InvalidArgumentError, ("at least 1", "got nan")),
        ("infinite", math.inf, InvalidArgumentError, ("finite", "got inf")),
        ("numpy-infinite", np.float32(np.inf), InvalidArgumentError, ("finite", "inf")),
        ("above-size", 5.0, InvalidArgumentError, ("larger than the input", "4", "got 5.0")),
        ("thirty-digits", 10**30, InvalidArgumentError, ("larger than the input", "1e+30")),
        ("beyond-float32", 1e300, InvalidArgumentError, ("larger than the input", "1e+300")),
        ("beyond-float64", 10**400, InvalidArgumentError, ("finite", "integer of 1329 bits")),
        ("flag", True, TypeError, ("True (bool)",)),
        ("text", "2", TypeError, ("'2' (str)",)),
        ("complex", 2j, TypeError, ("2j (complex)",)),
    ]
    for name in ("FractionalAvgPool", "FractionalMaxPool"):
        rows: list[Row] = [
            ("short", [1.0, 2.0, 1.0], InvalidArgumentError, ("4 entries", "got 3")),
            ("long", [1.0, 2.0, 2.0, 1.0, 1.0], InvalidArgumentError, ("4 entries", "got 5")),
            ("batch", [2.0, 2.0, 2.0, 1.0], UnsupportedError, ("batch and channels", "[2.0, 2.0, 2.0, 1.0]")),
            ("channels", [1.0, 2.0, 2.0, 2.0], UnsupportedError, ("batch and channels", "[1.0, 2.0, 2.0, 2.0]")),
            ("number", 2.0, TypeError, ("2.0 (float)",)),
            ("array", np.array([1.0, 2.0, 2.0, 1.0]), TypeError, ("float64 array",)),
            ("none", None, TypeError, ("None",)),
            *((case, [1.0, value, 2.0, 1.0], error, says) for case, value, error, says in numbers),
        ]
        for case, value, error, says in rows:
            yield Wrong(name, case, {"pooling_ratio": value}, error, ("pooling_ratio", *says))
    for name in ("fractional_avg_pool", "fractional_max_pool"):
        for case, value, error, says in numbers:
            yield Wrong(name, case, {"ratio": value}, error, ("ratio", *says))
            yield Wrong(name, f"{case}-of-two", {"ratio": (2.0, value)}, error, ("ratio", *says))
        for case, value, error, says in (
            ("short", [2.0], InvalidArgumentError, ("2 entries", "got 1")),
            ("array", np.array([2.0, 2.0]), TypeError, ("float64 array",)),
        ):
            yield Wrong(name, case, {"ratio": value}, error, ("ratio", *says))


def _seeds() -> Iterator[Wrong]:
    numbers: list[Row] = [
        ("above", 2**63, InvalidArgumentError, (f"at most {2**63 - 1}", str(2**63))),
        ("below", -(2**63) - 1, InvalidArgumentError, (f"at least {-(2**63)}", str(-(2**63) - 1))),
        ("float", 1.0, TypeError, ("integer", "1.0 (float)")),
        ("flag", True, TypeError, ("integer", "True (bool)")),
        ("text", "1", TypeError, ("integer", "'1' (str)")),
    ]
    for name in ("FractionalAvgPool", "FractionalMaxPool"):
        for argument in ("seed", "seed2"):
            rows = [*numbers, ("none", None, TypeError, ("integer", "None"))]
            for case, value, error, says in rows:
                yield Wrong(name, case, {argument: value}, error, (argument, *says))
            alone = {"seed": 0, "seed2": 0, argument: 7, "deterministic": False}
            says = ("seed", "seed2", "deterministic", "7")
            yield Wrong(name, f"without-deterministic-{argument}", alone, InvalidArgumentError, says)
    for name in ("fractional_avg_pool", "fractional_max_pool", "pooling_sequence"):
        pairs = [(f"{case}-in-pair", (1, value), error, says) for case, value, error, says in numbers]
        others = [
            ("one", (1,), InvalidArgumentError, ("pair", "(1,)")),
            ("list", [1, 2], TypeError, ("[1, 2] (list)",)),
        ]
        for case, value, error, says in [*numbers, *pairs, *others]:
            yield Wrong(name, case, {"seed": value}, error, ("seed", *says))


def arrays_and_numbers() -> Iterator[Wrong]:
    yield from _no_arrays()
    yield from _dtypes()
    yield from _ranks()
    yield from _second_arrays()
    yield from _indices()
    yield from _outs()
    yield from _borders()
    yield from _ratios()
    yield from _seeds()
    both = {"return_offsets": True, "return_argmax": True}
    yield Wrong("max_pool", "both", both, InvalidArgumentError, ("return_offsets", "return_argmax", "both"))
    sizes: list[Row] = [
        ("zero", 0, InvalidArgumentError, ("at least 1", "got 0")),
        ("negative", -1, InvalidArgumentError, ("at least 1", "got -1")),
        ("float", 2.0, TypeError, ("2.0 (float)",)),
        ("flag", True, TypeError, ("True (bool)",)),
        ("huge", 10**30, InvalidArgumentError, (str(INT64), str(10**30))),
    ]
    for argument in ("size", "outputs"):
        for case, value, error, says in sizes:
            yield Wrong("pooling_sequence", case, {argument: value}, error, (argument, *says))
    more = ("outputs", "at most", "10", "got 11")
    yield Wrong("pooling_sequence", "too-many", {"outputs": 11}, InvalidArgumentError, more)
    for case, value in (
        ("float64", np.float64),
        ("unsigned", np.uint64),
        ("short", "int16"),
        ("number", 64),
        ("none", None),
        ("word", "long long ago"),
        ("commas", "i4,,"),
        ("fields", "i4,i4"),
        ("uneven-fields", {"names": ["a"], "formats": []}),
        ("shaped", "(2,)i4"),
        ("list", [np.int64]),
        ("array", np.zeros(3, np.int64)),
        ("numpy-number", np.int64(3)),
    ):
        says = ("Targmax", "int32 or int64")
        yield Wrong("MaxPoolWithArgmax", case, {"Targmax": value}, InvalidArgumentError, says)
