"""Wrong calls as data: a good call, what is changed in it, the error that must come and what it must say."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from poolgrad import InvalidArgumentError, UnsupportedError

from .good_calls import (
    GOOD,
    PLANE,
    RAW,
    WITH_ARRAY_KSIZE,
    WITH_EXPLICIT,
    WITH_FORMAT,
    WITH_KSIZE,
    WITH_LAYOUT,
    WITH_WINDOW,
    Arguments,
    ramp,
)

INT32, INT64 = 2**31 - 1, 2**63 - 1


@dataclass(frozen=True)
class Wrong:
    """``says`` are pieces of the message, the argument's name and the offending value among them."""

    name: str
    case: str
    changes: Arguments
    error: type[Exception]
    says: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.name}-{'-'.join(self.changes)}-{self.case}"


# Case, value, error, pieces of the message beside the argument's name.
Row = tuple[str, Any, type[Exception], tuple[str, ...]]

NOT_A_LIST: list[Row] = [
    ("number", 2, TypeError, ("2 (int)",)),
    ("float", 2.0, TypeError, ("2.0 (float)",)),
    ("text", "1221", TypeError, ("'1221' (str)",)),
    ("bytes", b"\1\2", TypeError, ("b'\\x01\\x02' (bytes)",)),
    ("set", {1, 2}, TypeError, ("{1, 2} (set)",)),
    ("dict", {1: 2}, TypeError, ("{1: 2} (dict)",)),
    ("generator", itertools.repeat(1, 4), TypeError, ("repeat",)),
]
NOT_INTEGERS: list[Row] = [
    ("flag", True, TypeError, ("True (bool)",)),
    ("numpy-flag", np.True_, TypeError, ("True",)),
    ("fraction", 2.0, TypeError, ("2.0 (float)",)),
    ("numpy-fraction", np.float32(2), TypeError, ("2.0", "float32")),
    ("nan", math.nan, TypeError, ("nan (float)",)),
    ("text", "2", TypeError, ("'2' (str)",)),
    ("bytes", b"2", TypeError, ("b'2' (bytes)",)),
    ("none", None, TypeError, ("None",)),
    ("list", [2], TypeError, ("[2] (list)",)),
    ("array", np.array(2), TypeError, ("int64 array of shape ()",)),
]
BAD_SIZES: list[Row] = [
    ("zero", 0, InvalidArgumentError, ("at least 1", "got 0")),
    ("negative", -2, InvalidArgumentError, ("at least 1", "got -2")),
    ("beyond-32-bits", 2**31, InvalidArgumentError, (str(INT32), "got 2147483648")),
    ("beyond-64-bits", 2**63, InvalidArgumentError, (str(INT32), str(2**63))),
    ("thirty-digits", 10**30, InvalidArgumentError, (str(INT32), "1" + 30 * "0")),
    ("numpy-unsigned", np.uint64(2**63), InvalidArgumentError, (str(INT32), str(2**63))),
    ("far-negative", -(10**30), InvalidArgumentError, ("at least 1", "-1000")),
    ("five-thousand-digits", 10**5000, InvalidArgumentError, (str(INT32), "integer of 16610 bits")),
]
NO_ARRAYS: list[Row] = [("array", np.array([1, 2, 2, 1]), TypeError, ("int64 array of shape (4,)",))]
OTHER_ARRAYS: list[Row] = [
    ("float-array", np.ones(4), TypeError, ("integer array", "float64 array of shape (4,)")),
    ("flag-array", np.ones(4, bool), TypeError, ("integer array", "bool array of shape (4,)")),
    ("object-array", np.array([1, 2, 2, 1], object), TypeError, ("integer array", "object array of shape (4,)")),
    ("number-array", np.array(2), InvalidArgumentError, ("must have", "got 1")),
]


