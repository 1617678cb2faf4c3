"""The benchmark suite without its peers: what it counts, compares, keeps and draws."""

from __future__ import annotations

import ctypes
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks import (
    arithmetic,
    check,
    cli,
    cost,
    instructions,
    ours,
    picture,
    results,
    runs,
    small,
    table,
    worker,
    workloads,
)
from benchmarks.bandwidth import Probe, ProbeError, survey
from benchmarks.peers import PEERS
from benchmarks.peers.torch_peers import torch_padding
from benchmarks.problems import Problem, Workload, make_arrays
from benchmarks.results import OURS, Result, Run
from benchmarks.timing import Measurement, Patience, measure

MAX = Workload("m", "max", (2, 6, 6, 3), (2, 2), (2, 2))
AVG = Workload("a", "avg", (2, 5, 5, 4), (3, 3), (1, 1), "SAME")
WIDE = Workload("w", "max", (1, 30, 30, 1), (17, 17), (17, 17))
SMALL = [AVG, MAX, Workload("v", "max", (1, 4, 5, 6, 2), (3, 3, 3), (2, 2, 2), "SAME")]
SMALL += [Workload(f"f{pooling}", pooling, (1, 8, 9, 2), ratio=1.44) for pooling in ("avg", "max")]

INPUTS, OUTPUTS = 2 * 6 * 6 * 3, 2 * 3 * 3 * 3


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (Problem(MAX), 4 * (INPUTS + OUTPUTS)),
        (Problem(MAX, dtype="uint8"), INPUTS + OUTPUTS),
        (Problem(MAX, dtype="bfloat16", layout="channels_first"), 2 * (INPUTS + OUTPUTS)),
        (Problem(MAX, direction="gradient", kind="input"), 4 * (2 * INPUTS + OUTPUTS)),
        (Problem(MAX, direction="gradient", kind="offsets"), 4 * (INPUTS + OUTPUTS) + OUTPUTS),
        (Problem(MAX, direction="second", kind="input"), 4 * (2 * INPUTS + OUTPUTS)),
        (Problem(AVG, direction="gradient"), 4 * (2 * 2 * 5 * 5 * 4)),
        (Problem(WIDE, direction="gradient", kind="offsets"), 4 * (30 * 30 + 1) + 2),
    ],
    ids=lambda value: value.name if isinstance(value, Problem) else "",
)
def test_fewest_bytes(problem: Problem, expected: int) -> None:
    assert problem.fewest_bytes() == expected


def measured(name: str, ours_time: float, **peers: float) -> Result:
    parts = name.split("/")
    times = {who: Measurement(seconds, seconds, 5) for who, seconds in {OURS: ours_time, **peers}.items()}
    direction, _, kind = parts[3].partition("-")
    found = Result(name, parts[0], "max", parts[1], parts[2], direction, kind, parts[4], 1, False, 1000, times)
    found.bandwidths = {"copy": 500.0, "streaming copy": 1000.0}
    return found


ROWS = [
    measured("a/float32/NHWC/gradient-input/fresh", 2.0, tf=8.0, jax=16.0),
    measured("b/float32/NHWC/gradient-input/fresh", 4.0, tf=4.0),
    measured("c/float32/NHWC/forward/reused", 2.0, torch=1.0),
    measured("c/float16/NHWC/forward/reused", 1.0),
]


def test_means_are_geometric_and_over_rows_with_a_peer() -> None:
    assert results.geometric_mean([2, 8]) == pytest.approx(4)
    assert results.geometric_mean([]) is None
    found = results.means(ROWS)
    assert found["gradients, fresh"] == (pytest.approx(2), 2)
    assert found["forwards, reused"] == (pytest.approx(0.5), 1)


