"""Decodes sources of 1 to 200 tokens with a random model and compares bytes.

usage: check_batches.py SHARED NAME [--cpus] [--dim NAME=N]...

With --cpus the model is compiled for x86-64 and for x86-64-v3, without fused
multiply-add, and their results are compared too.
"""

import os
import random
import subprocess
import sys
import tempfile

shared, name, *options = sys.argv[1:]
folder = os.path.join(shared, "models", "random", name)
targets = [[]]
if "--cpus" in options:
    options.remove("--cpus")
    targets = [["--cpu", cpu, "--numerics", "portable"] for cpu in ("x86-64", "x86-64-v3")]

with open(os.path.join(folder, "source.vocab"), encoding="utf-8") as file:
    words = [word for word in file.read().split("\n")[4:] if word]
generator = random.Random(13)
lengths = [*range(1, 70), *range(70, 201, 5), 127, 128, 129]
generator.shuffle(lengths)
lines = "".join(" ".join(generator.choices(words, k=length)) + "\n" for length in lengths)

outputs = []
with tempfile.TemporaryDirectory() as scratch:
    library = os.path.join(scratch, "libmodel.so")
    for target in targets:
        subprocess.run(
            [
                "attnc",
                os.path.join(shared, "specs", name + ".attn"),
                *options,
                *target,
                *("--weights", os.path.join(folder, "weights.safetensors")),
                *("--vocab", f"source={folder}/source.vocab"),
                *("--vocab", f"target={folder}/target.vocab"),
                *("-o", library),
            ],
            check=True,
        )
        for batch, threads in ((1, 1), (7, 2), (64, 3)):
            command = ["attn-run", library, "--json", "--beam", "3", "--nbest", "3"]
            command += ["--batch-size", str(batch), "--threads", str(threads)]
            command += ["--max-length-factor", "0", "--max-length-offset", "8"]
            result = subprocess.run(
                command, input=lines, capture_output=True, text=True, check=True
            )
            assert result.stdout.count("\n") == len(lengths)
            outputs.append(result.stdout)
assert all(output == outputs[0] for output in outputs), "other bytes"
print(f"{len(targets)} libraries, 3 batch sizes: the same bytes")
