from common import *


def bits(t):
    return t.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[t.dtype.itemsize])


for inner in (1, 64):
    outer, h, w = (36, 8192, 8192) if inner == 1 else (36, 1024, 1024)
    n = outer * h * w * inner
    print("elements", n, n > 2**31)
    ax = (torch_axis(h, 3, 2, (1, 1)), torch_axis(w, 3, 2, (1, 1)))
    for s in (2, 1):
        ax = (torch_axis(h, 3, s, (1, 1)), torch_axis(w, 3, s, (1, 1)))
        x = torch.randn(outer, h, w, inner, device="cuda", dtype=torch.bfloat16)

        def run(x, outer):
            f = P.fold((outer, h, w, inner), 1, ax)
            d = "bfloat16"
            y = torch.empty(f.output_shape, device="cuda", dtype=torch.bfloat16)
            ix = torch.empty(f.output_shape, device="cuda", dtype=torch.uint8)
            gpu.run(P.with_offsets(P.make("maximum", "first_nan", d, f), (3, 3)), {"input": x}, y, ix)
            dx = torch.empty_like(x)
            gpu.run(
                P.with_offsets(P.make("route", "offset", d, f), (3, 3)), {"data": y, "index": ix}, dx, is_trusted=True
            )
            a = torch.empty_like(y)
            gpu.run(P.make("mean", "none", d, f), {"input": x}, a)
            da = torch.empty_like(x)
            gpu.run(P.make("spread", "none", d, f), {"data": a}, da)
            return y, ix, dx, a, da

        whole = run(x, outer)
        ok = True
        for k in (0, 17, 35):
            part = run(x[k : k + 1].contiguous(), 1)
            for a, b in zip(whole, part):
                ok &= torch.equal(bits(a[k]), bits(b[0]))
        print(
            "inner",
            inner,
            "stride",
            s,
            "slices of a tensor above 2^31 elements have the bits of slices alone:",
            ok,
            flush=True,
        )
        del whole, part, x
        torch.cuda.empty_cache()