def _kernel_sizes(name: str) -> Iterator[Wrong]:
    """ksize and strides of one op."""
    for argument in ("ksize", "strides"):
        good = RAW[name][argument]
        length = len(good)
        counted: list[Row] = [
            ("short", good[:-1], InvalidArgumentError, (f"{length} entries", f"got {length - 1}", str(good[:-1]))),
            ("long", [*good, 1], InvalidArgumentError, (f"{length} entries", f"got {length + 1}", str([*good, 1]))),
            ("empty", [], InvalidArgumentError, (f"{length} entries", "got 0", "[]")),
            ("nested", [good], TypeError, (str(good), "(list)")),
            ("none", None, TypeError, ("None",)),
            ("batch", [2, *good[1:]], UnsupportedError, ("batch", str([2, *good[1:]]))),
        ]
        arrays = OTHER_ARRAYS if name in WITH_ARRAY_KSIZE else NO_ARRAYS
        for case, value, error, says in [*counted, *NOT_A_LIST, *arrays]:
            yield Wrong(name, case, {argument: value}, error, (argument, *says))
        for case, value, error, says in NOT_INTEGERS + BAD_SIZES:
            yield Wrong(name, f"{case}-in-it", {argument: [1, value, *good[2:]]}, error, (argument, *says))


def _channels(name: str) -> Iterator[Wrong]:
    """Windows and steps over channels."""
    good = RAW[name]["ksize"]
    both = [*good[:-1], 2]
    spaceless = [1] * (len(good) - 1)
    yield Wrong(name, "channels-too", {"ksize": both}, UnsupportedError, ("ksize", "channels", str(both)))
    if name in ("MaxPool", "MaxPoolV2", "MaxPoolWithArgmax", "MaxPoolGradWithArgmax", "MaxPoolGradGradWithArgmax"):
        uneven = {"ksize": [*spaceless, 3], "strides": [*spaceless, 3]}
        yield Wrong(name, "uneven", uneven, UnsupportedError, ("ksize", "divide", "2", "got 3"))
        overlap = {"ksize": [*spaceless, 2], "strides": [*spaceless, 1]}
        yield Wrong(name, "overlap", overlap, UnsupportedError, ("strides", "equal ksize", "2", "got 1"))
    else:
        alone = {"ksize": [*spaceless, 2], "strides": [*spaceless, 2]}
        yield Wrong(name, "channels", alone, UnsupportedError, ("ksize", "channels", str([*spaceless, 2])))
    if name.startswith(("MaxPoolGradV", "MaxPoolGradGradV", "MaxPool3D", "AvgPool3D")) or name.endswith("Grad"):
        step = [*good[:-1], 2]
        if name != "AvgPoolGrad":
            yield Wrong(name, "channels", {"strides": step}, UnsupportedError, ("strides", "channels", str(step)))


def _words() -> Iterator[Wrong]:
    for name in WITH_KSIZE:
        explicit = name in WITH_EXPLICIT
        rows: list[Row] = [
            ("lower-case", "same", InvalidArgumentError, ("'VALID'", "got 'same'", "did you mean 'SAME'?")),
            ("unknown", "FULL", InvalidArgumentError, ("'SAME', 'VALID'", "got 'FULL'")),
            ("none", None, TypeError, ("'SAME', 'VALID'", "None")),
            ("bytes", b"SAME", TypeError, ("b'SAME' (bytes)",)),
            ("number", 1, TypeError, ("1 (int)",)),
            ("flag", True, TypeError, ("True (bool)",)),
            ("list", ["SAME"], TypeError, ("['SAME'] (list)",)),
        ]
        if not explicit:
            rows.append(("explicit", "EXPLICIT", InvalidArgumentError, ("'SAME', 'VALID'", "got 'EXPLICIT'")))
        for case, value, error, says in rows:
            yield Wrong(name, case, {"padding": value}, error, ("padding", *says))
    for name in WITH_FORMAT:
        good, other = ("NDHWC", "NHWC") if "3D" in name else ("NHWC", "NDHWC")
        hint = f"did you mean '{good}'?"
        rows = [
            ("lower-case", good.lower(), InvalidArgumentError, (good, f"got '{good.lower()}'", hint)),
            ("other-rank", other, InvalidArgumentError, (good, f"got '{other}'")),
            ("vectors", "NCHW_VECT_C", InvalidArgumentError, (good, "got 'NCHW_VECT_C'")),
            ("empty", "", InvalidArgumentError, (good, "got ''")),
            ("bytes", good.encode(), TypeError, (good, "(bytes)")),
            ("number", 0, TypeError, (good, "0 (int)")),
        ]
        for case, value, error, says in rows:
            yield Wrong(name, case, {"data_format": value}, error, ("data_format", *says))
    for name in WITH_LAYOUT:
        rows = [
            (
                "upper-case",
                "CHANNELS_LAST",
                InvalidArgumentError,
                ("'channels_first'", "did you mean 'channels_last'?"),
            ),
            ("unknown", "NHWC", InvalidArgumentError, ("'channels_last', 'channels_first'", "got 'NHWC'")),
            ("none", None, TypeError, ("'channels_last', 'channels_first'", "None")),
        ]
        for case, value, error, says in rows:
            yield Wrong(name, case, {"layout": value}, error, ("layout", *says))
    for name in ("max_pool_grad", "max_pool_grad_grad", "fractional_max_pool_grad", "fractional_max_pool_grad_grad"):
        rows = [
            ("upper-case", "First", InvalidArgumentError, ("'first', 'all'", "'First'", "did you mean 'first'?")),
            ("unknown", "last", InvalidArgumentError, ("'first', 'all'", "got 'last'")),
            ("none", None, TypeError, ("'first', 'all'", "None")),
        ]
        for case, value, error, says in rows:
            yield Wrong(name, case, {"ties": value}, error, ("ties", *says))


