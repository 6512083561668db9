"""Compares a model at a reduced precision with itself in f32.

usage: check_precision.py PRECISION SOURCES PERCENT [--least BYTES] [--references FILE LOSS]
           -- OPTION of attnc...

The greedy outputs in f32 are scored by both (forced decoding): of their tokens, at
most PERCENT may have a log-probability that differs by more than 0.05. With
references, greedy outputs may lose at most LOSS BLEU. Batches change no bit (R13).
A library of more than BYTES (1 MB) becomes smaller by a quarter.
"""

import collections
import json
import math
import os
import subprocess
import sys
import tempfile

separator = sys.argv.index("--")
precision, path, percent, *references = sys.argv[1:separator]
least = 1000000
if references and references[0] == "--least":
    least = int(references[1])
    references = references[2:]
model = sys.argv[separator + 1 :]
with open(path, encoding="utf-8") as file:
    sources = file.read()


def decode(library, *options, lines=sources):
    command = ["attn-run", library, "--json", *options]
    return subprocess.run(
        command, input=lines, stdout=subprocess.PIPE, encoding="utf-8", check=True
    ).stdout


def best(output, key):
    return [json.loads(line)["hypotheses"][0][key] for line in output.splitlines()]


def bleu(outputs, references):
    """Of a corpus with one reference each, n-grams of 1 to 4 words."""
    matches, totals = [0] * 4, [0] * 4
    lengths = [0, 0]
    for output, reference in zip(outputs, references):
        words, expected = output.split(), reference.split()
        lengths[0] += len(words)
        lengths[1] += len(expected)
        for n in range(4):
            grams = [
                collections.Counter(zip(*(line[i:] for i in range(n + 1))))
                for line in (words, expected)
            ]
            matches[n] += (grams[0] & grams[1]).total()
            totals[n] += grams[0].total()
    precisions = sum(math.log(m / t) for m, t in zip(matches, totals)) / 4
    return 100 * math.exp(min(0, 1 - lengths[1] / lengths[0]) + precisions)


def fail(message):
    sys.exit(f"error: {precision}: {message}")


with tempfile.TemporaryDirectory() as scratch:
    libraries = []
    for name in ("f32", precision):
        os.mkdir(os.path.join(scratch, name))
        libraries.append(os.path.join(scratch, name, "libmodel.so"))
        command = ["attnc", *model, "--precision", name, "-o", libraries[-1]]
        subprocess.run(command, check=True)
    exact, reduced = libraries
    sizes = [os.path.getsize(library) for library in libraries]
    # Of a small model, most of the library is the runtime, and kernels.
    if sizes[0] > least and sizes[1] > 0.75 * sizes[0]:
        fail(f"expected a much smaller library than {sizes[0]} bytes, but got {sizes[1]}")

    expected = decode(exact)
    outputs = os.path.join(scratch, "outputs")
    with open(outputs, "w", encoding="utf-8") as file:
        file.writelines(text + "\n" for text in best(expected, "text"))
    scored = [best(decode(library, "--force", outputs), "word_logprobs") for library in libraries]
    changes = [abs(x - y) for a, b in zip(*scored) for x, y in zip(a, b, strict=True)]
    changed = 100 * sum(change > 0.05 for change in changes) / len(changes)
    print(
        f"{precision}: {len(changes)} tokens; {changed:.2f} % changed by more than 0.05; "
        f"mean {sum(changes) / len(changes):.4f}, most {max(changes):.3f}"
    )
    if not max(changes) > 0:
        fail("expected other numbers than in f32")
    if not changed <= float(percent):
        fail(f"expected at most {percent} % of the tokens to change")

    got = decode(reduced)
    some = "".join(sources.splitlines(keepends=True)[:100])
    beams = [
        decode(reduced, "--beam", "3", "--batch-size", size, lines=some) for size in ("1", "32")
    ]
    if got != decode(reduced, "--batch-size", "1") or beams[0] != beams[1]:
        fail("expected the same from all sizes of a batch")
    if references:
        _, path, loss = references
        with open(path, encoding="utf-8") as file:
            targets = file.read().splitlines()
        figures = [bleu(best(output, "text"), targets) for output in (expected, got)]
        print(f"{precision}: BLEU {figures[1]:.2f}, in f32 {figures[0]:.2f}")
        if figures[1] < figures[0] - float(loss):
            fail(f"expected to lose at most {loss} BLEU")
print(f"{precision}: agrees")
