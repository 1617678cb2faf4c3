"""Workers stay between calls; forks, interrupts, other counts of threads and the end of the process do not mind."""

from __future__ import annotations

import sys
import time

import pytest

from .scripts import USE_ALL, script

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

# A thread takes its name when it first runs, which may be after the call that started it.
WORKERS = """
import pathlib, time
def name(task):
    try:
        return (task / 'comm').read_text().strip()
    except OSError:
        return 'ended'
def workers(expected):
    end = time.perf_counter() + 20
    count = -1
    while count != expected and time.perf_counter() < end:
        time.sleep(0.01)
        count = [name(task) for task in pathlib.Path('/proc/self/task').iterdir()].count('poolgrad')
    return count
"""
LARGE = "poolgrad.max_pool(x, 3, 2, 'same')"


@linux
def test_workers_are_started_once() -> None:
    code = "import numpy as np\nx = np.ones((1, 520, 520, 1), np.float32)\ncounts = []\n"
    code += "for threads, expected in ((1, 0), (4, 3), (2, 3), (6, 5), (1, 5), (6, 5)):\n"
    code += f"    poolgrad.set_num_threads(threads)\n    for call in range(50):\n        {LARGE}\n"
    code += "    counts.append(workers(expected))\nprint(counts)"
    assert script(WORKERS + code) == "[0, 3, 3, 5, 5, 5]"


@linux
def test_workers_end_after_a_while() -> None:
    code = f"print(workers(7), workers(0), {LARGE}.tobytes() == wanted)"
    assert script(WORKERS + USE_ALL + code) == "7 0 True"


ENDS = {
    "right-after-a-call": f"{LARGE}",
    "idle": "import time; time.sleep(0.2)",
    "sys-exit": "import sys; sys.exit(0)",
    "with-a-call-at-exit": f"import atexit; atexit.register(lambda: {LARGE})",
}


@pytest.mark.parametrize("how", [pytest.param(how, id=how) for how in ENDS])
def test_process_ends(how: str) -> None:
    start = time.perf_counter()
    for _ in range(3):
        assert script(f"{USE_ALL}print('done')\n{ENDS[how]}") == "done"
    assert time.perf_counter() - start < 30


POOL_WITHIN_THREADS = """
import multiprocessing, threading, warnings
warnings.simplefilter('ignore', DeprecationWarning)
def same_in_child(number):
    poolgrad.set_num_threads(1 + number)
    return poolgrad.max_pool(x, 3, 2, 'same').tobytes() == wanted
stop = threading.Event()
right = []
def busy():
    while not stop.is_set():
        right.append(poolgrad.max_pool(x, 3, 2, 'same').tobytes() == wanted)
helpers = [threading.Thread(target=busy) for _ in range(3)]
for helper in helpers:
    helper.start()
for trial in range(3):
    with multiprocessing.get_context('fork').Pool(2) as pool:
        right += pool.map_async(same_in_child, range(4)).get(60)
stop.set()
for helper in helpers:
    helper.join()
print(all(right))
"""


@linux
def test_forked_pool_beside_calls() -> None:
    assert script(USE_ALL + POOL_WITHIN_THREADS, timeout=200) == "True"


@linux
def test_grandchild() -> None:
    code = f"""
import os, signal
readable, writable = os.pipe()
child = os.fork()
if child == 0:
    signal.alarm(60)
    same = {LARGE}.tobytes() == wanted
    if os.fork() == 0:
        signal.alarm(60)
        same = same and {LARGE}.tobytes() == wanted
        os.write(writable, str((same, workers(7))).encode())
        os._exit(0)
    os.wait()
    os._exit(0)
os.waitpid(child, 0)
print(os.read(readable, 20).decode(), {LARGE}.tobytes() == wanted)
"""
    assert script(WORKERS + USE_ALL + code) == "(True, 7) True"


# A handler that forks: the child comes back into a call whose workers it does not have.
FORK_IN_HANDLER = """
import os, signal, threading, time
import numpy as np
x = (np.arange(64**3) % 1009).reshape(1, 64, 64, 64, 1).astype(np.float32)
poolgrad.set_num_threads(2)
wanted = poolgrad.avg_pool(x, 9, 1, 'same').tobytes()
children = []
def handler(number, frame):
    children.append(os.fork())
    signal.alarm(0 if children[0] else 100)
signal.signal(signal.SIGUSR1, handler)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
found = poolgrad.avg_pool(x, 9, 1, 'same').tobytes()
while not children:
    found = poolgrad.avg_pool(x, 9, 1, 'same').tobytes()
if children == [0]:
    os._exit(0 if found == wanted else 1)
print(found == wanted, os.waitpid(children[0], 0)[1])
"""


@linux
def test_fork_in_a_signal_handler() -> None:
    quiet = "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n"
    assert script(quiet + FORK_IN_HANDLER, timeout=200) == "True 0"


# Signals come while workers compute and while they idle: Python's handlers run on the main thread.
HANDLERS = """
import os, signal, threading, time
seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(threading.current_thread() is threading.main_thread()))
for turn in range(20):
    os.kill(os.getpid(), signal.SIGUSR1)
    poolgrad.max_pool(x, 3, 2, 'same')
print(len(seen), all(seen))
"""


@linux
def test_signals_with_workers() -> None:
    assert script(USE_ALL + HANDLERS) == "20 True"


INTERRUPT_AGAIN = """
import signal
import numpy as np
large = (np.arange(192**3) % 1009).reshape(1, 192, 192, 192, 1).astype(np.float32)
interrupts = 0
for turn in range(3):
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        poolgrad.max_pool_grad(large, large, 19, 1, 'same')
    except KeyboardInterrupt:
        interrupts += 1
    assert poolgrad.max_pool(x, 3, 2, 'same').tobytes() == wanted
print(interrupts)
"""


@linux
def test_interrupts_again_and_again() -> None:
    handler = "import signal\nsignal.signal(signal.SIGALRM, signal.default_int_handler)\n"
    assert script(USE_ALL + handler + INTERRUPT_AGAIN) == "3"
