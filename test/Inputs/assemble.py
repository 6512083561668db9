"""Assembles PTX with NVIDIA's ptxas and says what each kernel takes.

usage: assemble.py PTXAS CHIP[,CHIP...] [--table] FILE...

Prints a line for each file and chip: how many kernels it has, how many of them spill
registers, and how many bytes the worst one does. With --table a line for each kernel
comes first. Fails where ptxas does, or warns.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ENTRY = re.compile(r"Compiling entry function '(\w+)'")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def parse(text):
    """Name, registers, bytes of shared memory and of spills for each kernel."""
    kernels = []
    name, spilled = "", 0
    for line in text.splitlines():
        if entry := ENTRY.search(line):
            name, spilled = entry[1], 0
        elif spills := SPILLS.search(line):
            spilled = max(int(spills[1]), int(spills[2]))
        elif used := USED.search(line):
            shared = SHARED.search(line)
            kernels.append((name, int(used[1]), int(shared[1]) if shared else 0, spilled))
    return kernels[::-1]


def assemble(ptxas, chip, file):
    with tempfile.TemporaryDirectory() as scratch:
        command = [ptxas, "-v", "-arch", chip, file, "-o", str(Path(scratch) / "kernels.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    good = done.returncode == 0 and not re.search(r"\b(warning|error|fatal)\b", text)
    return good, text, parse(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ptxas")
    parser.add_argument("chips")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_intermixed_args()
    jobs = [(chip, file) for file in arguments.files for chip in arguments.chips.split(",")]
    status = 0
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda job: assemble(arguments.ptxas, *job), jobs)
        for (chip, file), (good, text, kernels) in zip(jobs, results):
            what = f"{Path(file).stem} {chip}:"
            if not good:
                print(what, text, sep="\n")
                status = 1
            if arguments.table:
                for name, registers, shared, spilled in kernels:
                    print(f"{what} {name:12} registers {registers:3} shared {shared:5} spilled {spilled}")
            spills = [spilled for *_, spilled in kernels if spilled]
            print(f"{what} {len(kernels)} kernels, {len(spills)} spill, {max(spills, default=0)} bytes")
    return status


if __name__ == "__main__":
    sys.exit(main())
