#!/usr/bin/env python3
"""Counts what a query costs whose mask is a window, for texts of two lengths.

window_cost.py FOLDER

The same text is encoded by a model with one read and by one with two; the
difference is a read, and contains nothing of opening and decoding."""

import json
import struct
import subprocess
import sys

from callgrind import count_instructions

SPEC = """model window

vocab words

attention attend(query x: [8], memory m: [8]) {{
  mask    {mask}
  score   e = dot(x, m)
  weights a = softmax(e)
  read    c = sum(a * m)
}}

encoder (x: tokens words) {{
  h = embed(words, x, 8)
  repeat {reads} {{
    h = h + attend(h, h)
  }}
  memory g = mean(h)
}}

decoder (y: tokens words, start = "<s>") {{
  predict linear(g + embed(words, y, 8), words)
}}
"""


def write_weights(path):
    header, data = {}, b""
    for name, shape in {"words.embedding": [8, 8], "decoder.predict.weight": [8, 8],
                        "decoder.predict.bias": [8]}.items():
        size = 8 * (8 if len(shape) > 1 else 1)
        numbers = [(i * 37 % 19 - 9) / 20 for i in range(size)]
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + 4 * size]}
        data += struct.pack(f"<{size}f", *numbers)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def count(folder, mask, reads, length):
    spec, library = f"{folder}/window.attn", f"{folder}/libwindow.so"
    with open(spec, "w") as file:
        file.write(SPEC.format(mask=mask, reads=reads))
    subprocess.run(["attnc", spec, "--vocab", f"words={folder}/words", "--weights",
                    f"{folder}/weights", "--cpu", "x86-64-v3", "-o", library], check=True)
    return count_instructions(["attn-run", library, "--max-length-factor", "0",
                               "--max-length-offset", "1"], "a " * length + "\n")


folder = sys.argv[1]
with open(f"{folder}/words", "w") as file:
    file.write("<s>\n</s>\na\nb\nc\nd\ne\nf\n")
write_weights(f"{folder}/weights")
costs = {}
for window in (4, 32):
    mask = f"abs(position(x) - position(m)) < {window // 2}"
    for length in (64, 256):
        costs[window, length] = (count(folder, mask, 2, length) -
                                 count(folder, mask, 1, length)) / length
    print(f"window of {window}: {costs[window, 64]:.0f} instructions a query of 64, "
          f"{costs[window, 256]:.0f} of 256")
for window in (4, 32):
    # At the ends of a text the window is cut.
    growth = costs[window, 256] / costs[window, 64]
    if not 0.9 < growth < 1.25:
        sys.exit(f"error: expected the cost of a window, but a longer text costs {growth:.2f} times it")
if costs[32, 256] < 2 * costs[4, 256]:
    sys.exit("error: expected a wider window to cost more")
print("by the window, not by the length")
