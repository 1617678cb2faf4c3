"""Cells that an index names by their position, in Triton: what lies there, what goes there, and who meets there."""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_routes import accumulated
from poolgrad.kernels.triton_tiles import block_of, inside, narrowed

_ANY = ["total", "outputs", "outer_step", "cell_step", "inner_step", "limit"]


@triton.jit
def named(
    index, total, outputs, inner, outer_step, cell_step, inner_step, LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """This program's entries of an index [outer, outputs, inner], which of them exist, the positions they have, and the
    cells of the whole input that these are."""
    i = block_of(WIDE) * LB + tl.arange(0, LB)
    live = i < total
    c = i % inner
    n = (i // inner // outputs).to(tl.int64)
    position = tl.load(index + i, live, other=0).to(tl.int64)
    return i, live, position, n * outer_step + position * cell_step + c.to(tl.int64) * inner_step


@triton.jit(do_not_specialize=_ANY)
def pick_given(
    data, index, out, total, outputs, inner, outer_step, cell_step, inner_step, LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """What lies at the named cells."""
    i, live, _, cell = named(index, total, outputs, inner, outer_step, cell_step, inner_step, LB, WIDE)
    tl.store(out + i, tl.load(data + cell, live, other=0), live)


@triton.jit(do_not_specialize=_ANY)
def put_given(
    grad, index, out, total, outputs, inner, outer_step, cell_step, inner_step,
    LB: tl.constexpr, WIDE: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """Gradients go to the named cells, which are zero and of which none is named twice."""
    i, live, _, cell = named(index, total, outputs, inner, outer_step, cell_step, inner_step, LB, WIDE)
    sum_of = tl.zeros((LB,), ACC) + tl.load(grad + i, live, other=0).to(ACC)
    tl.store(out + cell, narrowed(sum_of, out), live)


@triton.jit(do_not_specialize=_ANY)
def name_cells(
    index, out, total, outputs, inner, outer_step, cell_step, inner_step, LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """The named cells of the whole input, in place of positions."""
    i, live, _, cell = named(index, total, outputs, inner, outer_step, cell_step, inner_step, LB, WIDE)
    tl.store(out + i, cell, live)


@triton.jit(do_not_specialize=["total"])
def add_runs(grad, order, targets, out, total, LB: tl.constexpr, ACC: tl.constexpr):
    """Sums runs of equal targets, which are sorted: the program of a run's first entry adds all of it, in order."""
    i = tl.program_id(0).to(tl.int64) * LB + tl.arange(0, LB)
    live = i < total
    target = tl.load(targets + i, live, other=-1)
    starts = live & (tl.load(targets + i - 1, live & (i > 0), other=-1) != target)
    sum_of = tl.zeros((LB,), ACC)
    at = i
    going = starts
    while tl.max(going.to(tl.int32)) > 0:
        term = tl.load(grad + tl.load(order + at, going, other=0), going, other=0).to(ACC)
        sum_of = accumulated(sum_of, term, going, out, True)
        at += 1
        going = going & (at < total)
        going = going & (tl.load(targets + at, going, other=-1) == target)
    tl.store(out + target, narrowed(sum_of, out), starts)


@triton.jit
def named_there(
    index, total, outputs, inner, outer_step, cell_step, inner_step, limit,
    BY_POSITION: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """This program's entries, which of them exist, their cells, and which of those are there: in their part of the
    input by position, or in the whole."""
    i, live, position, cell = named(index, total, outputs, inner, outer_step, cell_step, inner_step, LB, WIDE)
    return i, live, cell, live & inside(position if BY_POSITION else cell, limit)


@triton.jit(do_not_specialize=[*_ANY, "none"])
def bad_positions(
    index, out, total, outputs, inner, outer_step, cell_step, inner_step, limit, none,
    BY_POSITION: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """The first of a program's entries that names no cell, or `none`."""
    i, live, _, good = named_there(
        index, total, outputs, inner, outer_step, cell_step, inner_step, limit, BY_POSITION, LB, WIDE
    )
    tl.store(out + tl.program_id(0), tl.min(tl.where(live & ~good, i.to(tl.int64), none)))


@triton.jit(do_not_specialize=_ANY)
def claim(
    index, owners, is_odd, total, outputs, inner, outer_step, cell_step, inner_step, limit,
    BY_POSITION: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Entries write their numbers at the cells they name: some number stays. What `contest` says is no before."""
    i, _, cell, good = named_there(
        index, total, outputs, inner, outer_step, cell_step, inner_step, limit, BY_POSITION, LB, WIDE
    )
    tl.store(owners + cell, i.to(owners.dtype.element_ty), good)
    tl.store(is_odd, 0, tl.program_id(0) == 0)


@triton.jit(do_not_specialize=_ANY)
def contest(
    index, owners, is_odd, total, outputs, inner, outer_step, cell_step, inner_step, limit,
    BY_POSITION: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Is there an entry that names no cell, or whose number did not stay because another names the same one?"""
    i, live, cell, good = named_there(
        index, total, outputs, inner, outer_step, cell_step, inner_step, limit, BY_POSITION, LB, WIDE
    )
    good = good & (tl.load(owners + cell, good, other=0) == i)
    tl.store(is_odd, 1, tl.max((live & ~good).to(tl.int32)) > 0)
