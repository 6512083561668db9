"""Compiles a random model and checks all its lines.

usage: check_random.py SHARED NAME [--dim NAME=N]...
"""

import os
import subprocess
import sys
import tempfile

shared, name, *dims = sys.argv[1:]
folder = os.path.join(shared, "models", "random", name)
check = os.path.join(os.path.dirname(__file__), "..", "check_reference.py")
vocabularies = []
for file in sorted(os.listdir(folder)):
    if file.endswith(".vocab"):
        vocabularies += ["--vocab", f"{file[:-6]}={folder}/{file}"]
with tempfile.TemporaryDirectory() as scratch:
    library = os.path.join(scratch, "libmodel.so")
    subprocess.run(
        [
            "attnc",
            os.path.join(shared, "specs", name + ".attn"),
            *dims,
            *("--weights", os.path.join(folder, "weights.safetensors")),
            *vocabularies,
            *("-o", library),
        ],
        check=True,
    )
    result = subprocess.run(
        [
            sys.executable,
            check,
            *("--reference", os.path.join(folder, "reference.jsonl")),
            *("--max-length-factor", "0", "--max-length-offset", "12"),
            *("--run", f"attn-run {library}"),
        ]
    )
sys.exit(result.returncode)