def test_arithmetic_bounds_a_share(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(arithmetic, "Probe", lambda: Probe(1 << 22))
    monkeypatch.setattr(arithmetic, "_nanoseconds", lambda kernel: 1e6 * kernel.count)
    assert cli.main(["--seconds", "0.01", "arithmetic"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(arithmetic.KERNELS)
    assert all(line.endswith(" 0%") for line in lines[1:])


def test_arithmetic_is_measured() -> None:
    try:
        found = arithmetic._nanoseconds(arithmetic.KERNELS[0])
    except ProbeError as error:
        pytest.skip(str(error))
    assert 0 < found < 1e6


def test_limit_is_of_the_faster_copy() -> None:
    assert ROWS[0].limit == 1.0
    assert (ROWS[0].share(), ROWS[0].share("tf"), ROWS[0].share("xla")) == (0.5, 0.125, None)
    assert (ROWS[0].best_peer(), ROWS[0].factor()) == ("tf", 4.0)
    assert replace(ROWS[0], tiny=True).limit is None


def test_time_for_a_byte_beside_float32() -> None:
    half = replace(ROWS[3], fewest_bytes=500)
    assert results.per_byte([*ROWS[:3], half]) == {(half.name, 1): pytest.approx(1.0)}


def test_table_and_summary_name_what_matters() -> None:
    run = Run(
        {"processor": "P", "cores": 2, "system": "S", "date": "D", "versions": {"x": "1"}, "bandwidths": {}}, ROWS
    )
    assert table.line(ROWS[0], ["tf", "jax"]).split()[1:] == ["1", "2000", "50", "8000", "1.6e+04", "tf", "4.00"]
    text = table.summary(run, [40])
    assert "not the fastest: 1\n  c/float32/NHWC/forward/reused, 1 threads: 0.50 of torch" in text
    assert "rows below 40 % of the limit: 1\n  b/" in text
    failed = replace(ROWS[0], error="differs")
    assert "FAILED: differs" in table.line(failed, [])
    assert "rows that failed: 1" in table.summary(Run(run.machine, [failed]))


def test_small_calls_are_shown_beside_pytorch() -> None:
    rows = small.rows([])
    assert len({row.name for row in rows}) == len(rows)
    assert {row.kind for row in small.rows(["max_pool2d 2/NHWC"])} == set(small.KINDS)
    times = {OURS: Measurement(6e-6, 5e-6, 9), small.PEER: Measurement(1.5e-6, 1e-6, 9)}
    found = {"forward": times, "saving": {OURS: times[OURS]}}
    assert small.line(rows[0].call, "NHWC", found) == "| avg_pool1d 2 | NHWC | 6.0 | 1.5 | 4.00 | 6.0 | - | - |"
    assert small.header(list(found)).count("|") == 2 * small.line(rows[0].call, "NHWC", found).count("|")
    text = small.summary({"a": 4.0, "b": 1.0})
    assert "geometric mean 2.00, most 4.00" in text
    assert "1 of 2 rows\n  a: 4.00" in text


def test_json_round_trip(tmp_path: Path) -> None:
    run = Run({"processor": "P"}, ROWS)
    results.write(run, tmp_path / "run.json")
    assert results.read(tmp_path / "run.json") == run


def test_picture_from_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, target = tmp_path / "run.json", tmp_path / "speed.png"
    results.write(Run({}, ROWS), kept)
    assert cli.main(["picture", str(kept), str(target)]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert "4 rows drawn" in capsys.readouterr().out
    assert cli.main(["picture", str(kept), str(target), "--filter", "gradient", "--threads", "1"]) == 0
    assert "2 rows drawn" in capsys.readouterr().out
    assert cli.main(["picture", str(kept), str(target), "--threads", "2"]) == 1
    assert picture.draw(Run({}, []), target) == 0


def test_names_are_unique_and_filters_choose() -> None:
    rows = workloads.all_rows()
    assert len({row.name for row in rows}) == len(rows)
    assert {row.workload.name for row in workloads.select(rows, ["spp_max*"])} == {"spp_max5", "spp_max9", "spp_max13"}
    chosen = workloads.select(rows, ["stem", "vgg"], ["float32"], ["channels_first"], ["gradient"], ["reused"])
    assert [row.name for row in chosen] == [
        f"{name}/float32/NCHW/gradient-{kind}/reused"
        for name in ("resnet50_stem_max", "vgg16_block1_max")
        for kind in ("input", "offsets")
    ]


def test_list_prints_names_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--list", "--filter", "tiny_avg", "--results", "fresh"]) == 0
    assert capsys.readouterr().out.split() == [
        "tiny_avg/float32/NHWC/forward/fresh",
        "tiny_avg/float32/NHWC/gradient/fresh",
    ]
    assert cli.main(["--filter", "nothing like it"]) == 2


def directions(workload: Workload) -> list[tuple[str, str]]:
    if workload.pooling == "avg":
        return [("forward", ""), ("gradient", ""), *([("second", "")] * (not workload.ratio))]
    kinds = [("forward", ""), ("gradient", "input")]
    return kinds if workload.ratio else [*kinds, ("gradient", "offsets"), ("second", "input"), ("second", "offsets")]


CASES = [
    Problem(workload, dtype, layout, direction, kind, kept)
    for workload in SMALL
    for direction, kind in directions(workload)
    for kept in ("fresh", "reused")
    for dtype in ("float32", "bfloat16")
    for layout in workloads.BOTH
    if not (workload.ratio and layout == "channels_first")
]


@pytest.mark.parametrize("problem", CASES, ids=lambda problem: problem.name)
def test_rows_agree_with_the_reference(problem: Problem) -> None:
    check.check_against_reference(problem)


@pytest.mark.parametrize("problem", [Problem(AVG), Problem(MAX)], ids=lambda problem: problem.name)
def test_a_wrong_result_is_found(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = ours.prepare

    def wrong(given: Problem, arrays: object) -> object:
        runner = prepare(given, arrays)
        return replace(runner, to_numpy=lambda result: runner.to_numpy(result) * 1.000001)

    monkeypatch.setattr(ours, "prepare", wrong)
    with pytest.raises(check.WrongResultError, match="differs from the reference"):
        check.check_against_reference(problem)


def test_peers_results_are_compared() -> None:
    problem = Problem(AVG)
    x = check.sample(make_arrays(problem).x)
    assert check.peer_note(problem, x, x.copy()) == ""
    assert "differ" in check.peer_note(problem, x, x + 1)


def test_a_row_is_measured_without_peers_and_probe() -> None:
    task = worker.Task([], 1, [], 2, 0.0)
    found = worker.measure_row(Problem(MAX, direction="gradient", kind="offsets"), task, [], None)
    assert list(found.times) == [OURS]
    assert found.times[OURS].repeats == 2
    assert found.times[OURS].minimum <= found.times[OURS].median


def test_rounds_are_interleaved_and_slow_ones_are_repeated_less() -> None:
    order: list[str] = []
    measure({name: lambda name=name: order.append(name) for name in "ab"}, Patience(2, 0.0))
    assert order == ["a", "b", "a", "b"]
    assert Patience(5, 1.5).satisfied([2.0, 2.0])
    assert not Patience(5, 1.5).satisfied([0.1] * 5)


def test_torch_gets_the_same_windows() -> None:
    work = Workload("w", "max", (1, 112, 7, 1), (3, 3), (2, 2), "SAME")
    assert torch_padding(Problem(replace(work, shape=(1, 112, 112, 1)))) == ([0, 0], True)
    assert torch_padding(Problem(AVG)) == ([1, 1], False)
    assert torch_padding(Problem(replace(work, window=(2, 2), stride=(1, 1)))) is None


def test_missing_peers_are_named_with_what_brings_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "missing", lambda peer: peer.name == "jax")
    assert cli._present(["tf", "jax"]) == ["tf"]
    assert capsys.readouterr().err == "jax is missing: pip install 'jax'\n"
    assert list(PEERS) == ["tf", "xla", "torch", "torch_cl", "inductor", "jax"]


def test_a_row_that_kills_its_worker_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [row.name for row in workloads.all_rows()[:3]]

    def messages(task: worker.Task) -> Iterator[dict[str, object]]:
        for name in task.rows:
            yield {"start": name}
            if name == names[1]:
                raise runs.WorkerError("status -11")
            yield {"row": asdict(measured(name, 1.0))}

    monkeypatch.setattr(runs, "_messages", messages)
    run = Run({})
    runs.execute([worker.Task(names, 1)], run, lambda row: None)
    assert [(row.name, row.error) for row in run.rows] == [(names[0], ""), (names[1], "status -11"), (names[2], "")]


def test_an_interrupted_run_keeps_what_it_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = workloads.all_rows()[0].name

    def messages(task: worker.Task) -> Iterator[dict[str, object]]:
        yield {"start": name}
        yield {"row": asdict(measured(name, 1.0))}
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "_messages", messages)
    run = Run({})
    runs.execute([worker.Task([name, name], 1)], run, lambda row: None)
    assert [row.name for row in run.rows] == [name]
    assert capsys.readouterr().err == f"[1 of 2] 1 threads: {name}\ninterrupted: this is what there is\n"


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("c++"), reason="the probe needs a POSIX C++ compiler")
def test_the_probe_copies() -> None:
    probe = Probe(2**20)
    ctypes.memset(probe.target, 0, 2**20)
    found = survey(probe, [1, 3], Patience(1, 0.0))
    assert {kind for rates in found.values() for kind in rates} == {"read", "copy", "streaming copy"}
    assert all(rate > 0 for rates in found.values() for rate in rates.values())
    assert probe.bytes_moved("copy", 3) == 2 * 3 * (2**20 // 3 // 64 * 64)
    size = 3 * (2**20 // 3 // 64 * 64)
    assert ctypes.string_at(probe.target, size) == ctypes.string_at(probe.source, size)
    probe.close()


def test_instructions_are_differences_between_n_and_2n_calls() -> None:
    count = len(instructions.PROBLEMS)
    parts = [part for problem in instructions.PROBLEMS for part in (7, 100, 100 + 50 * instructions.repeats(problem))]
    assert list(instructions.differences([*parts, 9]).values()) == [50] * count
    with pytest.raises(SystemExit, match="instead of"):
        instructions.differences(parts[1:])


@pytest.mark.parametrize(
    ("found", "worse", "better"),
    [({"a": 104}, False, False), ({"a": 106}, True, False), ({"a": 94}, False, True), ({"b": 100}, True, False)],
)
def test_instructions_may_not_grow(found: dict[str, int], worse: bool, better: bool) -> None:
    comparison = instructions.compare({"a": 100}, found)
    assert (comparison.worse, comparison.better) == (worse, better)


def test_every_problem_counted_is_recorded_once() -> None:
    names = [problem.name for problem in instructions.PROBLEMS]
    assert len(set(names)) == len(names)
    assert list(json.loads(instructions.RECORD.read_text())["counts"]) == names


def test_cost_is_measured_printed_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = list(cost.steps([1], 2**20, (2,)))
    monkeypatch.setattr(cost, "steps", lambda threads, largest: planned)
    kept, drawn = tmp_path / "cost.json", tmp_path / "cost.png"
    given = [
        "cost",
        "--most-threads",
        "1",
        "--repeats",
        "1",
        "--seconds",
        "0",
        "--json",
        str(kept),
        "--picture",
        str(drawn),
    ]
    assert cli.main(given) == 0
    points = json.loads(kept.read_text())["points"]
    assert {point["varied"] for point in points} == {"megabytes", "window", "threads"}
    assert all(point["nanoseconds"] > 0 for point in points)
    assert drawn.read_bytes().startswith(b"\x89PNG")
