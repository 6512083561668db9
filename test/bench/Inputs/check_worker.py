"""Asks a worker of bench/run for small pieces of work, and holds what it writes
against the same in double precision.

    check_worker.py products FOLDER PROGRAM
    check_worker.py read FOLDER PROGRAM CANDIDATE

FOLDER is where the worker's answers go, PYTHONPATH has the root of the project.
"""

import math
import pathlib
import struct
import sys

from bench.driver.worker import Worker
from bench.workloads.kernels import difference, read_numbers


def fill(count, seed):
    """What worker.h and inputs.py make."""
    numbers = []
    for i in range(count):
        bits = (i + seed * 0x9E3779B9) * 0x85EBCA6B & 0xFFFFFFFF
        bits = (bits ^ bits >> 15) * 0xC2B2AE35 & 0xFFFFFFFF
        bits ^= bits >> 13
        numbers.append(((bits >> 8) - (1 << 23)) / (1 << 23))
    return numbers


def rows_of(numbers, width):
    return [numbers[i:i + width] for i in range(0, len(numbers), width)]


def dot(x, y):
    return math.fsum(a * b for a, b in zip(x, y))


def products(rows, inputs, outputs):
    weights = rows_of(fill(outputs * inputs, 2), inputs)
    return [dot(x, w) for x in rows_of(fill(rows * inputs, 1), inputs) for w in weights]


def read(sentences, positions, features, heads, queries):
    rows, width = sentences * queries, features // heads
    size = sentences * positions * features
    # A row has its heads one after the other.
    q = rows_of(fill(rows * features, 1), width)
    k, v = rows_of(fill(size, 2), width), rows_of(fill(size, 3), width)
    tenth, = struct.unpack("f", struct.pack("f", 0.1))
    a = [x * tenth for x in fill(features, 4)]

    def score(query, key):
        if heads > 1:
            return dot(query, key) / math.sqrt(width)
        return dot(a, [math.tanh(x + y) for x, y in zip(query, key)])

    contexts = []
    for row in range(rows):
        sentence = row * sentences // rows
        for head in range(heads):
            places = [(sentence * positions + position) * heads + head
                      for position in range(positions)]
            weights = [math.exp(score(q[row * heads + head], k[place])) for place in places]
            total = math.fsum(weights)
            contexts += [dot(weights, [v[place][i] for place in places]) / total
                         for i in range(width)]
    return contexts


def main():
    kind, folder, *command = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "products":
        # One row, and more than a schedule takes at a time; outputs that fill no chunk.
        work = [(products, 1e-3, {"rows": rows, "inputs": 24, "outputs": outputs})
                for rows in (1, 5, 40) for outputs in (20, 64)]
    else:
        # A memory of more than one block; loops have one head and one query.
        loops = command[1] == "loops"
        work = [(read, 1e-4, {"sentences": sentences, "positions": 150, "features": 32,
                              "heads": heads, "queries": queries})
                for heads in ((1, 4) if command[1] == "attn" else (1,))
                for sentences, queries in ((1, 1), (2, 1 if loops else 5))]
    failed = False
    with Worker(kind, command, 1, folder / "log", folder) as worker:
        for compute, tolerance, request in work:
            (folder / "result").unlink(missing_ok=True)
            worker.ask("prepare", result=str(folder / "result"), **request)
            message = difference(compute(**request), read_numbers(folder / "result"), tolerance)
            # How long it took does not matter here.
            worker.ask("time", seconds=0)["microseconds"]
            print(f"{request}: {message or 'as expected'}")
            failed |= message is not None
    return failed


sys.exit(main())
