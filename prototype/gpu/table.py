from common import *
import triton, json, torch.nn.functional as F
from triton.testing import do_bench

exec(
    open(os.path.join(here, "bench.py"))
    .read()
    .split("only=os.environ")[0]
    .split("M=gpu_tiles.March")[1]
    .replace("ROWS", "ROWS"),
    globals(),
) if False else None
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
compiling = os.environ.get("COMPILE")
shard = int(os.environ.get("SHARD", "0"))
of = int(os.environ.get("OF", "1"))
jobs = [(r, dt, l) for r in ROWS for dt in ("float32", "bfloat16") for l in ("NHWC", "NCHW")]
if compiling:
    jobs = jobs[shard::of]
else:
    a = torch.empty(1 << 30, dtype=torch.uint8, device="cuda").random_()
    b = torch.empty_like(a)
    bw = 2 * a.numel() / do_bench(lambda: b.copy_(a), return_mode="median") / 1e6
    del a, b
    print("copy GB/s", round(bw), torch.__version__, triton.__version__, flush=True)
bench = lambda f: do_bench(f, warmup=3, rep=15, return_mode="median")
out = []
for (name, fam, shape, k, s, p), dt, layout in jobs:
    n, C, *sz = shape
    N = len(sz)
    T = getattr(torch, dt)
    axes = tuple(torch_axis(z, k, s, (p, p)) for z in sz)
    outer, inner = (n, C) if layout == "NHWC" else (n * C, 1)
    f = P.fold((outer, *sz, inner), 1, axes)
    x = torch.randn((outer, *sz, inner), device="cuda", dtype=T)
    y = torch.empty(f.output_shape, device="cuda", dtype=T)
    g = torch.randn_like(y)
    dx = torch.empty_like(x)
    if fam == "max":
        fw = P.with_offsets(P.make("maximum", "first_nan", dt, f), (k,) * N)
        bwp = P.with_offsets(P.make("route", "offset", dt, f), (k,) * N)
        ix = torch.empty(f.output_shape, device="cuda", dtype=torch.uint8)
        fwd = lambda: gpu.run(fw, {"input": x}, y, ix)
        bwd = lambda: gpu.run(bwp, {"data": g, "index": ix}, dx, is_trusted=True)
    else:
        fw = P.make("mean", "none", dt, f)
        bwp = P.make("spread", "none", dt, f)
        fwd = lambda: gpu.run(fw, {"input": x}, y)
        bwd = lambda: gpu.run(bwp, {"data": g}, dx)
    xt = (x.reshape(n, *sz, C).movedim(-1, 1) if layout == "NHWC" else x.reshape(n, C, *sz)).detach().requires_grad_()
    fn = getattr(F, f"{fam}_pool{N}d")
    eager = (lambda v: fn(v, k, s, p)) if fam == "max" else (lambda v: fn(v, k, s, p, count_include_pad=False))
    torch._dynamo.reset()
    comp = torch.compile(eager)
    try:
        yc = comp(xt)
        gt = torch.randn_like(yc)
        torch.autograd.grad(yc, xt, gt, retain_graph=True)
        torch.cuda.synchronize()
    except Exception as e:
        print("compile failed", name, dt, layout, repr(e)[-200:])
        yc = None
    fwd()
    bwd()
    torch.cuda.synchronize()
    if compiling:
        del x, y, g, dx, xt, yc
        torch.cuda.empty_cache()
        continue
    ye = eager(xt)
    gt = torch.randn_like(ye)
    t = dict(
        name=name,
        dtype=dt,
        layout=layout,
        limit=((x.numel() + y.numel()) * x.element_size() + (y.numel() if fam == "max" else 0)) / bw / 1e6,
    )
    t["ours"] = bench(bwd)
    t["both"] = bench(lambda: (fwd(), bwd()))
    t["eager"] = bench(lambda: torch.autograd.grad(ye, xt, gt, retain_graph=True))
    t["eager_both"] = bench(lambda: torch.autograd.grad(eager(xt), xt, gt))
    if yc is not None:
        t["compile"] = bench(lambda: torch.autograd.grad(yc, xt, gt, retain_graph=True))
        t["compile_both"] = bench(lambda: torch.autograd.grad(comp(xt), xt, gt))
    out.append(t)
    best = min(t["eager"], t.get("compile", 1e9))
    bb = min(t["eager_both"], t.get("compile_both", 1e9))
    print(
        f"{name:7s}{dt:9s}{layout} limit {t['limit']:.3f} bwd {t['ours']:.3f} {100 * t['limit'] / t['ours']:3.0f}% eager {t['eager']:.3f} compile {t.get('compile', 0):.3f} {best / t['ours']:.1f}x | both {t['both']:.3f} eager {t['eager_both']:.3f} compile {t.get('compile_both', 0):.3f} {bb / t['both']:.1f}x",
        flush=True,
    )
    del x, y, g, dx, xt, ye, yc, gt
    torch.cuda.empty_cache()
if out:
    gm = lambda v: math.exp(sum(map(math.log, v)) / len(v))
    print(
        "geomean bwd",
        gm([min(t["eager"], t.get("compile", 1e9)) / t["ours"] for t in out]),
        "both",
        gm([min(t["eager_both"], t.get("compile_both", 1e9)) / t["both"] for t in out]),
    )
    json.dump(out, open(os.environ["OUT"] + "/table.json", "w"))
