from common import *

shard, of = int(sys.argv[1]), int(sys.argv[2])
most = int(sys.argv[3])


def bits(t):
    return t.contiguous().view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[t.dtype.itemsize])


def same(a, b):
    if not a.dtype.is_floating_point:
        return torch.equal(bits(a), bits(b))
    na, nb = torch.isnan(a), torch.isnan(b)
    return torch.equal(na, nb) and torch.equal(bits(a)[~na], bits(b)[~nb])


cases = torch.load(os.path.join(here, "cases.pt"), weights_only=False)[:most][shard::of]
ok = 0
for s, p, arrays, o, oi, bad in cases:
    p["axes"] = tuple(Axis(**a) for a in p["axes"])
    plan = P.Plan(**p)
    o2 = torch.full(o.shape, 5.0, dtype=o.dtype, device="cuda")
    i2 = None if oi is None else torch.zeros_like(oi, device="cuda")
    try:
        b = gpu.run(plan, {k: v.cuda() for k, v in arrays.items()}, o2, i2)
    except Exception as e:
        print("EXC", s, plan.family, plan.selector, plan.dtype, repr(e)[-500:], flush=True)
        continue
    if b != bad:
        print("BAD", s, b, bad)
        continue
    if bad is None and not same(o, o2.cpu()):
        d = (bits(o) != bits(o2.cpu())).nonzero()[:3].tolist()
        print("VALUES", s, plan, [(o[tuple(k)].item(), o2.cpu()[tuple(k)].item()) for k in d], flush=True)
        continue
    if bad is None and oi is not None and not same(oi, i2.cpu()):
        print("INDEX", s, plan, flush=True)
        continue
    ok += 1
print("shard", shard, "ok", ok, "of", len(cases), flush=True)
