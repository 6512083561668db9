"""Compares the compiled model and the evaluator on one long sentence.

usage: check_long.py SOURCE-LENGTH TARGET-LENGTH SOURCE-VOCAB TARGET-VOCAB COMPILED EVALUATED

COMPILED and EVALUATED are commands. Every log-probability of the given target and
every weight has to be within 1e-5, times the larger of 1 and the number.
"""

import json
import random
import re
import shlex
import subprocess
import sys
import tempfile

source_length, target_length, source_vocab, target_vocab, *commands = sys.argv[1:]
generator = random.Random(19)


def make_line(path, length):
    with open(path, encoding="utf-8") as file:
        words = [word for word in file.read().split("\n") if re.fullmatch(r"[^<\s].*", word)]
    return " ".join(generator.choices(words, k=int(length))) + "\n"


line, target = make_line(source_vocab, source_length), make_line(target_vocab, target_length)
results = []
with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
    file.write(target)
    file.flush()
    for command in commands:
        done = subprocess.run(
            [*shlex.split(command), "--json", "--force", file.name],
            input=line,
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode:
            sys.exit(f"error: {done.stderr}")
        results.append(json.loads(done.stdout)["hypotheses"][0])
compiled, evaluated = results
for key in ("word_logprobs", "alignment"):
    pairs = list(zip(compiled[key], evaluated[key], strict=True))
    if key == "alignment":
        pairs = [pair for rows in pairs for pair in zip(*rows, strict=True)]
    worst = max((abs(one - other) / max(1, abs(other)) for one, other in pairs), default=0)
    print(f"{len(pairs)} numbers of {key}: {worst:.2g} at most")
    if not worst <= 1e-5:
        sys.exit("error: expected the evaluator's numbers")
print("the same")
