"""Tensors as memory: in which order their axes lie, new ones in the same order, and kernels run on them."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from poolgrad import results
from poolgrad.errors import InvalidArgumentError, UnsupportedError
from poolgrad.faults import explain
from poolgrad.forms import APART, TRUSTED, Rule, flattened, plan_of
from poolgrad.kernels import cpu
from poolgrad.plan import BACK, Plan, Shape
from poolgrad.windows import Axis

NAMES = {name: getattr(torch, name) for name in ("float16", "bfloat16", "float32", "float64")}
NAMES |= {f"{sign}int{bits}": getattr(torch, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}
DTYPES = {dtype: name for name, dtype in NAMES.items()}
_get_num_threads = torch.get_num_threads
ROLES = {"input": "input", "reference": "the maxima", "index": "indices", "data": "the gradient"}


class Side(NamedTuple):
    """Shape and strides of the tensors on one side of a call: dense, in one order."""

    shape: Shape
    strides: Shape
    numel: int


def contiguous_strides(shape: Shape) -> Shape:
    """Strides of a tensor whose axes lie in order.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def side(shape: Shape, order: Shape) -> Side:
    """A side whose axes lie in memory in this order.

    >>> side((2, 3, 4), (0, 2, 1)).strides
    (12, 1, 3)
    """
    strides = [0] * len(shape)
    for axis, step in zip(order, contiguous_strides(tuple(shape[axis] for axis in order)), strict=True):
        strides[axis] = step
    return Side(shape, tuple(strides), math.prod(shape))


def written_side(shape: Shape) -> Side:
    """A side whose axes lie in memory as they are written."""
    return Side(shape, contiguous_strides(shape), math.prod(shape))


def order_of(shape: Shape, strides: Shape, spatial: int) -> Shape:
    """The order in which the axes of a tensor lie, if its last ``spatial`` ones lie together; else as written.

    >>> order_of((2, 3, 4, 5), (60, 1, 15, 3), 2), order_of((2, 3, 4, 5), (60, 20, 1, 4), 2)
    ((0, 2, 3, 1), (0, 1, 2, 3))
    """
    rank = len(shape)
    written = tuple(range(rank))
    # Equal strides belong to axes of one cell: those stay in the order they are written in.
    order = tuple(sorted(written, key=lambda axis: (-strides[axis], axis)))
    last = tuple(range(rank - spatial, rank))
    for candidate in (written, order):
        first = candidate.index(last[0])
        together = candidate[first : first + spatial] == last
        if together and _is_dense(shape, strides, candidate):
            return candidate
    return written


def _is_dense(shape: Shape, strides: Shape, order: Shape) -> bool:
    wanted = contiguous_strides(tuple(shape[axis] for axis in order))
    return all(shape[axis] == 1 or strides[axis] == step for axis, step in zip(order, wanted, strict=True))


