"""Measures how much memory a tool takes in relation to the weights.

usage: peak_memory.py LIMIT WEIGHTS SENTENCE COMMAND...

COMMAND is a decoding tool with its model. What the tool takes without a model is
not counted. Fails if more than LIMIT times the bytes of WEIGHTS are taken.
"""

import os
import subprocess
import sys

limit, weights, sentence, *command = sys.argv[1:]


def peak(command, lines):
    """The largest resident set of a process, in bytes."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    process.stdin.write(lines.encode())
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"error: {' '.join(command)} ends with {status}")
    return usage.ru_maxrss * 1024


taken = peak(command, sentence + "\n") - peak([command[0], "--help"], "")
ratio = taken / os.path.getsize(weights)
print(f"{taken / 1e6:.2f} MB, {ratio:.2f} times the weights")
if ratio > float(limit):
    sys.exit(f"error: expected at most {limit} times the weights")
