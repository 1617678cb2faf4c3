"""poolgrad.torch's own calls on tensors of the host: what ``--tensors`` measures in place of arrays."""

from __future__ import annotations

import functools
from typing import Any

from benchmarks.peers.torch_peers import Case
from benchmarks.problems import Arrays, Problem
from benchmarks.runners import Runner


def has(problem: Problem) -> bool:
    """Forwards and gradients that PyTorch's functions have; winners come from what the forward saved."""
    if problem.workload.ratio or problem.results != "fresh" or problem.direction == "second":
        return False
    saved = (problem.workload.pooling == "avg" or problem.kind == "offsets") and problem.dtype != "uint8"
    return problem.direction == "forward" or saved


def prepare(problem: Problem, arrays: Arrays) -> Runner:
    """The call of a row."""
    import torch

    import poolgrad.torch

    work = problem.workload
    # The tensors of PyTorch's peers; padding is ours.
    case = Case(problem, [], False, channels_last=not problem.channels_first)
    pool = getattr(poolgrad.torch, f"{work.pooling}_pool{problem.axes}d")
    settings: dict[str, Any] = {"stride": work.stride, "padding": work.padding.lower()}
    if problem.direction == "forward":
        return Runner(functools.partial(pool, case.tensor(arrays.x), work.window, **settings), case.to_numpy)
    grad = case.tensor(arrays.grad)
    x = case.empty(problem.input_shape, grad.dtype).zero_() if arrays.x is None else case.tensor(arrays.x)
    with torch.enable_grad():
        y = pool(x.requires_grad_(), work.window, **settings)
    # What the engine calls, as the peers' backward ops are.
    node = y.grad_fn
    return Runner(functools.partial(node.call.adjoint, grad, *node.saved_tensors), case.to_numpy)
