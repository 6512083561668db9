"""Counts the instructions of a step for memories of several lengths.

usage: step_cost.py LIBRARY SOURCE-WORD TARGET-WORD

A step's cost is the difference between scoring a long and a short target for the
same source, which contains nothing of opening and encoding.
"""

import re
import subprocess
import sys
import tempfile

library, source, target = sys.argv[1:]
SHORT, LONG = 4, 12


def count(positions, tokens):
    """Instructions of scoring so many tokens; the source has an end token."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(" ".join([target] * tokens) + "\n")
        file.flush()
        result = subprocess.run(
            [
                *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
                *("attn-run", library, "--force", file.name),
            ],
            input=" ".join([source] * (positions - 1)) + "\n",
            capture_output=True,
            text=True,
        )
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode or not found:
        sys.exit(f"error: expected a count, but got: {result.stderr}")
    return int(found[1])


costs = {}
for positions in (16, 32, 64):
    costs[positions] = (count(positions, LONG) - count(positions, SHORT)) / (LONG - SHORT)
    print(f"memory of {positions}: {costs[positions]:.0f} instructions a step")
near, far = (costs[32] - costs[16]) / 16, (costs[64] - costs[32]) / 32
if not 0 < near or abs(far / near - 1) > 0.03:
    sys.exit(f"error: expected equal costs of a position, but got {near:.1f} and {far:.1f}")
print(f"{far:.0f} for each position: linear")
