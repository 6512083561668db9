"""Decodes the examples of attention and compares with their expected numbers.

usage: check_attention.py FOLDER [--evaluate | --target TARGET] [NAME...]

FOLDER has NAME.attn, words.vocab and expected.json. Each example is compiled,
or evaluated where a part of it has no CPU code yet, or where that is asked for.
With --target it is compiled for that, and has to be. Prints which, and what differs.
Inputs that are features become files.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parent / "attention_reference.py"
CHECK = HERE.parent.parent / "models" / "check_reference.py"
NO_KERNEL = "expected an operation that has a CPU kernel"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def write_npy(path, rows):
    """Writes numbers, or rows of them."""
    nested = isinstance(rows[0], list)
    shape = f"({len(rows)}, {len(rows[0])})" if nested else f"({len(rows)},)"
    numbers = [number for row in rows for number in row] if nested else rows
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack(f"<{len(numbers)}f", *numbers)
    )


def with_files(name, number, line, scratch):
    """A line whose further inputs are files, as the tools read them."""
    line = dict(line)
    for what, rows in line.pop("inputs", {}).items():
        path = scratch / f"{name}-{number}-{what}.npy"
        write_npy(path, rows)
        line["source"] += f"\t{path}"
    return line


def check(name, folder, scratch, lines, evaluate, target):
    """How the example was run, and what its check printed where it differs."""
    options = [
        str(folder / f"{name}.attn"),
        *("--weights", str(scratch / f"{name}.safetensors")),
        *("--vocab", f"words={folder / 'words.vocab'}"),
    ]
    reference = scratch / f"{name}.jsonl"
    lines = [with_files(name, number, line, scratch) for number, line in enumerate(lines)]
    reference.write_text("".join(json.dumps(line) + "\n" for line in lines))
    way, tool = "evaluated", " ".join(["attn-eval", *options])
    if not evaluate:
        library = scratch / f"lib{name}.so"
        done = run("attnc", *options, *(["--target", target] if target else []), "-o", str(library))
        if done.returncode == 0:
            way, tool = f"compiled for {target}" if target else "compiled", f"attn-run {library}"
        elif target or done.returncode != 1 or NO_KERNEL not in done.stderr:
            return "no library", f"attnc ends with status {done.returncode}\n{done.stderr}"
    done = run(
        *(sys.executable, str(CHECK), "--reference", str(reference)),
        *("--checks", "forced", "--run", tool),
    )
    return way, "" if done.returncode == 0 else done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--evaluate", action="store_true")
    parser.add_argument("--target")
    arguments = parser.parse_intermixed_args()
    folder = arguments.folder
    expected = json.loads((folder / "expected.json").read_text())
    names = arguments.names or sorted(path.stem for path in folder.glob("*.attn"))
    good = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        subprocess.run([sys.executable, REFERENCE, "weights", str(scratch)], check=True)
        with ThreadPoolExecutor(2) as pool:
            results = pool.map(
                lambda name: check(
                    *(name, folder, scratch, expected[name], arguments.evaluate, arguments.target)
                ),
                names,
            )
            for name, (way, differences) in zip(names, results):
                print(f"{name}: {way}")
                print(differences, end="")
                good += not differences
    print(f"{good} of {len(names)} examples agree")
    return 0 if good == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
