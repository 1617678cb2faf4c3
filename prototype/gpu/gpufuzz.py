# random plans: gpu kernels against the native core
import os, sys, random, math, itertools
import numpy as np, torch

sys.path.insert(0, os.environ.get("PG_SRC", "/tmp/w/y-gpu/src"))
from poolgrad.kernels import cpu, gpu
from poolgrad import plan as P
from poolgrad.windows import Axis, make_axis, from_sequence, torch_axis, adaptive_axis

dev = "cuda" if torch.cuda.is_available() else "cpu"
DT = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
IX = {n: getattr(torch, n) for n in ("uint8", "uint16", "uint32", "int32", "int64", "uint64")}


def rand_axis(r, small):
    size = r.choice([1, 2, 3, 5, 7, 8, 12] if small else [1, 5, 9, 16, 33])
    kind = r.choice(["none", "plain", "plain", "plain", "dil", "table", "adapt", "pad", "torch"])
    try:
        if kind == "none":
            return Axis(size, size)
        if kind == "table":
            cuts = sorted(r.sample(range(1, size), min(size - 1, r.randint(0, 4)))) if size > 1 else []
            return from_sequence(size, (0, *cuts, size), r.random() < 0.5)
        if kind == "adapt":
            return adaptive_axis(size, r.randint(1, size))
        k = r.choice([1, 2, 3, 3, 5, 7] if r.random() < 0.9 else [13])
        s = r.choice([1, 1, 2, 2, 3])
        d = r.choice([2, 3]) if kind == "dil" else 1
        if kind == "pad":
            return make_axis("x", size, k, s, (r.randint(0, k - 1), r.randint(0, k - 1)))
        if kind == "torch":
            return torch_axis(
                size, k, s, (k // 2, k // 2), d, ceil_mode=r.random() < 0.5, counts_padding=r.random() < 0.7
            )
        return make_axis("x", size, k, s, r.choice(["same", "valid"]), d)
    except Exception:
        return Axis(size, size)


def data(shape, dt, r, special):
    g = torch.Generator().manual_seed(r.randint(0, 1 << 30))
    mode = r.randint(0, 3)
    x = (
        torch.randn(shape, generator=g, dtype=torch.float64)
        if mode < 2
        else torch.randint(-2, 3, shape, generator=g).double()
    )
    if mode == 3:
        x = x * 1e-6
    x = x.to(dt)
    if special:
        f = x.view(-1)
        n = f.numel()
        for v in (float("nan"), float("inf"), -float("inf"), -0.0):
            if n and r.random() < 0.5:
                f[torch.randint(0, n, (max(1, n // 10),), generator=g)] = v
    return x


def bits(t):
    n = t.dtype.itemsize
    return t.contiguous().view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[n])


def same(a, b):
    if not a.dtype.is_floating_point:
        return (
            torch.equal(a, b)
            if a.dtype not in (torch.uint16, torch.uint32, torch.uint64)
            else torch.equal(bits(a), bits(b))
        )
    na, nb = torch.isnan(a), torch.isnan(b)
    return torch.equal(na, nb) and torch.equal(bits(a)[~na], bits(b)[~nb])


def run_cpu(plan, arrays, out, oi):
    ad = [arrays[k].data_ptr() if k in arrays else 0 for k in ("input", "reference", "index", "data")]
    return cpu.run_at(cpu.problem(plan), (*ad, out.data_ptr(), 0 if oi is None else oi.data_ptr()), 1)


def one(seed, verbose=False):
    r = random.Random(seed)
    small = r.random() < 0.8
    axes = tuple(rand_axis(r, small) for _ in range(r.choice([1, 2, 3])))
    outer = r.choice([1, 2, 3])
    inner = r.choice([1, 1, 2, 3, 8, 16, 40])
    if not small:
        outer, inner = 1, r.choice([1, 3])
    one_ = Axis(1, 1)
    ax3 = (one_, one_, one_, *axes)[-3:]
    if r.random() < 0.15 and os.environ.get("MANY"):
        outer, inner = 70, 64
    shape = (outer, *(a.size for a in ax3), inner)
    oshape = (outer, *(a.outputs for a in ax3), inner)
    if 0 in shape or 0 in oshape:
        return "empty"
    if math.prod(shape) > 4_000_000:
        return "big"
    dt = r.choice(list(DT))
    T = DT[dt]
    f = P.fold(shape, 1, ax3, numbered=True)
    fam = r.choice(["mean", "spread", "maximum", "route", "route", "pick"])
    sp = r.random() < 0.3
    x = data(shape, T, r, sp)
    g = data(oshape, T, r, sp)
    dd = data(shape, T, r, sp)
    arrays = {}
    oi = None
    if any(a.divisor or a.counted >= 0 for a in ax3) and fam not in ("mean", "spread"):
        pass
    if fam in ("mean", "spread"):
        plan = P.make(fam, "none", dt, f)
        arrays = {"input": x} if fam == "mean" else {"data": g}
    elif fam == "maximum":
        sel = r.choice(["floor", "first_max", "first_nan"])
        plan = P.make(fam, sel, dt, f, infinite_floor=sel == "floor" and r.random() < 0.5)
        num = r.choice(["none", "offset", "argmax"]) if sel != "floor" else "none"
        if num == "offset" and not any(a.starts for a in ax3):
            plan = P.with_offsets(plan, tuple(a.window for a in ax3))
        if num == "argmax":
            plan = P.with_argmax(plan, "int64", r.choice(["plane", "image", "batch"]))
        if plan.numbering != "ordinal":
            oi = torch.zeros(oshape, dtype=IX[plan.index_dtype])
        arrays = {"input": x}
    else:
        sel = r.choice(["first_max", "first_nan", "first_equal", "all_equal", "all_near", "offset", "given"])
        base = P.make("maximum", "first_nan", dt, f)
        plan = P.make(fam, sel, dt, f, last_axis_slowest=fam == "route" and sel == "all_near" and r.random() < 0.5)
        arrays = {"data": g if fam == "route" else dd}
        if sel in ("first_max", "first_nan", "all_equal", "first_equal", "all_near"):
            arrays["input"] = x
        if sel in ("first_equal", "all_near"):
            ref = torch.empty(oshape, dtype=T)
            run_cpu(base, {"input": x}, ref, None)
            if r.random() < 0.3:
                ref = data(oshape, T, r, False)
            arrays["reference"] = ref
        if sel == "offset":
            if any(a.starts for a in ax3):
                return "skip"
            b = P.with_offsets(base, tuple(a.window for a in ax3))
            ref = torch.empty(oshape, dtype=T)
            ix = torch.zeros(oshape, dtype=IX[b.index_dtype])
            run_cpu(b, {"input": x}, ref, ix)
            arrays["index"] = ix
            plan = P.with_offsets(plan, tuple(a.window for a in ax3))
            if r.random() < 0.2:
                ix = ix.clone()
                if ix.dtype == torch.uint8:
                    ix.view(-1)[r.randint(0, ix.numel() - 1)] = r.randint(0, 255)
                arrays["index"] = ix
        if sel == "given":
            bs = r.choice(["plane", "image", "batch"])
            b = P.with_argmax(base, "int64", bs)
            ref = torch.empty(oshape, dtype=T)
            ix = torch.zeros(oshape, dtype=torch.int64)
            run_cpu(b, {"input": x}, ref, ix)
            fl = P.flat(shape, oshape, 1, 3)
            plan = P.with_argmax(P.make(fam, sel, dt, fl), "int64", bs)
            if r.random() < 0.2:
                ix = ix.clone()
                ix.view(-1)[r.randint(0, ix.numel() - 1)] += r.choice([-3, 3, 10**6])
            arrays["index"] = ix
    rs = plan.result_shape
    o1 = torch.full(rs, 7.0, dtype=T)
    o2 = torch.full(rs, 5.0, dtype=T, device=dev)
    i1 = oi
    i2 = None if oi is None else oi.clone().to(dev)
    b1 = run_cpu(plan, arrays, o1, i1)
    b2 = gpu.run(plan, {k: v.to(dev) for k, v in arrays.items()}, o2, i2)
    if b1 != b2:
        return f"BAD differ {b1} {b2} {plan}"
    if b1 is not None:
        return "bad ok"
    if not same(o1, o2.cpu()):
        if verbose:
            d = (bits(o1) != bits(o2.cpu())).nonzero()[:5]
            print(d, [(o1[tuple(k)].item(), o2.cpu()[tuple(k)].item()) for k in d])
        return f"VALUES {plan}"
    if oi is not None and not same(i1, i2.cpu()):
        return f"INDEX {plan}"
    return "ok " + plan.family + " " + plan.selector


if __name__ == "__main__":
    import collections, time

    a, b = int(sys.argv[1]), int(sys.argv[2])
    c = collections.Counter()
    t = time.time()
    bad = 0
    for s in range(a, b):
        try:
            m = one(s)
        except Exception as e:
            m = f"EXC {type(e).__name__} {str(e)[:300]}"
            if bad < 2:
                import traceback

                traceback.print_exc()
        if m.split()[0] in ("VALUES", "INDEX", "BAD", "EXC"):
            bad += 1
            print(s, m[:600])
            m = m.split()[0]
            if bad >= int(os.environ.get("MOST", 4)):
                break
        c[m] += 1
    print(dict(c), round(time.time() - t, 1))
