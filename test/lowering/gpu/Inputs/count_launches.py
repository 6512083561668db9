"""Counts the launches of host programs, as `attnc --emit kernels` writes them.

usage: count_launches.py FILE [OTHER]

Prints a line for each program: how many kernels a call launches at most (of a
choice, the way that launches more), and how many stand in loops; with OTHER, how
many more it has.
"""

import re
import sys

PROGRAM = re.compile(r"\s*func\.func @(\w+)\(.*attn\.program")
LAUNCH = re.compile(r"\s*llvm\.call %\w+\(")


def count(lines):
    """Of the lines of a region: launches outside of loops, and within."""
    outside = inside = 0
    for line in lines:
        if LAUNCH.match(line):
            outside += 1
        elif re.match(r"\s*\}", line):
            if "else" not in line:
                return outside, inside
            # The other way of a choice begins.
            other = count(lines)
            return max(outside, other[0]), max(inside, other[1])
        elif line.rstrip().endswith("{"):
            more = count(lines)
            if re.match(r".*\bscf\.(for|while)\b", line):
                inside += sum(more)
            else:
                outside, inside = outside + more[0], inside + more[1]
    return outside, inside


def count_programs(name):
    with open(name, encoding="utf-8") as file:
        lines = iter(file)
        return {program[1]: count(lines) for line in lines if (program := PROGRAM.match(line))}


def main():
    programs, *others = [count_programs(name) for name in sys.argv[1:]]
    for name, (outside, inside) in programs.items():
        for other in others:
            outside, inside = other[name][0] - outside, other[name][1] - inside
        print(f"{name}: {outside} launches, {inside} in loops")


if __name__ == "__main__":
    main()
