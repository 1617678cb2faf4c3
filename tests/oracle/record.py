"""Records what TensorFlow's stock CPU kernels return; run `python -m tests.oracle.record` from the root."""

import importlib
import os
import re
from typing import Any

import numpy as np

from .cases import SEED, calls
from .golden import save
from .model import Array, Call, Failure

VERSION = "2.21"


def import_tensorflow() -> Any:
    """TensorFlow with its stock kernels, whose results do not depend on the machine."""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    return importlib.import_module("tensorflow")


def tensorflow_result(tensorflow: Any, call: Call) -> tuple[Array, ...] | Failure:
    attributes = dict(call.attributes)
    if "Targmax" in attributes:
        attributes["Targmax"] = tensorflow.as_dtype(attributes["Targmax"])
    tensors = {name: tensorflow.constant(array) for name, array in call.arrays.items()}
    try:
        result = getattr(tensorflow.raw_ops, call.op)(**tensors, **attributes)
    except (tensorflow.errors.OpError, TypeError, ValueError) as error:
        message = error.message if isinstance(error, tensorflow.errors.OpError) else str(error)
        return Failure(type(error).__name__, re.sub(r"^\{\{.*?\}\} | \[Op:.*$", "", message))
    outputs = result if isinstance(result, tuple) else (result,)
    return tuple(np.asarray(output.numpy()) for output in outputs)


def main() -> None:
    tensorflow = import_tensorflow()
    if not tensorflow.__version__.startswith(VERSION):
        raise SystemExit(f"record with TensorFlow {VERSION}, not {tensorflow.__version__}")
    results: dict[str, list[tuple[Call, tuple[Array, ...] | Failure]]] = {}
    for call in calls(SEED):
        if call.is_recorded:
            results.setdefault(call.op, []).append((call, tensorflow_result(tensorflow, call)))
    for op, rows in results.items():
        save(op, tensorflow.__version__, rows)
        print(f"{op}: {len(rows)} calls, {sum(isinstance(r, Failure) for _, r in rows)} refused")


if __name__ == "__main__":
    main()
