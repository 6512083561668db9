"""Checks every ```attn block of a document.

A block is a whole spec, or with `step` the statements of a decoder's step, of
which `v`, where there is one, is what the step predicts from. With `fails
"message"` it must be an error with that text. All others must compile, and
decode with random weights: what `attn-run` says of the compiled model must agree
with what `attn-eval` says. What has no tokens for inputs is marked `features` and
only imported. Prints what went wrong and exits with status 1.

usage: check_examples.py ROOT DOCUMENT
"""

import json
import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(
    r"^```attn(?P<step> step)?(?P<features> features)?"
    r'(?: fails "(?P<message>[^\n]*)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
STEP = """model example

vocab target

decoder (y: tokens target, start = zero) {{
{}
  predict logits: linear({}, target)
}}
"""
LETTERS = "abcdefgh"
SENTENCES = ["a", "b c d", "h g f e d c b a a b"]


class Wrong(Exception):
    """What is not as the text says."""


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise Wrong(f"{' '.join(command)}\n{done.stderr}")
    if done.stderr:
        raise Wrong(f"expected no message, but got\n{done.stderr}")
    return done.stdout


def write_vocabulary(text, folder):
    """One that has the marks that a spec names."""
    start = re.search(r'start = "(.*?)"', text)
    end = re.search(r'end = "(.*?)"', text)
    marks = [start[1] if start else "<s>", end[1] if end else "</s>"]
    if "+ unknown" not in text:
        marks.append("<unk>")
    path = os.path.join(folder, "words.vocab")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(word + "\n" for word in [*marks, *LETTERS])
    return path


def compare(compiled, evaluated):
    for line, (one, other) in enumerate(zip(compiled, evaluated, strict=True), 1):
        (one,), (other,) = one["hypotheses"], other["hypotheses"]
        if one["tokens"] != other["tokens"] or abs(one["logprob"] - other["logprob"]) > 1e-3:
            raise Wrong(f"line {line}: expected {other}, but the compiled model says {one}")
        for row, expected in zip(one["alignment"], other["alignment"], strict=True):
            if any(abs(a - b) > 1e-5 for a, b in zip(row, expected, strict=True)):
                raise Wrong(f"line {line}: expected weights {expected}, but got {row}")


def check(text, has_features, root, folder):
    spec = os.path.join(folder, "example.attn")
    with open(spec, "w", encoding="utf-8") as file:
        file.write(text)
    names = re.findall(r"^vocab (\w+)", text, re.MULTILINE)
    if has_features:
        run(["attnc", spec, "--emit=attn-fused", *(f"--dim={name}=20" for name in names)])
        return
    words = write_vocabulary(text, folder)
    model = [spec, *(f"--vocab={name}={words}" for name in names)]
    weights = os.path.join(folder, "example.safetensors")
    random = [sys.executable, os.path.join(root, "scripts", "random-weights")]
    run([*random, "--range=0.5", "-o", weights], run(["attnc", *model, "--emit=params"]))
    sources = "".join(line + "\n" for line in SENTENCES) if "encoder" in text else "\n"
    answers = []
    for command in (
        ["attn-run", os.path.join(folder, "libexample.so")],
        ["attn-eval", *model, "--weights", weights],
    ):
        if command[0] == "attn-run":
            run(["attnc", *model, "--weights", weights, "-o", command[1]])
        lines = run([*command, "--json"], sources).splitlines()
        answers.append([json.loads(line) for line in lines])
    compare(*answers)


def main():
    root, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        document = file.read()
    blocks = list(FENCE.finditer(document))
    wrong = 0
    if len(blocks) != len(re.findall(r"^```attn", document, re.MULTILINE)):
        print("expected ```attn, step, features and fails, but got something else")
        wrong += 1
    for block in blocks:
        line = document.count("\n", 0, block.start()) + 1
        text = block["text"]
        if block["step"]:
            value = "v" if re.search(r"^ +v = ", text, re.MULTILINE) else "embed(target, y, 8)"
            text = STEP.format(text, value)
        try:
            if block["message"]:
                sizes = (f"--dim={name}=20" for name in re.findall(r"^vocab (\w+)", text, re.M))
                done = subprocess.run(
                    ["attnc", "-", "--emit=attn", *sizes],
                    input=text,
                    capture_output=True,
                    text=True,
                )
                if done.returncode != 1 or block["message"] not in done.stderr:
                    raise Wrong(f"expected {block['message']}, but got\n{done.stderr}")
            else:
                with tempfile.TemporaryDirectory() as folder:
                    check(text, block["features"], root, folder)
        except Wrong as error:
            wrong += 1
            print(f"{path}:{line}: {error}")
    print(f"{len(blocks) - wrong} of {len(blocks)} examples are as the text says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
