"""Compiles every ```attn block of a document.

A block is a whole spec, or with `step` the statements of a decoder's step. With
`fails "message"` it must be an error with that text; otherwise it must compile.
Vocabularies get a size. Prints what went wrong and exits with status 1.
"""

import re
import subprocess
import sys

FENCE = re.compile(
    r'^```attn(?P<step> step)?(?: fails "(?P<message>[^\n]*)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
STEP = """model example

vocab target

decoder (y: tokens target, start = zero) {{
{}
  predict logits: linear(embed(target, y, 8), target)
}}
"""


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = file.read()
    blocks = list(FENCE.finditer(document))
    wrong = 0
    if len(blocks) != len(re.findall(r"^```attn", document, re.MULTILINE)):
        print("expected ```attn, step and fails, but got something else")
        wrong += 1
    for block in blocks:
        line = document.count("\n", 0, block.start()) + 1
        text = block["text"]
        if block["step"]:
            text = STEP.format(text)
        sizes = [f"--dim={name}=20" for name in re.findall(r"^vocab (\w+)", text, re.MULTILINE)]
        run = subprocess.run(
            ["attnc", "-", "--emit=attn", *sizes],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        message = block["message"]
        if message:
            good = run.returncode == 1 and message in run.stderr
        else:
            good = run.returncode == 0 and not run.stderr
        if not good:
            wrong += 1
            print(f"{sys.argv[1]}:{line}: expected {message or 'no message'}, but got")
            print(run.stderr)
    print(f"{len(blocks) - wrong} of {len(blocks)} examples are as the text says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