def laid(tensor: Tensor, wanted: Side) -> Tensor:
    """The tensor itself if it lies as wanted, else a copy that does."""
    strides = tensor.stride()
    if strides == wanted.strides or all(
        n == 1 or a == b for n, a, b in zip(wanted.shape, strides, wanted.strides, strict=True)
    ):
        return tensor
    return torch.empty_strided(wanted.shape, wanted.strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def empty(wanted: Side, dtype: torch.dtype, near: Tensor) -> Tensor:
    """A new tensor that will be computed from the one at ``near``."""
    needed = wanted.numel * dtype.itemsize
    if needed < results.LEAST or not near.is_cpu:
        return near.new_empty_strided(wanted.shape, wanted.strides, dtype=dtype)
    results.refuse_vast(wanted.shape, dtype, needed)
    memory = torch.from_numpy(results.empty_bytes(needed, near.data_ptr())).untyped_storage()
    # Not a view of it, which programs could not change in place.
    return torch.empty(0, dtype=dtype).set_(memory, 0, wanted.shape, wanted.strides)


def outline(wanted: Side, dtype: torch.dtype) -> Tensor:
    """A tensor of the host without any memory."""
    made = torch.empty_strided(wanted.shape, wanted.strides, dtype=dtype, device="cpu")
    made.untyped_storage().resize_(0)
    return made


class Call:
    """A plan made ready for tensors: what each looks like, and the problem of the native core."""

    __slots__ = (
        "_contest",
        "are_apart",
        "dtype",
        "index_dtype",
        "inputs",
        "is_empty",
        "is_forward",
        "is_trusted",
        "names",
        "outputs",
        "plan",
        "problem",
        "reads",
        "repeats",
        "writes",
    )

    def __init__(
        self, plan: Plan, reads: Side, writes: Side, names: Mapping[str, str] = ROLES, *, flags: str = ""
    ) -> None:
        """``names`` are what an error calls the tensors, by role; ``flags`` say what is known of an index."""
        self.is_trusted, self.are_apart = TRUSTED in flags, APART in flags
        self.plan, self.reads, self.writes, self.names = plan, reads, writes, names
        back = plan.family in BACK
        self.inputs, self.outputs = (writes, reads) if back else (reads, writes)
        self.dtype = NAMES[plan.dtype]
        gives_index = plan.family == "maximum" and plan.numbering != "ordinal"
        self.index_dtype = NAMES[plan.index_dtype] if gives_index else None
        self.is_forward = plan.family in ("mean", "maximum")  # whose data is the input
        self.is_empty = 0 in reads.shape or 0 in writes.shape
        self.problem: Any = None  # made when a tensor of the host comes
        self.repeats: dict[int, Any] = {}  # launches, by the number of the GPU
        self._contest: Any = None

    def run(
        self, data: Tensor, input: Tensor | None = None, reference: Tensor | None = None, index: Tensor | None = None
    ) -> Any:
        """A new result, in a pair with the index of its maxima if the plan wants one."""
        if data.shape != self.reads.shape or data.dtype != self.dtype:
            raise self._misfit("input" if self.is_forward else "data", data, self.reads, self.dtype, data)
        data = laid(data, self.reads)
        if index is not None:
            index = self._fitting("index", index, self.outputs, NAMES[self.plan.index_dtype], data)
        if input is not None:
            input = self._fitting("input", input, self.inputs, self.dtype, data)
        if reference is not None:
            reference = self._fitting("reference", reference, self.outputs, self.dtype, data)
        out = empty(self.writes, self.dtype, data)
        out_index = None if self.index_dtype is None else empty(self.writes, self.index_dtype, data)
        self.fill(data, input, reference, index, out, out_index)
        return out if out_index is None else (out, out_index)

    def repeated(self, known: Any) -> Callable[..., Any]:
        """:meth:`run` for many calls on tensors of the host, which are all ``known`` to the core."""
        written = [self.dtype] if self.index_dtype is None else [self.dtype, self.index_dtype]
        if self.is_empty or max(self.writes.numel * dtype.itemsize for dtype in written) >= results.LEAST:
            return self.run  # where large results come from the pool
        by: list[Tensor | None] = [None, None, None]
        if self.plan.family in ("pick", "route"):
            kinds = (self.inputs, self.dtype), (self.outputs, self.dtype), (self.outputs, NAMES[self.plan.index_dtype])
            by = [outline(*kind) for kind in kinds]
        index = None if self.index_dtype is None else outline(self.writes, self.index_dtype)
        likes = [outline(self.reads, self.dtype), *by, outline(self.writes, self.dtype), index]
        return cpu.on_tensors(known, self.problem or self.made_problem(), likes, self.run)

    def meets(self, index: Tensor) -> bool:
        """Does an index of the host name some cell of a plane more than once?"""
        if self.is_empty:
            return False
        problem, index = self.problem or self.made_problem(), laid(index, self.outputs)
        return bool(problem.meets(index.data_ptr()))

    def finds_apart(self, index: Tensor) -> bool:
        """Are the cells of a plane that an index of a GPU names all there, and none named twice? The host waits."""
        if self.is_empty:
            return True
        if self._contest is None:
            self._contest = gpu_kernels().contest(self.plan)
        is_odd = torch.empty(1, dtype=torch.int32, device=index.device)
        self._contest.run((laid(index, self.outputs), is_odd), index.device)
        return not bool(is_odd)

    def made_problem(self) -> Any:
        """The problem of the core, for tensors of the host."""
        self.problem = cpu.problem(self.plan)
        return self.problem

    def _fitting(self, role: str, tensor: Tensor, side: Side, dtype: torch.dtype, data: Tensor) -> Tensor:
        """The tensor as it has to lie; kernels know its address only."""
        if tensor.shape != side.shape or tensor.dtype != dtype or tensor.device != data.device:
            raise self._misfit(role, tensor, side, dtype, data)
        return laid(tensor, side)

    def _misfit(self, role: str, tensor: Tensor, side: Side, dtype: torch.dtype, data: Tensor) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"{self.names[role]} must have shape {list(side.shape)} and dtype {dtype} on {data.device}, got"
            f" {list(tensor.shape)} and {tensor.dtype} on {tensor.device}"
        )

    def fill(
        self,
        data: Tensor,
        input: Tensor | None,
        reference: Tensor | None,
        index: Tensor | None,
        out: Tensor,
        out_index: Tensor | None,
    ) -> None:
        """Fill tensors that lie as the call says; so must all that it reads."""
        if self.is_empty:
            out.zero_()
            return
        if data.is_cpu:
            bad = cpu.run_at(
                self.problem or self.made_problem(),
                data.data_ptr() if self.is_forward else (0 if input is None else input.data_ptr()),
                0 if reference is None else reference.data_ptr(),
                0 if index is None else index.data_ptr(),
                0 if self.is_forward else data.data_ptr(),
                out.data_ptr(),
                0 if out_index is None else out_index.data_ptr(),
                _get_num_threads(),
            )
            if bad is None:
                return
        else:
            repeat = self.repeats.get(data.get_device())
            sources = (data, reference, index, None) if self.is_forward else (input, reference, index, data)
            if repeat is not None and repeat.run((*sources, out, out_index)):
                return
        arrays = {"input": input, "reference": reference, "index": index, "input" if self.is_forward else "data": data}
        given = {role: tensor for role, tensor in arrays.items() if tensor is not None}
        if not data.is_cpu:
            known = {"is_trusted": self.is_trusted, "are_apart": self.are_apart}
            bad = gpu_kernels().run(self.plan, given, out, out_index, **known, repeats=self.repeats)
        if bad is not None:
            # The plan knows memory, not the order of axes.
            flat = {role: _in_memory_order(tensor, self.plan) for role, tensor in given.items()}
            raise InvalidArgumentError(explain(self.plan, flat, self.names, bad))


