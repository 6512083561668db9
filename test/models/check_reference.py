#!/usr/bin/env python3
"""Compares what a decoding tool prints with a model's reference outputs.

A reference is a file of JSON objects, one a line:

  source              the sentence, as the tool reads it
  max_length          emitted tokens at most, checked against the two options
  greedy, greedy_logprob, greedy_finished, greedy_weights
  target, forced_logprobs, forced_weights
                      (without a target, the greedy text was forced)
  beamK_alphaA        hypotheses of width K, `length` normalisation, best first

What a line lacks is not checked. Exit status: 0 if all agrees, 1 if something
differs, 2 if the tool could not be run.
"""

import argparse
import functools
import json
import math
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

LOGPROB_TOLERANCE = 1e-3
FORCED_TOLERANCE = 1e-4
SCORE_TOLERANCE = 1e-4
WEIGHT_TOLERANCE = 1e-5
# What stands for a word that the vocabulary lacks.
UNKNOWN = "<unk>"
# Hypotheses closer than this in the reference may stand in either order.
SWAP_DISTANCE = 2e-5


class Check:
    """One run of the tool over all lines, and what came of it."""

    def __init__(self, name):
        self.name = name
        self.lines = 0
        self.differences = []
        self.deviations = {}
        self.swaps = 0
        self.line = None

    def differ(self, message):
        self.differences.append(f"line {self.line}: {message}")

    def equal(self, what, got, expected):
        if got != expected:
            self.differ(f"expected {what} {expected!r}, but got {got!r}")
        return got == expected

    def near(self, what, got, expected, tolerance, where=""):
        """Numbers, or lists of them of one length."""
        if isinstance(expected, list):
            if not isinstance(got, list) or len(got) != len(expected):
                count = len(got) if isinstance(got, list) else "none"
                self.differ(f"expected {len(expected)} {what}{where}, but got {count}")
                return
            for index, (g, e) in enumerate(zip(got, expected)):
                self.near(what, g, e, tolerance, f"{where}[{index}]")
            return
        number = isinstance(got, (int, float)) and not isinstance(got, bool)
        deviation = abs(got - expected) if number else math.inf
        largest, count, _ = self.deviations.get(what, (0.0, 0, tolerance))
        if not deviation <= largest:
            largest = deviation
        self.deviations[what] = (largest, count + 1, tolerance)
        if not deviation <= tolerance:
            self.differ(f"expected {what}{where} {expected}, but got {got}")

    def summary(self):
        lines = len({difference.split(":")[0] for difference in self.differences})
        parts = [f"{self.lines - lines} of {self.lines} lines agree"]
        for what, (largest, count, tolerance) in self.deviations.items():
            parts.append(f"{what}: {largest:.2g} at most of {tolerance:g} over {count}")
        if self.swaps:
            parts.append(f"{self.swaps} near ties swapped")
        return f"{self.name}: " + "; ".join(parts)


class ToolError(Exception):
    """The tool failed, or what it printed is not what it should print."""

    def __init__(self, message, command):
        super().__init__(f"{message}\nnote: from {shlex.join(command)}")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", required=True, help="the file of references")
    parser.add_argument(
        "--run",
        required=True,
        metavar="COMMAND",
        help="the tool with its model and fixed options, as one shell-quoted word",
    )
    parser.add_argument("--max-length-factor", type=float, default=2.0, metavar="F")
    parser.add_argument("--max-length-offset", type=int, default=12, metavar="N")
    parser.add_argument(
        "--checks",
        metavar="LIST",
        help="which of greedy, forced, beam5_alpha1, ... to do (default: all that "
        "the reference has)",
    )
    parser.add_argument(
        "--lines", default=":", metavar="FROM:TO", help="a range of lines, counted from 0"
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs of the tool at a time")
    parser.add_argument("--show", type=int, default=5, help="differences to print")
    return parser.parse_args()


def select_lines(text):
    match = re.fullmatch(r"(\d*):(\d*)", text)
    if not match:
        sys.exit(f"error: expected --lines FROM:TO, but got '{text}'")
    first, last = (int(group) if group else None for group in match.groups())
    return slice(first, last)


def run_tool(command, lines, jobs, force=False):
    """The tool's answers, one object a line, from `jobs` runs that share the lines."""
    size = math.ceil(len(lines) / jobs)
    parts = [lines[first : first + size] for first in range(0, len(lines), size)]
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda part: run_part(command, part, force), parts))
    return [answer for answers in results for answer in answers]


