"""Decodes a random model before and after each pass and compares the outputs.

usage: evaluate_passes.py SHARED NAME [--dim NAME=N]... [--vocab NAME]...
"""

import argparse
import os
import subprocess
import sys
import tempfile

PASSES = (
    ["-attn-fuse-read"],
    ["-attn-hoist-memory"],
    ["-attn-fuse-read", "-attn-hoist-memory", "-cse", "-canonicalize"],
    ["-attn-fuse-read", "-attn-hoist-memory", "-attn-cache-past"],
    ["-attn-cache-past"],
    ["-attn-expand-recurrences"],
    ["-attn-expand-recurrences", "-canonicalize", "-attn-fold-weights"],
    ["-attn-expand-recurrences", "-canonicalize", "-attn-fuse-products"],
    ["-attn-expand-recurrences", "-attn-fuse-epilogues"],
    ["-attn-fuse-read", "-attn-expand-recurrences", "-attn-hoist-contexts=memory-length=1"],
    ["-attn-graph-pipeline"],
)


def run(command, text=None):
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: {result.stderr}")
    return result.stdout


parser = argparse.ArgumentParser()
parser.add_argument("shared")
parser.add_argument("name")
parser.add_argument("--dim", action="append", default=[])
parser.add_argument("--vocab", action="append", default=[])
arguments = parser.parse_args()

folder = os.path.join(arguments.shared, "models", "random", arguments.name)
vocabularies = []
for name in arguments.vocab:
    vocabularies += ["--vocab", f"{name}={os.path.join(folder, name)}.vocab"]
dims = [word for dim in arguments.dim for word in ("--dim", dim)]
# A model without an encoder decodes an empty line.
sentences = "\n"
if os.path.exists(os.path.join(folder, "input.txt")):
    with open(os.path.join(folder, "input.txt")) as file:
        sentences = file.read()
with tempfile.TemporaryDirectory() as scratch:
    decode = ["--weights", os.path.join(folder, "weights.safetensors"), "--beam", "3", "--json"]
    path = os.path.join(scratch, "model.mlir")
    spec = os.path.join(arguments.shared, "specs", arguments.name + ".attn")
    run(["attnc", spec, "--emit=attn", "-o", path, *vocabularies, *dims])
    before = run(["attn-eval", path, *decode, *vocabularies], sentences)
    for passes in PASSES:
        changed = os.path.join(scratch, "changed.mlir")
        run(["attn-opt", path, *passes, "-o", changed])
        after = run(["attn-eval", changed, *decode, *vocabularies], sentences)
        if after != before:
            sys.exit(f"{arguments.name}: {' '.join(passes)} changes the output")
