"""Recorded results of TensorFlow: one compressed file per op, holding all calls, outputs and errors.

A file has two entries: `meta`, JSON text (TensorFlow's version, the recording script, and per call the
attributes and the dtype, shape and offset of each array), and `data`, the bytes of all arrays in a row.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from .model import Array, Call, Failure

FOLDER = Path(__file__).parent / "golden"
RECORDED_BY = "tests/oracle/record.py"


def dtype_named(name: str) -> "np.dtype[Any]":
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


class _Store:
    """Bytes of arrays one after the other; equal arrays are kept once."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self.offsets: dict[bytes, int] = {}

    def put(self, array: Array) -> list[Any]:
        raw = np.ascontiguousarray(array).tobytes()
        if raw not in self.offsets:
            self.offsets[raw] = self.size
            self.chunks.append(raw)
            self.size += len(raw)
        return [array.dtype.name, list(array.shape), self.offsets[raw]]


def _read(data: Array, entry: Sequence[Any]) -> Array:
    name, shape, offset = entry
    dtype = dtype_named(name)
    length = int(np.prod(shape)) * dtype.itemsize
    return data[offset : offset + length].view(dtype).reshape(shape).copy()


def save(op: str, version: str, results: Sequence[tuple[Call, tuple[Array, ...] | Failure]]) -> None:
    store = _Store()
    rows = []
    for call, result in results:
        row: dict[str, Any] = {"id": call.id, "quirk": call.quirk, "attributes": call.attributes}
        row["arrays"] = {name: store.put(array) for name, array in call.arrays.items()}
        if isinstance(result, Failure):
            row["error"] = [result.kind, result.message]
        else:
            row["outputs"] = [store.put(array) for array in result]
        rows.append(row)
    meta = json.dumps({"tensorflow": version, "recorded_by": RECORDED_BY, "op": op, "calls": rows})
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(
        FOLDER / f"{op}.npz",
        meta=np.frombuffer(meta.encode(), np.uint8),
        data=np.frombuffer(b"".join(store.chunks), np.uint8),
    )


def load() -> Iterator[tuple[Call, tuple[Array, ...] | Failure]]:
    """Every recorded call with what TensorFlow returned or raised."""
    for path in sorted(FOLDER.glob("*.npz")):
        with np.load(path) as file:
            meta, data = json.loads(file["meta"].tobytes()), file["data"]
        for row in meta["calls"]:
            arrays = {name: _read(data, entry) for name, entry in row["arrays"].items()}
            call = Call(meta["op"], row["id"], arrays, row["attributes"], row["quirk"])
            if "error" in row:
                yield call, Failure(*row["error"])
            else:
                yield call, tuple(_read(data, entry) for entry in row["outputs"])
