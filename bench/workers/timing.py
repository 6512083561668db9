"""The commands `prepare` and `time` of workers that measure one piece of code."""

import statistics
import time

import numpy as np


def median_time(run, seconds):
    """The median time of a run in microseconds. Short runs are timed in groups, so
    that reading the clock does not count."""
    start = time.perf_counter()
    run()
    once = time.perf_counter() - start
    group = max(1, int(20e-6 / max(once, 1e-7)))
    times = []
    while len(times) < 3 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        for _ in range(group):
            run()
        times.append((time.perf_counter() - before) / group)
    return 1e6 * statistics.median(times)


def kernel_commands(make):
    """`make(**request)` answers with a function that computes, and returns an
    array."""
    state = {}

    def prepare(result, **request):
        # What was prepared before makes room first.
        state.clear()
        state["run"] = make(**request)
        np.asarray(state["run"](), dtype=np.float32).tofile(result)
        return {}

    return {"prepare": prepare,
            "time": lambda seconds: {"microseconds": median_time(state["run"], seconds)}}
