"""Counts the launches of host programs, as `attnc --emit kernels` writes them.

usage: count_launches.py FILE [OTHER]

Prints a line for each program: how many kernels a call launches at most (of a
choice, the way that launches more), how many of them stand in loops, and how many
more there are where memories have more than one block; with OTHER, how many more
it has.
"""

import re
import sys

PROGRAM = re.compile(r"\s*func\.func @(\w+)\(.*attn\.program")
LAUNCH = re.compile(r"\s*llvm\.call %\w+\(")


def add(x, y):
    return [a + b for a, b in zip(x, y)]


def count(lines):
    """Of the lines of a region: launches outside of loops, in loops, and more with
    long memories."""
    counts = [0, 0, 0]
    for line in lines:
        if LAUNCH.match(line):
            counts[0] += 1
        elif re.match(r"\s*\}", line):
            return counts, line
        elif line.rstrip().endswith("{"):
            inner, end = count(lines)
            if "else" in end:
                # The other way of a choice begins.
                other, end = count(lines)
                if "attn.long_memory" in end:
                    inner = [*other[:2], sum(inner) - sum(other) + other[2]]
                else:
                    inner = [max(pair) for pair in zip(inner, other)]
            if re.match(r".*\bscf\.(for|while)\b", line):
                inner = [0, inner[0] + inner[1], inner[2]]
            counts = add(counts, inner)
    return counts, ""


def count_programs(name):
    with open(name, encoding="utf-8") as file:
        lines = iter(file)
        return {program[1]: count(lines)[0] for line in lines if (program := PROGRAM.match(line))}


def main():
    programs, *others = [count_programs(name) for name in sys.argv[1:]]
    for name, counts in programs.items():
        for other in others:
            counts = [more - less for more, less in zip(other[name], counts)]
        outside, inside, memories = counts
        print(f"{name}: {outside} launches, {inside} in loops, {memories} more for long memories")


if __name__ == "__main__":
    main()