FLAGS = {
    "MaxPoolWithArgmax": ["include_batch_in_index"],
    "MaxPoolGradWithArgmax": ["include_batch_in_index"],
    "MaxPoolGradGradWithArgmax": ["include_batch_in_index"],
    "FractionalAvgPool": ["pseudo_random", "overlapping", "deterministic"],
    "FractionalMaxPool": ["pseudo_random", "overlapping", "deterministic"],
    "FractionalAvgPoolGrad": ["overlapping"],
    "FractionalMaxPoolGrad": ["overlapping"],
    "max_pool": ["return_offsets", "return_argmax"],
    "fractional_avg_pool": ["pseudo_random", "overlapping"],
    "fractional_max_pool": ["pseudo_random", "overlapping"],
    "fractional_avg_pool_grad": ["overlapping"],
    "fractional_max_pool_grad": ["overlapping"],
    "fractional_max_pool_grad_grad": ["overlapping"],
    "pooling_sequence": ["pseudo_random"],
}


def _flags() -> Iterator[Wrong]:
    for name, arguments in FLAGS.items():
        for argument in arguments:
            for case, value, shown in (
                ("number", 1, "1 (int)"),
                ("text", "True", "'True' (str)"),
                ("none", None, "None"),
            ):
                yield Wrong(name, case, {argument: value}, TypeError, (argument, "True or False", shown))


def _explicit_paddings() -> Iterator[Wrong]:
    good = [0, 0, 1, 1, 1, 1, 0, 0]
    rows: list[Row] = [
        ("short", good[:4], InvalidArgumentError, ("8 entries", "got 4", str(good[:4]))),
        ("none-given", [], InvalidArgumentError, ("8 entries", "got 0")),
        ("negative", [0, 0, -1, *good[3:]], InvalidArgumentError, ("at least 0", "got -1")),
        ("huge", [0, 0, 2**31, *good[3:]], InvalidArgumentError, (str(INT32), "got 2147483648")),
        ("batch", [1, *good[1:]], InvalidArgumentError, ("batch and channels", str([1, *good[1:]]))),
        ("channels", [*good[:7], 1], InvalidArgumentError, ("batch and channels", str([*good[:7], 1]))),
        ("wide", [0, 0, 2, *good[3:]], InvalidArgumentError, ("window, 2 along height", "[2, 1]")),
        ("wide-after", [*good[:5], 2, 0, 0], InvalidArgumentError, ("window, 2 along width", "[1, 2]")),
        ("pairs", [(0, 0), (1, 1), (1, 1), (0, 0)], TypeError, ("(0, 0) (tuple)",)),
        ("array", np.array(good), TypeError, ("int64 array of shape (8,)",)),
        ("fraction", [0, 0, 1.0, *good[3:]], TypeError, ("1.0 (float)",)),
        ("flag", [False, *good[1:]], TypeError, ("False (bool)",)),
        *NOT_A_LIST,
    ]
    for name in WITH_EXPLICIT:
        for case, value, error, says in rows:
            changes = {"explicit_paddings": value, "padding": "EXPLICIT"}
            yield Wrong(name, case, changes, error, ("explicit_paddings", *says))
        unless = ("explicit_paddings", "unless padding is 'EXPLICIT'", str(good))
        yield Wrong(name, "not-explicit", {"explicit_paddings": good}, InvalidArgumentError, unless)
    sideways = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "EXPLICIT", "explicit_paddings": [0] * 8}
    yield Wrong("MaxPool", "channels", sideways, UnsupportedError, ("padding", "'EXPLICIT'", "channels"))


