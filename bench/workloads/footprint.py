"""W7: what a model takes before it has said anything, and at most."""

import os
import subprocess
import time

from bench.driver.environment import Missing
from bench.driver.statistics import median
from bench.driver.worker import Worker, WorkerError
from bench.workloads import rnn, transformer

RNN_LENGTHS = {"max_length_factor": 2, "max_length_offset": 12}
FIXED = {"max_length_factor": 0, "max_length_offset": 24, "min_length": 24, "stop": "count"}
# Name, how it is made, its candidates, how its sentences are decoded.
MODELS = [
    ("m30k", rnn.m30k, rnn.candidates, RNN_LENGTHS),
    ("g2p", rnn.g2p, rnn.candidates, RNN_LENGTHS),
    ("aren", transformer.aren, transformer.candidates,
     {"max_length_factor": 0, "max_length_offset": 256, "min_length": 1, "stop": "count"}),
    ("base", transformer.base, transformer.candidates, FIXED),
]
# What a peer consists of, beside the weights.
PACKAGES = {"torch": ["torch"], "torch-compile": ["torch"], "onnxruntime": ["onnxruntime"],
            "ctranslate2": ["ctranslate2", "ctranslate2.libs"],
            "ctranslate2-int8": ["ctranslate2", "ctranslate2.libs"]}


def folder_mib(folder):
    return sum(file.stat().st_size for file in folder.rglob("*")
               if file.is_file() and not file.is_symlink()) / 2**20


def compile_cost(environment, model):
    """Seconds, and the peak of memory in MiB, of attnc."""
    library = environment.output / "models" / "compiled-again.so"
    start = time.perf_counter()
    process = subprocess.Popen([environment.attnc, *model.arguments(), "-o", library])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    library.unlink(missing_ok=True)
    library.with_name("compiled-again.h").unlink(missing_ok=True)
    return seconds, usage.ru_maxrss / 1024


def first_token(environment, candidate, lengths, workload, name):
    """Seconds from the start of a process until it is ready, and until it has the first
    token; then the peak of its memory over a batch of beam 5."""
    log = environment.output / "logs" / f"{workload}-{name}-{candidate.name}.log"
    command = candidate.command(1)  # May compile a worker, which does not count.
    start = time.perf_counter()
    with Worker(candidate.name, command, 1, log, environment.root) as worker:
        ready = time.perf_counter() - start
        one = {**lengths, "max_length_factor": 0, "max_length_offset": 1}
        if "min_length" in one:
            one["min_length"] = 1
        worker.ask("decode", first=0, count=1, beam=1, batch=1, alpha=1.0, want_results=False,
                   **one)
        token = time.perf_counter() - start
        reply = worker.ask("decode", first=0, count=16, beam=5, batch=16, alpha=1.0,
                           want_results=False, **lengths)
        return ready, token, reply["peak_mib"]


def run(environment, workload, threads):
    if threads != 1:
        return []
    rows = []
    rounds = 1 if environment.quick else 5
    for name, make, candidates, lengths in MODELS:
        try:
            model, _ = make(environment)
        except Missing as missing:
            rows.append({"workload": workload, "setting": name, "threads": threads,
                         "candidate": "", "note": str(missing)})
            continue
        found, notes = candidates(environment, model)
        rows += [{"workload": workload, "setting": name, "threads": threads,
                  "candidate": peer, "note": note} for peer, note in notes]
        ours = {}
        for candidate in found:
            row = {"workload": workload, "setting": name, "threads": threads,
                   "candidate": candidate.name}
            rows.append(row)
            try:
                runs = [first_token(environment, candidate, lengths, workload, name)
                        for _ in range(rounds)]
            except WorkerError as error:
                row["note"] = str(error)
                continue
            row["ready_ms"] = 1e3 * median([one[0] for one in runs])
            row["first_token_ms"] = 1e3 * median([one[1] for one in runs])
            row["peak_mib"] = median([one[2] for one in runs])
            if candidate.name == "attn":
                row["compile_s"], row["compile_mib"] = compile_cost(environment, model)
            if candidate.library:
                ours[candidate.name.removeprefix("attn")] = row
                row["size_mib"] = candidate.library.stat().st_size / 2**20
            else:
                row["size_mib"] = model.weights.stat().st_size / 2**20 + sum(
                    folder_mib(environment.packages / package)
                    for package in PACKAGES[candidate.name])
                # Like with like, where the compiler can do int8.
                precision = "-int8" if candidate.name.endswith("-int8") else ""
                own = ours.get(precision) or ours.get("")
                if own:
                    row["our_peak"] = own["peak_mib"] / row["peak_mib"]
    return rows
