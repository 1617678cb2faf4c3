import gpufuzz, torch, pickle, sys, random
from poolgrad.kernels import gpu

cases = []
cur = {}
real = gpufuzz.run_cpu


def fake_gpu(plan, arrays, out, oi=None, **k):
    cur["plan"] = plan
    cur["arrays"] = arrays
    cur["oi"] = oi is not None
    return -77


gpufuzz.gpu = type("G", (), {"run": staticmethod(fake_gpu)})
total = 0
for s in range(int(sys.argv[1]), int(sys.argv[2])):
    cur.clear()
    try:
        gpufuzz.one(s)
    except Exception:
        continue
    if not cur:
        continue
    plan, arrays = cur["plan"], cur["arrays"]
    o = torch.full(plan.result_shape, 7.0, dtype=gpufuzz.DT[plan.dtype])
    oi = torch.zeros(plan.output_shape, dtype=gpufuzz.IX[plan.index_dtype]) if cur["oi"] else None
    bad = real(plan, arrays, o, oi)
    size = sum(a.numel() * a.dtype.itemsize for a in arrays.values())
    if size > 200000:
        continue
    total += size
    import dataclasses

    cases.append((s, dataclasses.asdict(plan), arrays, o, oi, bad))
torch.save(cases, sys.argv[3])
print(len(cases), total / 1e6)
