"""``torch.nn``'s pooling modules, which they are in all but what they compute with.

Arguments, attributes, ``repr``, state dicts and pickles are PyTorch's own. ``padding`` may also be "same", "valid" or
one (before, after) pair an axis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from poolgrad.torch._arguments import Numbers, Pads
from poolgrad.torch._fractional import Ratios, fractional_avg_pool2d, fractional_max_pool2d, fractional_max_pool3d
from poolgrad.torch._functions import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from poolgrad.torch._places import max_unpool1d, max_unpool2d, max_unpool3d

# Symbolic tracing of torch.fx keeps these as they are.
for _name in [name for name in globals() if "pool" in name]:
    torch.fx.wrap(_name)


class MaxPool1d(nn.MaxPool1d):
    """``torch.nn.MaxPool1d``.

    >>> MaxPool1d(2)(torch.tensor([[1.0, 5.0, 4.0, 7.0]]))
    tensor([[5., 7.]])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool."""
        m = self
        return max_pool1d(input, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices)


class MaxPool2d(nn.MaxPool2d):
    """``torch.nn.MaxPool2d``.

    >>> MaxPool2d(3, stride=2, padding="same")
    MaxPool2d(kernel_size=3, stride=2, padding=same, dilation=1, ceil_mode=False)
    """

    def forward(self, input: Tensor) -> Any:
        """Pool."""
        m = self
        return max_pool2d(input, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices)


class MaxPool3d(nn.MaxPool3d):
    """``torch.nn.MaxPool3d``."""

    def forward(self, input: Tensor) -> Any:
        """Pool."""
        m = self
        return max_pool3d(input, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices)


class AvgPool1d(nn.AvgPool1d):
    """``torch.nn.AvgPool1d``.

    >>> AvgPool1d(3, stride=2, padding="same")(torch.ones(1, 5))
    tensor([[1., 1., 1.]])
    """

    padding: Any  # all that the function takes

    def __init__(
        self,
        kernel_size: int | tuple[int],
        stride: int | tuple[int] | None = None,
        padding: Pads = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, kernel_size if stride is None else stride, 0, ceil_mode, count_include_pad)
        self.padding = (padding,) if isinstance(padding, int) else padding

    def forward(self, input: Tensor) -> Tensor:
        """Pool."""
        m = self
        return avg_pool1d(input, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad)


class AvgPool2d(nn.AvgPool2d):
    """``torch.nn.AvgPool2d``."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool."""
        m = self
        return avg_pool2d(
            input, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, m.divisor_override
        )


class AvgPool3d(nn.AvgPool3d):
    """``torch.nn.AvgPool3d``."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool."""
        m = self
        return avg_pool3d(
            input, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, m.divisor_override
        )


class AdaptiveAvgPool1d(nn.AdaptiveAvgPool1d):
    """``torch.nn.AdaptiveAvgPool1d``."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool."""
        return adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(nn.AdaptiveAvgPool2d):
    """``torch.nn.AdaptiveAvgPool2d``."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool."""
        return adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(nn.AdaptiveAvgPool3d):
    """``torch.nn.AdaptiveAvgPool3d``."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool."""
        return adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(nn.AdaptiveMaxPool1d):
    """``torch.nn.AdaptiveMaxPool1d``."""

    def forward(self, input: Tensor) -> Any:
        """Pool."""
        return adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(nn.AdaptiveMaxPool2d):
    """``torch.nn.AdaptiveMaxPool2d``."""

    def forward(self, input: Tensor) -> Any:
        """Pool."""
        return adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(nn.AdaptiveMaxPool3d):
    """``torch.nn.AdaptiveMaxPool3d``."""

    def forward(self, input: Tensor) -> Any:
        """Pool."""
        return adaptive_max_pool3d(input, self.output_size, self.return_indices)


