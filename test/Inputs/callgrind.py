"""Counts instructions, which no other work on the machine changes."""

import re
import subprocess
import sys


def count_instructions(command, text):
    """What `command` takes with `text` as standard input. Ends the process with a
    message where it fails."""
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
        input=text,
        capture_output=True,
        text=True,
    )
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode or not found:
        sys.exit(f"error: expected a count, but got: {result.stderr}")
    return int(found[1])
