"""Compares what a tool decodes with what the makers of a model have published.

usage: check_published.py "COMMAND" ["COMMAND of the model that ends at 'm'"]

The model transliterates Arabic names; these are the results in its makers' own
tests.
"""

import json
import shlex
import subprocess
import sys
import tempfile

LOGPROB_TOLERANCE = 1e-4
ATZMON, ACHISON, ULYSSES = "آ ت ز م و ن", "آ ت ش ي س و ن", "أ و ل ي س س"

# Options, a source, the tokens, their log-probabilities.
PUBLISHED = [
    (
        [],
        ATZMON,
        "a t z m o n",
        [-0.106023, -0.065410, -0.056002, -0.447953, -0.230714, -0.092184, -0.063463],
    ),
    ([], "آ ز ا", "a z z a", None),
    (
        [],
        ACHISON,
        "a c h i s o n",
        [-0.072660, -0.300309, -0.181187, -0.395671, -0.025631, -0.123466, -0.002034, -0.012639],
    ),
    (["--prefix", "a t s"], ATZMON, "a t s u m o n", None),
    (["--prefix", "a t z o"], ATZMON, "a t z o m o n", None),
    (["--prefix", "u l i s e", "--preset", "ctranslate2", "--beam", "5"], ULYSSES, "u l i s e s", None),
    (["--prefix", "<unk> t"], ATZMON, "<unk> t z m o n", None),
    (["--prefix", "<unk> t", "--replace-unknown"], ATZMON, "ت t z m o n", None),
    (["--ban", "o", "--ban", "t z m"], ATZMON, "a t z u m u n", None),
    (["--min-length", "8"], ATZMON, 8, None),
    (["--max-length-factor", "0", "--max-length-offset", "3"], ATZMON, 3, None),
    ([], "", "", None),
]
ENDING_IN_M = [([], ATZMON, "a t z", None)]


def decode(command, options, source):
    """The first hypothesis. A prefix is given by a file that ends with this."""
    options = list(options)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as prefix:
        if "--prefix" in options:
            place = options.index("--prefix") + 1
            prefix.write(options[place] + "\n")
            prefix.flush()
            options[place] = prefix.name
        done = subprocess.run(
            [*shlex.split(command), "--json", *options],
            input=source + "\n",
            capture_output=True,
            encoding="utf-8",
        )
    if done.returncode:
        sys.exit(f"error: {done.stderr}")
    return json.loads(done.stdout)["hypotheses"][0]


def check(command, cases):
    wrong = 0
    for options, source, expected, logprobs in cases:
        hypothesis = decode(command, options, source)
        got = hypothesis["text"]
        words = hypothesis["word_logprobs"]
        agrees = len(got.split()) == expected if isinstance(expected, int) else got == expected
        if logprobs:
            agrees &= len(words) == len(logprobs) and all(
                abs(one - other) <= LOGPROB_TOLERANCE for one, other in zip(words, logprobs)
            )
        if not agrees:
            wrong += 1
            print(f"{source} {options}: expected {expected} {logprobs}, but got {got} {words}")
    print(f"{len(cases) - wrong} of {len(cases)} published results")
    return wrong


commands = sys.argv[1:]
sys.exit(any([check(*pair) for pair in zip(commands, (PUBLISHED, ENDING_IN_M))]))
