"""Checks the rules of decoding on the outputs of a tool.

usage: check_rules.py "COMMAND" SENTENCE...

COMMAND is a decoding tool with its model; sentences are words of its vocabulary.
Between them stands an empty line.
"""

import json
import shlex
import subprocess
import sys
import tempfile

command, *sentences = sys.argv[1:]
lines = [line for sentence in sentences for line in (sentence, "")]


def run(*options):
    result = subprocess.run(
        [*shlex.split(command), "--json", *options],
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
    )
    if result.returncode:
        sys.exit(f"{' '.join(options)}: {result.stderr}")
    answers = [json.loads(line)["hypotheses"] for line in result.stdout.splitlines()]
    assert len(answers) == len(lines), "one answer a line"
    return answers


def close(one, other, tolerance=1e-4):
    assert abs(one - other) <= tolerance, f"expected {other}, but got {one}"


def emitted(hypothesis):
    return len(hypothesis["tokens"]) + hypothesis["finished"]


greedy = run()
wide = run("--beam", "5", "--nbest", "5")
length = run("--beam", "5", "--nbest", "5", "--normalize", "length", "--alpha", "0.7")

# R15: scores and their parts.
for answers, alpha in ((greedy, 0), (wide, 0), (length, 0.7)):
    for line, hypotheses in zip(lines, answers):
        if not line:
            continue
        for hypothesis in hypotheses:
            close(sum(hypothesis["word_logprobs"]), hypothesis["logprob"])
            close(hypothesis["score"], hypothesis["logprob"] / emitted(hypothesis) ** alpha)
        scores = [hypothesis["score"] for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True), "the best first"

# R15: forced decoding of what came out gives its score.
with tempfile.NamedTemporaryFile("w", suffix=".txt") as targets:
    for hypotheses in greedy:
        targets.write(" ".join(hypotheses[0]["tokens"]) + "\n")
    targets.flush()
    for forced, hypotheses in zip(run("--force", targets.name), greedy):
        if hypotheses[0]["finished"] and hypotheses[0]["tokens"]:
            close(forced[0]["logprob"], hypotheses[0]["logprob"])

# R16: the number of hypotheses never changes the best; a beam of one is greedy;
# ends come no earlier than they may, and no later.
assert [h[:1] for h in wide] == run("--beam", "5"), "nbest changes the best"
for one, other in zip(greedy, run("--beam", "1", "--normalize", "length")):
    assert one[0]["tokens"] == other[0]["tokens"], "width 1 is greedy"
for hypotheses in run("--beam", "3", "--nbest", "3", "--min-length", "9"):
    for hypothesis in hypotheses:
        assert not hypothesis["tokens"] or len(hypothesis["tokens"]) >= 9, "minimum length"
for line, hypotheses in zip(lines, run("--max-length-factor", "0", "--max-length-offset", "2")):
    if line:
        assert emitted(hypotheses[0]) <= 2, "maximum length"
        assert len(hypotheses[0]["tokens"]) < 2 or not hypotheses[0]["finished"]

# R19: a row of weights for every emitted token, a column for every memory
# position, the source's end included.
for line, hypotheses in zip(lines, wide):
    for hypothesis in hypotheses if line else []:
        rows = hypothesis["alignment"]
        assert len(rows) == emitted(hypothesis), "rows are emitted tokens"
        for row in rows:
            assert len(row) == len(line.split()) + 1, "columns are memory positions"
            close(sum(row), 1)

# R20: an empty line stays, empty; a beam may be wider than the vocabulary.
for line, hypotheses in zip(lines, wide):
    if not line:
        (hypothesis,) = hypotheses
        assert hypothesis["tokens"] == [] and hypothesis["score"] == 0, "an empty result"
assert len(run("--beam", "100", "--nbest", "100")[0]) > 43, "a beam of any width"

# R13: neither the batch nor the others in it matter.
assert wide == run("--beam", "5", "--nbest", "5", "--batch-size", "1"), "batch of one"
assert wide == run("--beam", "5", "--nbest", "5", "--batch-size", "3"), "batch of three"
print("the rules of decoding hold")
