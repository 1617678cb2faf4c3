"""TensorFlow's raw ops, eager or compiled by XLA: the same names and keywords as poolgrad's."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.problems import Array, Arrays, Problem, raw_call
from benchmarks.runners import Runner


def _first(result: Any) -> Array:
    value = result if hasattr(result, "numpy") else result[0]
    return np.asarray(value.numpy())


def _compiles_for_minutes(problem: Problem) -> bool:
    """XLA computes the cell counts of averaged volumes when it compiles, window by window."""
    averages = problem.workload.pooling == "avg" and problem.workload.padding == "SAME" and problem.axes == 3
    return averages and (problem.direction != "gradient" or math.prod(problem.workload.window) > 100)


@dataclass
class TensorFlowPeer:
    """`tf.raw_ops`, or the same inside `tf.function(jit_compile=True)`."""

    name: str
    compiled: bool
    package: str = "tensorflow"
    install: str = "tensorflow-cpu==2.21.*"

    def start(self, threads: int) -> str:
        """Set the threads, which TensorFlow allows before its first op only."""
        import tensorflow

        if tensorflow.config.threading.get_intra_op_parallelism_threads() != threads:
            tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
            tensorflow.config.threading.set_inter_op_parallelism_threads(1)
        return str(tensorflow.__version__)

    def prepare(self, problem: Problem, arrays: Arrays) -> Runner | None:
        """Fresh results from the input only: the raw ops have no other way."""
        if problem.results == "reused" or problem.kind == "offsets":
            return None
        if self.compiled and _compiles_for_minutes(problem):
            return None
        import tensorflow

        call = raw_call(problem, arrays)
        tensors = {name: tensorflow.constant(value) for name, value in call.arrays.items()}
        attributes = dict(call.attributes)
        for name, shape in call.shapes.items():
            if self.compiled:  # XLA wants to know shapes when it compiles
                attributes[name] = shape
            else:
                tensors[name] = tensorflow.constant(shape, "int64" if "tensor" in name else "int32")
        op = getattr(tensorflow.raw_ops, call.op)
        if not self.compiled:
            return Runner(functools.partial(op, **tensors, **attributes), _first)
        function = tensorflow.function(lambda **given: op(**given, **attributes), jit_compile=True)
        return Runner(functools.partial(function, **tensors), _first)

    def forget(self) -> None:
        """Nothing is kept but a compiled function, which goes with its runner."""
