from common import *
import triton, torch.nn.functional as F
from triton.testing import do_bench

compiling = os.environ.get("COMPILE")
shard = int(os.environ.get("SHARD", "0"))
of = int(os.environ.get("OF", "1"))
M = gpu_tiles.March
ROWS = [
    ("stem", "max", (256, 64, 112, 112), 3, 2, 1),
    ("vgg", "max", (128, 64, 224, 224), 2, 2, 0),
    ("incept", "avg", (256, 288, 35, 35), 3, 1, 1),
    ("dense", "avg", (256, 256, 56, 56), 2, 2, 0),
    ("unet", "max", (4, 32, 128, 128, 128), 2, 2, 0),
    ("i3da", "max", (16, 64, 32, 112, 112), 3, 2, 1),
    ("i3db", "max", (16, 192, 16, 28, 28), 3, 1, 1),
    ("v2", "avg", (4, 32, 128, 128, 128), 2, 2, 0),
    ("v3", "avg", (4, 64, 64, 64, 64), 3, 1, 1),
    ("spp13", "max", (64, 512, 20, 20), 13, 1, 6),
    ("max3s1", "max", (64, 64, 56, 56), 3, 1, 1),
]
only = os.environ.get("ONLY")
if only:
    ROWS = [r for r in ROWS if r[0] in only.split(",")]


def variants(name, layout):
    T = gpu_tiles
    L = layout == "NHWC"
    if os.environ.get("VARIANTS") == "0":
        yield "default", {}
        return
    if name in ("incept", "v3") and L:
        for ln, st, rows, w in (
            (128, 8, 2, 1),
            (128, 8, 4, 1),
            (128, 32, 4, 1),
            (128, 16, 2, 1),
            (256, 8, 4, 1),
            (256, 16, 4, 1),
        ):
            yield f"{ln}/{st}/{rows}/{w}", {"SLIDE_INNER": {k: M(ln, st, w, rows) for k in (False, True)}}
    elif name in ("i3db", "max3s1"):
        for ln, w in ((256, 2), (512, 4), (512, 2), (1024, 4)) if L else ((128, 4), (128, 2)):
            for st in (8, 16):
                yield f"{ln}/{st}/{w}", {"ROUTE": {(b, a): M(ln, st, w) for a in (False, True) for b in (False, True)}}
    else:
        yield "default", {}


def setv(ch):
    old = []
    for m in (gpu_tiles, gpu_averages, gpu_maxima):
        for k, v in ch.items():
            if hasattr(m, k):
                old.append((m, k, getattr(m, k)))
                setattr(m, k, v)
    return old


bw = 0
if not compiling:
    a = torch.empty(1 << 30, dtype=torch.uint8, device="cuda").random_()
    b = torch.empty_like(a)
    bw = 2 * a.numel() / do_bench(lambda: b.copy_(a), return_mode="median") / 1e6
    del a, b
    print("copy GB/s", round(bw), torch.__version__, triton.__version__, flush=True)
jobs = [(r, dt, l) for r in ROWS for dt in ("float32", "bfloat16") for l in ("NHWC", "NCHW")]
if compiling:
    jobs = [(r, dt, l, v) for r, dt, l in jobs for v in variants(r[0], l)][shard::of]
for job in jobs:
    (name, fam, shape, k, s, p), dt, layout = job[:3]
    n, C, *sz = shape
    if compiling:
        n = 2 if layout == "NHWC" else 1
    T = getattr(torch, dt)
    axes = tuple(torch_axis(z, k, s, (p, p)) for z in sz)
    outer, inner = (n, C) if layout == "NHWC" else (n * C, 1)
    f = P.fold((outer, *sz, inner), 1, axes)
    N = len(sz)
    oshape = f.output_shape
    x = torch.randn((outer, *sz, inner), device="cuda", dtype=T)
    g = torch.randn(oshape, device="cuda", dtype=T)
    dx = torch.empty_like(x)
    y = torch.empty(oshape, device="cuda", dtype=T)
    if fam == "max":
        fw = P.with_offsets(P.make("maximum", "first_nan", dt, f), (k,) * N)
        bwp = P.with_offsets(P.make("route", "offset", dt, f), (k,) * N)
        ix = torch.empty(oshape, device="cuda", dtype=torch.uint8)
        fwd = lambda: gpu.run(fw, {"input": x}, y, ix)
        bwd = lambda: gpu.run(bwp, {"data": g, "index": ix}, dx, is_trusted=True)
    else:
        fw = P.make("mean", "none", dt, f)
        bwp = P.make("spread", "none", dt, f)
        fwd = lambda: gpu.run(fw, {"input": x}, y)
        bwd = lambda: gpu.run(bwp, {"data": g}, dx)
    es = x.element_size()
    byb = (x.numel() + y.numel()) * es + (y.numel() if fam == "max" else 0)
    if compiling:
        old = setv(job[3][1])
        try:
            fwd()
            bwd()
            torch.cuda.synchronize()
        except Exception as e:
            print("COMPILE", name, dt, layout, job[3][0], repr(e)[-700:], flush=True)
        for m, kk, v in old:
            setattr(m, kk, v)
        continue
    fwd()
    torch.cuda.synchronize()
    res = []
    for label, ch in variants(name, layout):
        old = setv(ch)
        try:
            tf = do_bench(fwd, warmup=3, rep=12, return_mode="median")
            tb = do_bench(bwd, warmup=3, rep=12, return_mode="median")
            res.append((tb, tf, label))
        except Exception as e:
            print(name, label, repr(e)[:200], flush=True)
        for m, kk, v in old:
            setattr(m, kk, v)
    lim = byb / bw / 1e6
    res.sort()
    bf = min(res, key=lambda r: r[1])
    eager = ""
    if os.environ.get("EAGER", "0") == "1":
        xt = x.reshape(n, *sz, C).movedim(-1, 1) if layout == "NHWC" else x.reshape(n, C, *sz)
        xt = xt.detach().requires_grad_()
        fn = getattr(F, f"{fam}_pool{N}d")
        yt = fn(xt, k, s, p) if fam == "max" else fn(xt, k, s, p, count_include_pad=False)
        gt = torch.randn_like(yt)
        te = do_bench(
            lambda: torch.autograd.grad(yt, xt, gt, retain_graph=True), warmup=3, rep=12, return_mode="median"
        )
        with torch.no_grad():
            tfe = do_bench(
                lambda: fn(xt, k, s, p) if fam == "avg" else fn(xt, k, s, p, return_indices=True),
                warmup=3,
                rep=12,
                return_mode="median",
            )
        eager = f"eager bwd {te:.3f} ({te / res[0][0]:.1f}x) fwd {tfe:.3f} ({tfe / bf[1]:.1f}x)"
    print(
        f"{name:7s} {dt:8s} {layout} limit {lim:.3f} bwd {res[0][0]:.3f} ({100 * lim / res[0][0]:.0f}%) {res[0][2]}  fwd {bf[1]:.3f} ({100 * lim / bf[1]:.0f}%) {bf[2]} | {eager} | {[(round(r[0], 3), r[2]) for r in res[1:4]]} worst {res[-1][0]:.3f} {res[-1][2]}",
        flush=True,
    )
    del x, g, dx, y
