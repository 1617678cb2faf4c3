"""PyTorch's aten ops, contiguous or channels-last, eager or compiled by inductor."""

from __future__ import annotations

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
        function, tensors = case.function(arrays)
        if self.compiled:
            import torch

            function = torch.compile(function, dynamic=False)
        elif reused:
            function = case.reusing(tensors)
        return Runner(lambda: function(*tensors), case.to_numpy)

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

    def tensor(self, array: Array) -> Any:
        """A copy of an array in the memory format of this case."""
        import torch

        short = array.dtype.name == "bfloat16"
        tensor = torch.from_numpy(array.view("int16") if short else array)
        if not self.problem.channels_first:
            tensor = tensor.movedim(-1, 1)
        tensor = tensor.clone(memory_format=self.format)
        return tensor.view(torch.bfloat16) if short else tensor

    def to_numpy(self, result: Any) -> Array:
        """A result in the row's layout; bfloat16 becomes float32."""
        import torch

        tensor = result.float() if result.dtype == torch.bfloat16 else result
        array: Array = (tensor if self.problem.channels_first else tensor.movedim(1, -1)).numpy()
        return array

    def empty(self, shape: tuple[int, ...], dtype: Any, memory_format: Any = None) -> Any:
        """An unfilled tensor of a row's shape, in the memory format of this case unless told another."""
        import torch

        if not self.problem.channels_first:
            shape = (shape[0], shape[-1], *shape[1:-1])
        return torch.empty(shape, dtype=dtype, memory_format=memory_format or self.format)

    def function(self, arrays: Arrays) -> tuple[Callable[..., Any], list[Any]]:
        """A function of tensors that gives a fresh result, and the tensors."""
        import torch

        direction = self.problem.direction
        if direction == "forward" or (direction == "second" and self.average):
            given = arrays.x if direction == "forward" else arrays.grad
            assert given is not None
            return self.forward, [self.tensor(given)]
        assert arrays.grad is not None
        grad = self.tensor(arrays.grad)
        if self.average:
            return self.average_gradient, [grad, self.empty(self.problem.input_shape, grad.dtype)]
        assert arrays.x is not None
        x = self.tensor(arrays.x)
        _, indices = self.op("max_pool{}d_with_indices")(x, *self.window, *self.rest)
        if direction == "gradient":
            return self.max_gradient, [grad, torch.empty_like(x), indices]
        return self.max_second, [grad, indices]

    def forward(self, x: Any) -> Any:
        import torch

        if self.average:
            return self.op("avg_pool{}d")(x, *self.window, *self.rest)
        name = f"max_pool{self.problem.axes}d"
        return getattr(torch.nn.functional, name)(x, *self.window, *self.rest)

    def average_gradient(self, grad: Any, x: Any) -> Any:
        return self.op("avg_pool{}d_backward")(grad, x, *self.window, *self.rest)

    def max_gradient(self, grad: Any, x: Any, indices: Any) -> Any:
        return self.op("max_pool{}d_with_indices_backward")(grad, x, *self.window, *self.rest, indices)

    def max_second(self, grad: Any, indices: Any) -> Any:
        """As in PyTorch's own formula of the double backward."""
        flat = [*indices.shape[:2], -1]
        return grad.reshape(flat).gather(-1, indices.reshape(flat)).view(indices.shape)

    def reusing(self, tensors: list[Any]) -> Callable[..., Any]:
        """A function of the same tensors that fills the same result in every call."""
        import torch

        # Averages of volumes are contiguous in PyTorch whatever their input is; into other strides it writes nonsense.
        plain = torch.contiguous_format if self.average and self.problem.axes == 3 else None
        out = self.empty(self.problem.result_shape, tensors[0].dtype, plain)
        out.fill_(1)
        settings = (*self.window, *self.rest)
        direction = self.problem.direction
        if self.average and direction == "gradient":
            op = self.op("avg_pool{}d_backward").grad_input
            return lambda grad, x: op(grad, x, *settings, grad_input=out)
        if self.average:
            op = self.op("avg_pool{}d").out
            return lambda x: op(x, *settings, out=out)
        if direction == "gradient":
            op = self.op("max_pool{}d_with_indices_backward").grad_input
            return lambda grad, x, indices: op(grad, x, *settings, indices, grad_input=out)
        if direction == "forward":
            op = self.op("max_pool{}d_with_indices").out
            places = self.empty(self.problem.result_shape, torch.int64)
            return lambda x: op(x, *settings, out=out, indices=places)[0]
        return self._gather_into(out)

    def _gather_into(self, out: Any) -> Callable[..., Any]:
        import torch

        flat = [*out.shape[:2], -1]
        target = out.contiguous().view(flat)

        def gather(grad: Any, indices: Any) -> Any:
            torch.gather(grad.reshape(flat), -1, indices.reshape(flat), out=target)
            return target.view(out.shape)

        return gather
