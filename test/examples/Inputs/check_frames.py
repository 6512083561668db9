"""Compares what a tool says of a model of features with reference outputs.

usage: check_frames.py REFERENCE FOLDER THRESHOLD STALL COMMAND...

REFERENCE has an object a line: `source`; `threshold`, `long` and `stall`, each what
is emitted with that threshold, with no end but the maximum length, and where the
alignment stalls; `forced`, what is predicted after given features. The features of
COMMAND land in FOLDER.
"""

import json
import math
import os
import struct
import subprocess
import sys
from array import array

TOLERANCE = 2e-5


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<H", data[8:10])
    header = eval(data[10 : 10 + size])
    rows, columns = header["shape"]
    numbers = array("f", data[10 + size :])
    return [list(numbers[i * columns : (i + 1) * columns]) for i in range(rows)]


def write_npy(path, rows):
    header = repr({"descr": "<f4", "fortran_order": False, "shape": (len(rows), len(rows[0]))})
    header += " " * (53 - len(header) % 64 + 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(array("f", (x for row in rows for x in row)).tobytes())


def same(a, b):
    if isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return math.isclose(a, b, abs_tol=TOLERANCE)


def main():
    reference, folder, threshold, stall, *command = sys.argv[1:]
    with open(reference, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    targets = os.path.join(folder, "targets")
    os.makedirs(targets, exist_ok=True)
    for number, line in enumerate(lines):
        write_npy(os.path.join(targets, f"{number}.npy"), line["forced"]["given"])
    with open(os.path.join(folder, "targets.txt"), "w", encoding="utf-8") as file:
        file.writelines(os.path.join(targets, f"{number}.npy\n") for number in range(len(lines)))
    length = ["--max-length-factor", "2", "--max-length-offset", "12"]
    runs = {
        "threshold": [*length, "--stop-threshold", threshold],
        "long": [*length, "--stop-threshold", "1"],
        "stall": [*length, "--stop-threshold", "1", "--stall", stall],
        "forced": ["--force", os.path.join(folder, "targets.txt")],
    }
    wrong = 0
    for name, options in runs.items():
        # All at once, and each alone: bit for bit the same.
        answers = []
        for batch in ("32", "1"):
            frames = os.path.join(folder, name + batch)
            done = subprocess.run(
                [*command, *options, "--json", "--frames", frames, "--batch-size", batch],
                input="".join(line["source"] + "\n" for line in lines),
                stdout=subprocess.PIPE,
                text=True,
            )
            if done.returncode:
                sys.exit(f"error: {name}: status {done.returncode}")
            found = [json.loads(line)["hypotheses"][0] for line in done.stdout.splitlines()]
            for one in found:
                one["frames"] = read_npy(one.pop("file"))
            answers.append(found)
        if answers[0] != answers[1]:
            wrong += 1
            print(f"{name}: expected the same in every batch")
        for line, answer in zip(lines, answers[0], strict=True):
            expected = line[name]
            if (
                answer["ended"] != expected["ended"]
                or not same(answer["frames"], expected["frames"])
                or not same(answer["stop_probabilities"], expected["stops"])
                or not same(answer["alignment"], expected.get("alignment", answer["alignment"]))
            ):
                wrong += 1
                print(f"{name}: {line['source']}: expected {expected}, but got {answer}")
        print(f"{name}: {len(lines)} lines")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