def run_part(command, lines, force):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as targets:
        if force:
            key = "target" if "target" in lines[0] else "greedy"
            targets.writelines(line[key] + "\n" for line in lines)
            targets.flush()
            command = command + ["--force", targets.name]
        sources = "".join(line["source"] + "\n" for line in lines)
        try:
            done = subprocess.run(
                command, input=sources, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        except OSError as error:
            raise ToolError(error, command) from error
    if done.returncode:
        raise ToolError(f"status {done.returncode}", command)
    answers = done.stdout.splitlines()
    if len(answers) != len(lines):
        raise ToolError(f"expected {len(lines)} lines, but got {len(answers)}", command)
    try:
        return [json.loads(answer) for answer in answers]
    except json.JSONDecodeError as error:
        raise ToolError(f"output is not JSON: {error}", command) from error


def check_consistent(check, hypothesis, alpha):
    """R15: word scores sum to the log-probability, which is what is normalised."""
    words = hypothesis.get("word_logprobs")
    if not isinstance(words, list) or not words:
        check.differ(f"no word_logprobs in {hypothesis}")
        return
    check.near("sums", sum(words), hypothesis["logprob"], SCORE_TOLERANCE)
    normalised = hypothesis["logprob"] / len(words) ** alpha
    check.near("normalised", hypothesis["score"], normalised, SCORE_TOLERANCE)


def check_greedy(check, hypotheses, reference):
    hypothesis = hypotheses[0]
    if not check.equal("text", hypothesis["text"], reference["greedy"]):
        return
    check.near("logprob", hypothesis["logprob"], reference["greedy_logprob"], LOGPROB_TOLERANCE)
    check_consistent(check, hypothesis, alpha=0)
    if "greedy_finished" in reference:
        check.equal("finished", hypothesis["finished"], reference["greedy_finished"])
    if "greedy_weights" in reference:
        weights = reference["greedy_weights"]
        check.near("weights", hypothesis.get("alignment"), weights, WEIGHT_TOLERANCE)


def check_forced(check, hypotheses, reference):
    hypothesis = hypotheses[0]
    if "target" in reference:
        # A word that the vocabulary lacks was forced as the unknown token.
        words = reference["target"].split(" ")
        for place, token in enumerate(hypothesis["tokens"][: len(words)]):
            if token == UNKNOWN:
                words[place] = token
        expected = " ".join(words) if UNKNOWN in words else reference["target"]
        check.equal("text", hypothesis["text"], expected)
    words = reference["forced_logprobs"]
    check.near("word logprobs", hypothesis["word_logprobs"], words, FORCED_TOLERANCE)
    check_consistent(check, hypothesis, alpha=0)
    if "forced_weights" in reference:
        weights = reference["forced_weights"]
        check.near("weights", hypothesis.get("alignment"), weights, WEIGHT_TOLERANCE)


def group_near_ties(expected):
    """For each rank the number of its group: neighbours that nearly tie."""
    groups = [0]
    for before, after in zip(expected, expected[1:]):
        tied = abs(after["score"] - before["score"]) < SWAP_DISTANCE
        groups.append(groups[-1] + (not tied))
    return groups


def find_counterpart(hypothesis, rank, expected, groups):
    """What `hypothesis` is to be compared with: what is expected at its rank,
    or what nearly ties with that; None if it ties with it and is not expected
    at all. Where more hypotheses tie than a beam holds, which of them survive
    hangs on the last bits of their scores."""
    for other, group in zip(expected, groups):
        if other["text"] == hypothesis["text"] and group == groups[rank]:
            return other
    unknown = all(other["text"] != hypothesis["text"] for other in expected)
    cut = groups[rank] == groups[-1] and len(expected) > 1
    if unknown and cut and abs(hypothesis["score"] - expected[rank]["score"]) < SWAP_DISTANCE:
        return None
    return expected[rank]


def check_beam(check, hypotheses, reference, name, alpha):
    expected = reference[name]
    if len(hypotheses) != len(expected):
        check.differ(f"expected {len(expected)} hypotheses, but got {len(hypotheses)}")
        return
    groups = group_near_ties(expected)
    swapped = False
    for rank, hypothesis in enumerate(hypotheses):
        reference = find_counterpart(hypothesis, rank, expected, groups)
        swapped |= reference is not expected[rank]
        if reference is None:
            check_consistent(check, hypothesis, alpha)
            continue
        if not check.equal(f"text {rank}", hypothesis["text"], reference["text"]):
            continue
        check.near("score", hypothesis["score"], reference["score"], SCORE_TOLERANCE)
        if "logprob" in reference:
            logprob = reference["logprob"]
            check.near("logprob", hypothesis["logprob"], logprob, LOGPROB_TOLERANCE)
        if "finished" in reference:
            check.equal(f"finished {rank}", hypothesis["finished"], reference["finished"])
        check_consistent(check, hypothesis, alpha)
    check.swaps += swapped


def each_line(check, lines, answers, first, compare):
    for index, (reference, answer) in enumerate(zip(lines, answers)):
        check.line = first + index + 1
        check.lines += 1
        hypotheses = answer.get("hypotheses")
        if not hypotheses:
            check.differ(f"no hypotheses in {answer}")
            continue
        try:
            compare(check, hypotheses, reference)
        except (KeyError, TypeError) as error:
            check.differ(f"{type(error).__name__} {error} in {answer}")


def main():
    arguments = parse_arguments()
    with open(arguments.reference, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    selection = select_lines(arguments.lines)
    first = selection.start or 0
    lines = lines[selection]
    if not lines:
        sys.exit("error: no lines are selected")

    factor, offset = arguments.max_length_factor, arguments.max_length_offset
    for line in lines:
        length = math.floor(factor * len(line["source"].split())) + offset
        if line.get("max_length", length) != length:
            sys.exit(
                f"error: the reference has max_length {line['max_length']} for "
                f"'{line['source']}', but {factor} and {offset} give {length}"
            )
    command = shlex.split(arguments.run) + ["--json"]
    limits = ["--max-length-factor", f"{factor:g}", "--max-length-offset", str(offset)]

    available = [key for key in ("greedy", "forced") if any(k.startswith(key) for k in lines[0])]
    available += sorted(key for key in lines[0] if re.fullmatch(r"beam\d+_alpha[\d.]+", key))
    names = arguments.checks.split(",") if arguments.checks else available
    for name in names:
        if name not in available:
            sys.exit(f"error: the reference has {', '.join(available)}, but not '{name}'")

    failed = False
    for name in names:
        check = Check(name)
        options, compare = limits, check_greedy
        if name == "forced":
            options, compare = [], check_forced
        elif name != "greedy":
            beam, alpha = re.fullmatch(r"beam(\d+)_alpha([\d.]+)", name).groups()
            options = limits + ["--beam", beam, "--nbest", beam]
            options += ["--normalize", "length", "--alpha", alpha]
            compare = functools.partial(check_beam, name=name, alpha=float(alpha))
        try:
            answers = run_tool(command + options, lines, arguments.jobs, name == "forced")
        except ToolError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        each_line(check, lines, answers, first, compare)
        print(check.summary(), flush=True)
        for difference in check.differences[: arguments.show]:
            print(f"  {difference}")
        if len(check.differences) > arguments.show:
            print(f"  and {len(check.differences) - arguments.show} more")
        failed |= bool(check.differences)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
