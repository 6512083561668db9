"""Counts the instructions of a step for memories, or prefixes, of several lengths.

usage: step_cost.py memory|prefix LIBRARY SOURCE-WORD TARGET-WORD

A step's cost is the difference between emitting a long and a short target for the
same source, which contains nothing of opening and encoding. The costs of one more
position have to be equal between the first two lengths and between the last two.
"""

import sys
import tempfile

from callgrind import count_instructions

what, library, source, target = sys.argv[1:]
STEPS = 8


def count(positions, tokens):
    """Instructions of so many steps over a memory of so many positions: the source
    has an end token."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(" ".join([target] * tokens) + "\n")
        file.flush()
        # A prefix is followed step by step, whatever the model.
        return count_instructions(
            [
                *("attn-run", library, "--prefix", file.name),
                *("--max-length-factor", "0", "--max-length-offset", str(tokens)),
            ],
            " ".join([source] * (positions - 1)) + "\n",
        )


def cost(length):
    if what == "memory":
        return (count(length, 4 + STEPS) - count(length, 4)) / STEPS
    # The steps up to here: what grows by doubling does not grow in between.
    return (count(3, length) - count(3, length - STEPS)) / STEPS


lengths, tolerance = {"memory": ((16, 32, 64), 0.03), "prefix": ((16, 64, 256), 0.05)}[what]
costs = []
for length in lengths:
    costs.append(cost(length))
    print(f"{what} of {length}: {costs[-1]:.0f} instructions a step")
near, far = (
    (costs[i + 1] - costs[i]) / (lengths[i + 1] - lengths[i]) for i in range(len(lengths) - 1)
)
if not 0 < near or abs(far / near - 1) > tolerance:
    sys.exit(f"error: expected equal costs of a position, but got {near:.1f} and {far:.1f}")
print(f"{far:.0f} for each position: linear")