def call_of(family: str, rule: Rule, axes: Sequence[Axis], shape: Shape, order: Shape, dtype: torch.dtype) -> Call:
    """The call that pools the last axes: ``shape`` is that of the pooled side, ``order`` how all axes lie in memory."""
    if dtype not in DTYPES:
        raise UnsupportedError(f"input must have one of the dtypes {', '.join(DTYPES.values())}, got {dtype}")
    rank, spatial = len(shape), len(axes)
    first = order.index(rank - spatial)
    if sorted(order) != list(range(rank)) or order[first : first + spatial] != tuple(range(rank - spatial, rank)):
        raise InvalidArgumentError(f"order must have the last {spatial} of {rank} axes together, got {list(order)}")
    outer = math.prod(shape[axis] for axis in order[:first])
    inner = math.prod(shape[axis] for axis in order[first + spatial :])
    folded = flattened(axes) if rule.selector == "given" else axes
    plan = plan_of(family, rule, DTYPES[dtype], outer, folded, inner)
    sides = side(shape, order), side((*shape[:-spatial], *(axis.outputs for axis in axes)), order)
    reads, writes = reversed(sides) if family in BACK else sides
    return Call(plan, reads, writes, flags=rule.flags)


def _in_memory_order(tensor: Tensor, plan: Plan) -> Tensor:
    shape = plan.output_shape if tensor.numel() == math.prod(plan.output_shape) else plan.input_shape
    return tensor.as_strided(shape, contiguous_strides(shape))


def gpu_kernels() -> Any:
    """What runs on tensors of a GPU."""
    try:
        return importlib.import_module("poolgrad.kernels.gpu")
    except ImportError as error:
        raise UnsupportedError(f"tensors of a GPU need Triton, which comes with PyTorch for it: {error}") from error