SHAPES = {
    "AvgPoolGrad": "orig_input_shape",
    "AvgPool3DGrad": "orig_input_shape",
    "FractionalAvgPoolGrad": "orig_input_tensor_shape",
    "avg_pool_grad": "input_shape",
    "max_unpool": "input_shape",
    "fractional_avg_pool_grad": "input_shape",
    "max_pool_grad.offsets": "input_shape",
    "max_pool_grad_grad.offsets": "input_shape",
}


def _shapes() -> Iterator[Wrong]:
    for name, argument in SHAPES.items():
        good = list(GOOD[name][argument])
        for case, value, error, says in NOT_A_LIST:
            yield Wrong(name, case, {argument: value}, error, (argument, *says))
        for case, value, error, says in NOT_INTEGERS:
            yield Wrong(name, f"{case}-in-it", {argument: [2, value, *good[2:]]}, error, (argument, *says))
        rows: list[Row] = [
            ("negative", [2, -4, *good[2:]], InvalidArgumentError, ("at least", "got -4")),
            ("too-large", [2, 2**63, *good[2:]], InvalidArgumentError, (str(INT64), str(2**63))),
            ("thirty-digits", [2, 10**30, *good[2:]], InvalidArgumentError, (str(INT64), str(10**30))),
            ("float-array", np.array(good, float), TypeError, ("integer array", "float64 array")),
            ("nested", [good], TypeError, (str(good), "(list)")),
            ("matrix", np.array([good]), InvalidArgumentError, (f"(1, {len(good)})",)),
        ]
        if name in RAW:
            few = good[1:]
            rows.append(("short", few, InvalidArgumentError, (f"{len(good)} entries", f"got {len(few)}", str(few))))
        elif name != "max_unpool":
            rows.append(("short", [2, 2], InvalidArgumentError, ("3 to 5 dimensions", "[2, 2]")))
            rows.append(("long", [1] * 6, InvalidArgumentError, ("3 to 5 dimensions", "[1, 1, 1, 1, 1, 1]")))
        for case, value, error, says in rows:
            yield Wrong(name, case, {argument: value}, error, (argument, *says))
    for name in ("max_pool_grad.offsets", "max_pool_grad_grad.offsets"):
        yield Wrong(name, "missing", {"input_shape": None}, TypeError, ("input_shape", "offsets", "None"))
        both = ("x must be None", "offsets")
        yield Wrong(name, "both", {"x": ramp(*PLANE)}, InvalidArgumentError, both)
        yield Wrong(name, "all", {"ties": "all"}, InvalidArgumentError, ("ties", "'first' with offsets", "'all'"))
    for name in ("max_pool_grad", "max_pool_grad_grad"):
        yield Wrong(name, "needless", {"input_shape": PLANE}, InvalidArgumentError, ("input_shape", "offsets"))
        yield Wrong(name, "missing", {"x": None}, TypeError, ("x must", "offsets", "None"))


