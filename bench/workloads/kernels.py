"""What W1 and W2 have in common: one piece of code, measured for many shapes."""

import array
import contextlib
import pathlib
import sys

from bench.driver.environment import ROOT, Missing
from bench.driver.statistics import median, ratio
from bench.driver.turns import take_turns
from bench.driver.worker import Worker, WorkerError

OURS = "attn"
WORKERS = ROOT / "bench" / "workers"


class Candidate:
    """`checked`: whether its output must be ours. `takes` says whether it can do a
    shape."""

    def __init__(self, name, command, *, checked=True, takes=lambda shape: True):
        self.name, self.command, self.checked, self.takes = name, command, checked, takes


def peers(environment, candidates):
    """Those of them that are asked for and there, and notes about the others."""
    found, notes = [], []
    for candidate in candidates:
        if not environment.wants(candidate.name):
            continue
        try:
            candidate.command(1)
            found.append(candidate)
        except Missing as missing:
            notes.append((candidate.name, str(missing)))
    return found, notes


def halide(environment, *command):
    """The same worker with kernels that Halide makes."""
    if not (environment.build / "bin" / "attn-halide").exists():
        raise Missing("attn-halide is not built (libhalide14-0-dev)")
    return ["env", "ATTN_TEST_KERNELS=halide", *command]


def onednn(environment, name):
    """The command line of a worker that uses oneDNN."""
    environment.need("onednn-cpu-gomp", "onednn-devel-cpu-gomp")
    prefix = pathlib.Path(environment.python).parent.parent
    return [environment.program(
        name, [WORKERS / f"{name}.cpp"],
        [f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", "-ldnnl",
         f"-Wl,-rpath,{prefix / 'lib'}"])]


def read_numbers(path):
    numbers = array.array("f")
    numbers.frombytes(path.read_bytes())
    return numbers


def measure(environment, workload, candidates, shapes, threads, tolerance):
    """`shapes` are (setting, request); rows have times, and ratios against ours."""
    rows = []
    rounds, seconds = (3, 0.01) if environment.quick else (15, 0.02)

    def row(setting, name, **fields):
        rows.append({"workload": workload, "setting": setting, "threads": threads,
                     "candidate": name, **fields})

    with contextlib.ExitStack() as stack:
        workers = {}
        for candidate in candidates:
            log = environment.output / "logs" / f"{workload}-{candidate.name}-{threads}.log"
            try:
                workers[candidate] = stack.enter_context(Worker(
                    candidate.name, candidate.command(threads), threads, log,
                    environment.root))
            except WorkerError as error:
                row("", candidate.name, note=f"does not start: {error}")
        for setting, request in shapes:
            print(f"{workload} {setting}, {threads} threads", file=sys.stderr)
            ready, expected = [], None
            for candidate, worker in list(workers.items()):
                if not candidate.takes(request):
                    continue
                result = environment.output / "result"
                try:
                    worker.ask("prepare", result=str(result), **request)
                except WorkerError as error:
                    row(setting, candidate.name, note=str(error))
                    if worker.process.poll() is not None:
                        del workers[candidate]
                    continue
                if candidate.checked:
                    numbers = read_numbers(result)
                    if candidate.name == OURS:
                        expected = numbers
                    elif expected:
                        message = difference(expected, numbers, tolerance)
                        if message:
                            row(setting, candidate.name, note=message)
                            continue
                ready.append(worker)
            replies, failed = take_turns(ready, [("time", {"seconds": seconds})], rounds)
            for name, message in failed.items():
                row(setting, name, note=message)
            times = {name: [one["microseconds"] for one in answers]
                     for name, answers in replies.items()}
            for name, own in times.items():
                fields = {"microseconds": median(own)}
                if name != OURS and OURS in times:
                    fields["ratio"] = ratio(times[OURS], own)
                row(setting, name, **request, **fields)
    return rows


def difference(expected, numbers, tolerance):
    if len(expected) != len(numbers):
        return f"expected {len(expected)} numbers, but got {len(numbers)}"
    worst = max((abs(a - b) for a, b in zip(expected, numbers)), default=0)
    # Not <=, so that NaN is wrong.
    return None if worst < tolerance else f"outputs differ by {worst:.2g}"
