"""Plans and data for them, some drawn and some chosen; and the native core's answers, whose bits must come out."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch

from poolgrad.kernels import cpu
from poolgrad.plan import BACK, Plan, flat, fold, make, with_argmax, with_offsets
from poolgrad.windows import Axis, adaptive_axis, from_sequence, make_axis, torch_axis

DTYPES = {name: getattr(torch, name) for name in ("float16", "bfloat16", "float32", "float64")}
SELECTORS = ("first_max", "first_nan", "first_equal", "all_equal", "all_near", "offset", "given")


@dataclass
class Case:
    """A plan, what it reads by role, and whether it also fills an index."""

    plan: Plan
    arrays: dict[str, torch.Tensor]

    def results(self, device: str) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Tensors to fill, with something else in them."""
        plan = self.plan
        out = torch.full(plan.result_shape, 5.0, dtype=DTYPES[plan.dtype], device=device)
        if plan.family != "maximum" or plan.numbering == "ordinal":
            return out, None
        return out, torch.zeros(plan.output_shape, dtype=getattr(torch, plan.index_dtype), device=device)

    def expected(self) -> tuple[int | None, torch.Tensor, torch.Tensor | None]:
        """What the native core answers and fills."""
        out, index = self.results("cpu")
        return run_core(self.plan, self.arrays, out, index), out, index


def run_core(plan: Plan, arrays: dict[str, torch.Tensor], out: torch.Tensor, index: torch.Tensor | None) -> int | None:
    addresses = [arrays[role].data_ptr() if role in arrays else 0 for role in ("input", "reference", "index", "data")]
    a, b, c, d = addresses
    return cpu.run_at(cpu.problem(plan), a, b, c, d, out.data_ptr(), 0 if index is None else index.data_ptr(), 1)


def numbers(draw: random.Random, shape: tuple[int, ...], dtype: str, *, is_special: bool = False) -> torch.Tensor:
    """Random numbers, sometimes with ties or tiny; special ones hold NaN, infinities and negative zeros."""
    generator = torch.Generator().manual_seed(draw.randrange(2**30))
    mode = draw.randrange(4)
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    if mode > 1:
        values = torch.randint(-2, 3, shape, generator=generator).double() * (1.0 if mode == 2 else 1e-6)
    values = values.to(DTYPES[dtype])
    some = values.view(-1)
    for special in (float("nan"), float("inf"), -float("inf"), -0.0):
        if is_special and draw.random() < 0.5:
            some[torch.randint(0, some.numel(), (some.numel() // 10 + 1,), generator=generator)] = special
    return values


def drawn_axis(draw: random.Random) -> Axis:
    """Windows of any kind: none, plain, padded, dilated, PyTorch's, fractional, adaptive."""
    size = draw.choice([1, 2, 3, 5, 7, 8, 12])
    window, stride = draw.choice([1, 2, 3, 3, 5, 7, 13]), draw.choice([1, 1, 2, 2, 3])
    kind = draw.choice(["none", "plain", "plain", "dilated", "padded", "torch", "fractional", "adaptive"])
    if kind == "fractional":
        borders = sorted(draw.sample(range(1, size), min(size - 1, draw.randrange(5)))) if size > 1 else []
        return from_sequence(size, (0, *borders, size), draw.random() < 0.5)
    if kind == "adaptive":
        return adaptive_axis(size, draw.randint(1, size))
    try:
        if kind == "padded":
            return make_axis("x", size, window, stride, (draw.randrange(window), draw.randrange(window)))
        if kind == "torch":
            pads = (window // 2, window // 2)
            return torch_axis(size, window, stride, pads, ceil_mode=draw.random() < 0.5, counts_padding=True)
        if kind != "none":
            dilation = draw.choice([2, 3]) if kind == "dilated" else 1
            return make_axis("x", size, window, stride, draw.choice(["same", "valid"]), dilation)
    except ValueError:  # such windows do not fit
        pass
    return Axis(size, size)


def case_of(draw: random.Random, family: str, selector: str, dtype: str, outer: int, axes: Any, inner: int) -> Case:
    """A case of these windows: a plan with what it needs to select."""
    one = Axis(1, 1)
    three = (one, one, one, *axes)[-3:]
    shape = (outer, *(axis.size for axis in three), inner)
    folded = fold(shape, 1, three, numbered=True)
    outputs, window = folded.output_shape, tuple(axis.window for axis in three)
    special = draw.random() < 0.3
    plan = make(family, selector, dtype, folded, infinite_floor=selector == "floor" and draw.random() < 0.5)
    data = numbers(draw, outputs if family in BACK else shape, dtype, is_special=special)
    if family in ("mean", "maximum"):
        if family == "maximum" and selector != "floor" and draw.random() < 0.8:
            by_place = draw.random() < 0.5 and not any(axis.starts for axis in three)
            base = draw.choice(["plane", "image", "batch"])
            plan = with_offsets(plan, window) if by_place else with_argmax(plan, "int64", base)
        return Case(plan, {"input": data})
    if family == "spread":
        return Case(plan, {"data": data})
    x = numbers(draw, shape, dtype, is_special=special)
    return _selecting(draw, plan, {"data": data, "input": x}, window)


def _selecting(draw: random.Random, plan: Plan, arrays: dict[str, torch.Tensor], window: tuple[int, ...]) -> Case:
    maxima = make("maximum", "first_nan", plan.dtype, fold(plan.input_shape, 1, plan.axes, numbered=True))
    if plan.selector == "offset" and any(axis.starts for axis in plan.axes):
        plan = make(plan.family, "first_nan", plan.dtype, fold(plan.input_shape, 1, plan.axes, numbered=True))
    if plan.selector == "offset":
        maxima, plan = with_offsets(maxima, window), with_offsets(plan, window)
    if plan.selector == "given":
        base = draw.choice(["plane", "image", "batch"])
        maxima = with_argmax(maxima, "int64", base)
        without = flat(plan.input_shape, plan.output_shape, 1, 3)
        plan = with_argmax(make(plan.family, "given", plan.dtype, without), "int64", base)
    found = Case(maxima, {"input": arrays["input"]})
    _, best, index = found.expected()
    if index is not None and draw.random() < 0.2:
        index.view(-1)[draw.randrange(index.numel())] = draw.randrange(200)  # which may be bad
    wanted = {"data": arrays["data"]}
    if index is not None:
        return Case(plan, {**wanted, "index": index})
    wanted["input"] = arrays["input"]
    if plan.selector in ("first_equal", "all_near"):
        wanted["reference"] = best if draw.random() < 0.7 else numbers(draw, plan.output_shape, plan.dtype)
    return Case(plan, wanted)


def drawn_case(seed: int) -> Case:
    """Any case."""
    draw = random.Random(seed)
    family = draw.choice(["mean", "spread", "maximum", "route", "route", "pick"])
    selector = "none"
    if family == "maximum":
        selector = draw.choice(["floor", "first_max", "first_nan"])
    elif family in ("route", "pick"):
        selector = draw.choice(SELECTORS)
    axes = []
    while len(axes) < draw.choice([1, 2, 3]):
        axis = drawn_axis(draw)
        axes += [axis] if axis.outputs else []
    dtype = draw.choice(list(DTYPES))
    return case_of(draw, family, selector, dtype, draw.choice([1, 2, 3]), axes, draw.choice([1, 1, 2, 3, 8, 40]))