def _windows() -> Iterator[Wrong]:
    """window, stride, dilation and padding of the plain functions."""
    sizes: list[Row] = [
        *BAD_SIZES,
        *(row for row in NOT_INTEGERS if row[0] not in ("none", "list")),
        ("short", [2], InvalidArgumentError, ("2 entries", "got 1", "[2]")),
        ("long", (2, 2, 2), InvalidArgumentError, ("2 entries", "got 3", "(2, 2, 2)")),
        ("empty", (), InvalidArgumentError, ("2 entries", "got 0", "()")),
        ("set", {2}, TypeError, ("{2} (set)",)),
        ("vector", np.array([2, 2]), TypeError, ("int64 array of shape (2,)",)),
        ("pair-with-zero", (2, 0), InvalidArgumentError, ("at least 1", "got 0")),
        ("pair-with-fraction", (2, 2.5), TypeError, ("2.5 (float)",)),
        ("nested", [[2, 2]], TypeError, ("2 integers", "[2, 2] (list)")),
    ]
    pads: list[Row] = [
        ("upper-case", "SAME", InvalidArgumentError, ("'valid', 'same'", "got 'SAME'", "did you mean 'same'?")),
        ("unknown", "full", InvalidArgumentError, ("'valid', 'same'", "got 'full'")),
        ("none", None, TypeError, ("'valid', 'same'", "None")),
        ("number", 1, TypeError, ("(before, after)", "got 1")),
        ("short", [(0, 0)], InvalidArgumentError, ("(before, after) pair", "2", "[(0, 0)]")),
        ("long", [(0, 0)] * 3, InvalidArgumentError, ("(before, after) pair", "2", "[(0, 0), (0, 0), (0, 0)]")),
        ("number-pair", [0, 1], TypeError, ("padding[0]", "0 (int)")),
        ("triple", [(0, 0), (0, 0, 0)], InvalidArgumentError, ("padding[1]", "2 entries", "(0, 0, 0)")),
        ("negative", [(0, 0), (0, -1)], InvalidArgumentError, ("padding[1]", "at least 0", "got -1")),
        ("flag", [(0, 0), (0, True)], TypeError, ("padding[1]", "True (bool)")),
        ("fraction", [(0, 0.5), (0, 0)], TypeError, ("padding[0]", "0.5 (float)")),
        ("huge", [(0, 2**31), (0, 0)], InvalidArgumentError, ("padding[0]", str(INT32), str(2**31))),
        ("wide", [(2, 0), (0, 0)], InvalidArgumentError, ("smaller than the window", "2 cells", "(2, 0)")),
        ("array", np.zeros((2, 2), int), TypeError, ("(before, after)",)),
    ]
    for name in WITH_WINDOW:
        for argument, (case, value, error, says) in itertools.product(("window", "stride", "dilation"), sizes):
            yield Wrong(name, case, {argument: value}, error, (argument, *says))
        for argument in ("window", "dilation"):
            yield Wrong(name, "none", {argument: None}, TypeError, (argument, "None"))
        for case, value, error, says in pads:
            yield Wrong(name, case, {"padding": value}, error, ("padding", *says))
        tall = ("window must fit", "axis 1", "7 cells", "got 4")
        yield Wrong(name, "too-tall", {"window": (7, 2), "stride": 1}, InvalidArgumentError, tall)
        apart = {"window": 2, "stride": 1, "dilation": 5, "padding": [(2, 2), (2, 2)]}
        yield Wrong(name, "all-padding", apart, InvalidArgumentError, ("window", "padding alone", "dilation 5"))
    for name in WITH_KSIZE:
        tall = RAW[name]["ksize"][:]
        tall[1] = 7
        says = ("ksize must fit", "depth" if "3D" in name else "height", "7 cells", "got 4", "output size", "negative")
        yield Wrong(name, "too-tall", {"ksize": tall, "strides": [1] * len(tall)}, InvalidArgumentError, says)


def sizes_and_words() -> Iterator[Wrong]:
    for name in WITH_KSIZE:
        yield from _kernel_sizes(name)
        yield from _channels(name)
    yield from _words()
    yield from _flags()
    yield from _explicit_paddings()
    yield from _shapes()
    yield from _windows()