class MaxUnpool1d(nn.MaxUnpool1d):
    """``torch.nn.MaxUnpool1d``; where several values go to one place the last one stays."""

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Put values back."""
        return max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(nn.MaxUnpool2d):
    """``torch.nn.MaxUnpool2d``; where several values go to one place the last one stays."""

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Put values back."""
        return max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(nn.MaxUnpool3d):
    """``torch.nn.MaxUnpool3d``; where several values go to one place the last one stays."""

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Put values back."""
        return max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _Bordered:
    """What PyTorch's fractional modules are not told: the rule that draws their borders, and whether cells overlap."""

    # Of modules that were PyTorch's.
    sequence = "torch"
    overlapping = False

    def __init__(self, *arguments: Any, sequence: str = "torch", overlapping: bool = False, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.sequence, self.overlapping = sequence, overlapping

    def _arguments(self) -> dict[str, Any]:
        names = ("kernel_size", "output_size", "output_ratio", "return_indices", "_random_samples")
        return {name: getattr(self, name) for name in (*names, "sequence", "overlapping")}


class FractionalMaxPool2d(_Bordered, nn.FractionalMaxPool2d):
    """``torch.nn.FractionalMaxPool2d``; with ``sequence="tensorflow"`` by TensorFlow's rule.

    >>> FractionalMaxPool2d(2, output_ratio=0.5, sequence="tensorflow")(torch.ones(1, 4, 4)).shape
    torch.Size([1, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool."""
        return fractional_max_pool2d(input, **self._arguments())


class FractionalMaxPool3d(_Bordered, nn.FractionalMaxPool3d):
    """``torch.nn.FractionalMaxPool3d``; with ``sequence="tensorflow"`` by TensorFlow's rule."""

    def forward(self, input: Tensor) -> Any:
        """Pool."""
        return fractional_max_pool3d(input, **self._arguments())


class FractionalAvgPool2d(nn.Module):
    """Averages of a grid whose borders TensorFlow's rule draws, with PyTorch's generator.

    >>> FractionalAvgPool2d(output_size=2)
    FractionalAvgPool2d(output_size=2, output_ratio=None, overlapping=False, pseudo_random=False)
    """

    def __init__(
        self,
        output_size: Numbers | None = None,
        output_ratio: Ratios | None = None,
        *,
        overlapping: bool = False,
        pseudo_random: bool = False,
    ) -> None:
        super().__init__()
        self.output_size, self.output_ratio = output_size, output_ratio
        self.overlapping, self.pseudo_random = overlapping, pseudo_random

    def forward(self, input: Tensor) -> Tensor:
        """Pool."""
        return fractional_avg_pool2d(
            input, self.output_size, self.output_ratio, overlapping=self.overlapping, pseudo_random=self.pseudo_random
        )

    def extra_repr(self) -> str:
        """The arguments."""
        names = ("output_size", "output_ratio", "overlapping", "pseudo_random")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


# PyTorch's class -> ours: the one of its name.
REPLACEMENTS: dict[type[nn.Module], type[nn.Module]] = {
    getattr(nn, name): ours
    for name, ours in list(globals().items())
    if isinstance(ours, type) and issubclass(ours, nn.Module) and hasattr(nn, name)
}


class Replaced(NamedTuple):
    """A module that was swapped: its name in the model, and what it is now."""

    name: str
    module: nn.Module


def replace_pooling(model: nn.Module) -> list[Replaced]:
    """Make every pooling module of a model poolgrad's, in place; says which ones these were.

    The modules stay the same objects with the same attributes, buffers and hooks: state dicts stay loadable. Subclasses
    of PyTorch's modules, which may compute something else, are left as they are.

    >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2))
    >>> replace_pooling(model)
    [Replaced(name='1', module=MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False))]
    """
    found = []
    for name, module in model.named_modules():
        ours = REPLACEMENTS.get(type(module))
        if ours is not None:
            module.__class__ = ours
            found.append(Replaced(name, module))
    return found
