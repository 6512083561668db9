#!/usr/bin/env python3
"""A model with many random masks, compiled and evaluated as it is written.

random_masks.py SEED COUNT FOLDER

Half of the masks are in the encoder, half in the decoder over its own past.
Scores what the evaluator decodes with the compiled library, step by step and as
whole targets. Prints how many masks had an interval, and in how many the interval
replaced the mask."""

import json
import random
import struct
import subprocess
import sys


class Masks:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)()

    def number(self):
        return str(self.random.randint(0, 6))

    def query(self):
        return self.pick(lambda: "position(x)", lambda: "position(x)", lambda: "length(m)",
                         self.number)

    def integer(self, depth):
        """A whole number, of the memory's position at its end."""
        if depth == 0:
            return "position(m)"
        inner = self.integer(depth - 1)
        other = self.query() if self.random.random() < 0.8 else self.integer(0)
        step = self.random.randint(2, 4)
        return self.pick(
            lambda: f"({inner} - {other})", lambda: f"({other} - {inner})",
            lambda: f"({inner} + {other})", lambda: f"{inner} // {step}",
            lambda: f"{inner} * {step}", lambda: f"abs({inner})",
            lambda: f"({inner}) % {step}",
            lambda: f"min({inner}, {other})", lambda: f"max({inner}, {other})",
            lambda: f"where({self.condition(0)}, {inner}, {other})")

    def condition(self, depth):
        if depth == 0:
            kind = self.random.random()
            compare = self.random.choice(["<", "<=", ">", ">=", "<", "<=", "==", "!="])
            size = self.random.randint(0, 3)
            if kind < 0.1:
                return f"{self.query()} {compare} {self.number()}"
            if kind < 0.3:
                centre = f"{self.random.uniform(0, 9):.3f}"
                return f"abs({self.integer(size)} - {centre}) {compare} {self.random.uniform(0, 5):.3f}"
            if kind < 0.4:
                return f"{self.integer(size)} - position(x) {compare} range(2) * {self.number()}"
            sides = [self.integer(size), self.query()]
            self.random.shuffle(sides)
            return f"{sides[0]} {compare} {sides[1]}"
        x, y = self.condition(depth - 1), self.condition(self.random.randrange(depth))
        return self.pick(lambda: f"({x} and {y})", lambda: f"({x} or {y})", lambda: f"not ({x})")


def write_spec(path, seed, count):
    masks = Masks(seed)
    blocks, encoder, decoder, sinks = [], [], [], []
    for i in range(count):
        mask = masks.condition(masks.random.randint(0, 2))
        normalizer = masks.random.choice(["softmax(e)", "softmax(e, sink = z)", "hardmax(e)",
                                          "sparsemax(e)", "sparsemax(e, sink = 1)"])
        sink = "sink = z" in normalizer
        parameter = "  param z: [2]\n\n" if sink else ""
        # Over a past the length of the memory is not known to its end, but the
        # position of the step is.
        if i % 2:
            mask = mask.replace("length(m)", "(position(x) + 1)")
        blocks.append(f"""attention a{i}(query x: [2], memory m: [2]) {{
{parameter}  mask    {mask}
  score   e = x * m
  weights a = {normalizer}
  read    c = sum(a * m)
}}
""")
        (decoder if i % 2 else encoder).append(i)
        sinks += [f"{'decoder' if i % 2 else 'encoder'}.a{i}.z"] if sink else []
    text = "model random\n\nvocab words\n\n" + "\n".join(blocks)
    text += "\nencoder (x: tokens words) {\n  w = embed(words, x, 2)\n  h = w\n"
    text += "".join(f"  h = h + a{i}(w, w)\n" for i in encoder)
    text += "  memory h\n}\n"
    text += """
attention last(query q: [2], memory m: [2]) {
  score   e = dot(q, m)
  weights a = softmax(e)
  read    c = sum(a * m)
}
"""
    text += '\ndecoder (y: tokens words, start = "<s>") {\n  w = embed(words, y, 2)\n  d = w\n'
    text += "".join(f"  d = d + a{i}(w, past(w))\n" for i in decoder)
    text += "  predict linear(d + last(d, h), words)\n}\n"
    open(path, "w").write(text)
    return sinks


def write_weights(path, seed, sinks):
    source = random.Random(seed + 1)
    shapes = {"words.embedding": [12, 2], "decoder.predict.weight": [12, 2],
              "decoder.predict.bias": [12]}
    shapes.update((sink, [2]) for sink in sinks)
    header, data = {}, b""
    for name, shape in shapes.items():
        size = 1
        for n in shape:
            size *= n
        numbers = [source.gauss(0, 1) for _ in range(size)]
        begin = len(data)
        data += struct.pack(f"<{size}f", *numbers)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def main():
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    spec, weights = f"{folder}/random.attn", f"{folder}/random.safetensors"
    write_weights(weights, seed, write_spec(spec, seed, count))
    vocabulary = f"{folder}/words"
    words = ["<s>", "</s>"] + [f"w{i}" for i in range(10)]
    open(vocabulary, "w").write("".join(w + "\n" for w in words))
    model = [spec, "--vocab", f"words={vocabulary}", "--weights", weights]
    fused = run(["attnc", *model[:3], "--emit=attn-fused"], "")
    step = fused.split("attn.parallel_decoder")[0]
    reads = step.split("attn.read ")[1:-1]
    intervals = sum("interval {" in read for read in reads)
    replaced = sum("interval {" in read and "mask {" not in read for read in reads)

    source = random.Random(seed + 2)
    def lines(longest):
        return "".join(" ".join(source.choice(words[2:]) for _ in range(source.randint(1, longest))) +
                       "\n" for _ in range(12))
    text, targets = lines(40), f"{folder}/targets"
    open(targets, "w").write(lines(24))
    options = ["--json", "--force", targets, "--max-length-offset", "30"]
    run(["attnc", *model, "-o", f"{folder}/librandom.so"], "")
    expected = run(["attn-eval", *model, *options], text)
    for batch in ("1", "12"):
        actual = run(["attn-run", f"{folder}/librandom.so", *options, "--batch-size", batch], text)
        for number, (a, e) in enumerate(zip(actual.splitlines(), expected.splitlines())):
            a, e = (json.loads(line)["hypotheses"][0] for line in (a, e))
            for x, y in zip(a["word_logprobs"], e["word_logprobs"]):
                if abs(x - y) > 1e-4 * max(1, abs(y)):
                    sys.exit(f"seed {seed}, line {number + 1}: expected {y}, but got {x}")
    print(f"seed {seed}: {len(reads)} masks, {intervals} with an interval, "
          f"{replaced} of which are the mask")


main()
