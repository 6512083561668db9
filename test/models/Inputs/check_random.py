"""Checks all lines of a random model, compiled and by the evaluator.

usage: check_random.py SHARED NAME [OPTION of the compiler]...
"""

import os
import shlex
import subprocess
import sys
import tempfile

shared, name, *options = sys.argv[1:]
folder = os.path.join(shared, "models", "random", name)
check = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check_reference.py")
with open(os.path.join(folder, "dims.txt"), encoding="utf-8") as file:
    options += file.read().split()
for file in sorted(os.listdir(folder)):
    if file.endswith(".vocab"):
        options.append(f"--vocab={file[:-6]}={folder}/{file}")
model = [
    os.path.join(shared, "specs", name + ".attn"),
    *options,
    "--weights=" + os.path.join(folder, "weights.safetensors"),
]
with tempfile.TemporaryDirectory() as scratch:
    library = os.path.join(scratch, "libmodel.so")
    subprocess.run(["attnc", *model, "-o", library], check=True)
    for command in (["attn-run", library], ["attn-eval", *model]):
        print(f"{name}: {command[0]}", flush=True)
        result = subprocess.run(
            [
                sys.executable,
                check,
                *("--reference", os.path.join(folder, "reference.jsonl")),
                *("--max-length-factor", "0", "--max-length-offset", "12"),
                *("--run", shlex.join(command)),
            ],
            cwd=folder,  # Where the files of features are.
        )
        if result.returncode:
            sys.exit(result.returncode)
