"""PyTorch's aten ops, contiguous or channels-last, eager or compiled by inductor."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.problems import Array, Arrays, Problem
from benchmarks.runners import Runner


@dataclass
class TorchPeer:
    """Max gradients come from saved indices, as autograd has them."""

    name: str
    channels_last: bool
    compiled: bool
    package: str = "torch"
    install: str = "torch==2.13.*"

    def start(self, threads: int) -> str:
        """Set the threads."""
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        return str(torch.__version__)

    def prepare(self, problem: Problem, arrays: Arrays) -> Runner | None:
        """Eager ops can fill a given tensor; compiled ones cannot. Winners are never found from the input."""
        reused = problem.results == "reused"
        if problem.workload.ratio or problem.kind == "input" or (reused and self.compiled):
            return None
        if problem.channels_first and self.channels_last and not self.compiled:
            return None
        pads = torch_padding(problem)
        if pads is None:
            return None
        case = Case(problem, *pads, channels_last=self.channels_last and not problem.channels_first)
        call = case.call(arrays)
        if self.compiled:
            return Runner(call.compiled(), case.to_numpy)
        return Runner(call.filling(case) if reused else call.fresh(), case.to_numpy)

    def forget(self) -> None:
        """Drop compiled functions."""
        if self.compiled:
            import torch

            torch._dynamo.reset()


def torch_padding(problem: Problem) -> tuple[list[int], bool] | None:
    """Padding and ceil_mode that give TensorFlow's windows, or None."""
    work, ceil = problem.workload, False
    if work.padding == "VALID":
        return [0] * problem.axes, False
    pads = []
    for size, window, stride, count in zip(
        work.shape[1:-1], work.window, work.stride, work.output_shape[1:-1], strict=True
    ):
        before, odd = divmod(max((count - 1) * stride + window - size, 0), 2)
        if odd and stride == 1:  # rounding up the number of windows is all that torch offers
            return None
        pads.append(before)
        ceil = ceil or bool(odd)
    return pads, ceil


@dataclass(frozen=True)
class Call:
    """An op with its arguments: tensors, settings, tensors. ``into`` is the form that fills given tensors."""

    op: Any
    into: Any
    names: tuple[str, ...]  # keywords of the tensors to fill
    before: list[Any]
    settings: list[Any]
    after: list[Any]

    def fresh(self) -> Callable[[], Any]:
        """The call as it is."""
        return functools.partial(self.op, *self.before, *self.settings, *self.after)

    def compiled(self) -> Callable[[], Any]:
        """The call as a compiled function of its tensors."""
        import torch

        count = len(self.before)
        function = torch.compile(
            lambda *tensors: self.op(*tensors[:count], *self.settings, *tensors[count:]), dynamic=False
        )
        return functools.partial(function, *self.before, *self.after)

    def filling(self, case: Case) -> Callable[[], Any]:
        """The call that writes to the same tensors every time."""
        import torch

        dtypes = (self.before[0].dtype, torch.int64)
        outs = {name: case.filled(dtype) for name, dtype in zip(self.names, dtypes, strict=False)}
        return functools.partial(self.into, *self.before, *self.settings, *self.after, **outs)


class Case:
    """One row in PyTorch's terms: tensors, and functions of them."""

    def __init__(self, problem: Problem, pads: list[int], ceil: bool, *, channels_last: bool) -> None:
        import torch

        self.problem, self.channels_last = problem, channels_last
        self.aten = torch.ops.aten
        self.average = problem.workload.pooling == "avg"
        self.format = torch.contiguous_format
        if channels_last:
            self.format = torch.channels_last if problem.axes == 2 else torch.channels_last_3d
        self.window = [list(problem.workload.window), list(problem.workload.stride), pads]
        self.rest: list[Any] = [ceil, False, None] if self.average else [[1] * problem.axes, ceil]

    def op(self, name: str) -> Any:
        """An aten op by its name with the number of axes left out."""
        return getattr(self.aten, name.format(self.problem.axes))

    def tensor(self, array: Array | None) -> Any:
        """A copy of an array in the memory format of this case."""
        import torch

        assert array is not None
        short = array.dtype.name == "bfloat16"
        tensor = torch.from_numpy(array.view("int16") if short else array)
        if not self.problem.channels_first:
            tensor = tensor.movedim(-1, 1)
        tensor = tensor.clone(memory_format=self.format)
        return tensor.view(torch.bfloat16) if short else tensor

    def to_numpy(self, result: Any) -> Array:
        """The values of a result in the row's layout; bfloat16 becomes float32."""
        import torch

        tensor = result[0] if isinstance(result, tuple) else result
        tensor = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
        array: Array = (tensor if self.problem.channels_first else tensor.movedim(1, -1)).numpy()
        return array

    def empty(self, shape: tuple[int, ...], dtype: Any, memory_format: Any = None) -> Any:
        """An unfilled tensor of a row's shape, in the memory format of this case unless told another."""
        import torch

        if not self.problem.channels_first:
            shape = (shape[0], shape[-1], *shape[1:-1])
        return torch.empty(shape, dtype=dtype, memory_format=memory_format or self.format)

    def filled(self, dtype: Any) -> Any:
        """A tensor for results, whose pages exist."""
        import torch

        # These are contiguous in PyTorch whatever the input is; averages of volumes come out wrong in other strides.
        contiguous = self.problem.axes == 3 if self.average else self.problem.direction == "second"
        plain = torch.contiguous_format if contiguous else None
        return self.empty(self.problem.result_shape, dtype, plain).fill_(1)

    def call(self, arrays: Arrays) -> Call:
        """The op of the row."""
        import torch

        axes, direction, settings = self.problem.axes, self.problem.direction, [*self.window, *self.rest]
        if self.average and direction != "gradient":
            given = [self.tensor(arrays.x if direction == "forward" else arrays.grad)]
            op = getattr(torch.nn.functional, f"avg_pool{axes}d")
            return Call(op, self.op("avg_pool{}d").out, ("out",), given, settings, [])
        if self.average:
            grad = self.tensor(arrays.grad)
            given = [grad, self.empty(self.problem.input_shape, grad.dtype)]
            op = self.op("avg_pool{}d_backward")
            return Call(op.default, op.grad_input, ("grad_input",), given, settings, [])
        x = self.tensor(arrays.x)
        pool = self.op("max_pool{}d_with_indices")
        if direction == "forward":
            return Call(getattr(torch, f"max_pool{axes}d"), pool.out, ("out", "indices"), [x], settings, [])
        indices = pool(x, *settings)[1]
        given = [self.tensor(arrays.grad), torch.empty_like(x)]
        if direction == "second":
            return Call(second_order, second_order, ("out",), [given[0], indices], [], [])
        op = self.op("max_pool{}d_with_indices_backward")
        return Call(op.default, op.grad_input, ("grad_input",), given, settings, [indices])


def second_order(grad: Any, indices: Any, out: Any = None) -> Any:
    """As in PyTorch's own formula of the double backward: the gradient gathered at the indices."""
    import torch

    flat = [*indices.shape[:2], -1]
    if out is None:
        return grad.reshape(flat).gather(-1, indices.reshape(flat)).view(indices.shape)
    torch.gather(grad.reshape(flat), -1, indices.reshape(flat), out=out.view(flat))
    return out
