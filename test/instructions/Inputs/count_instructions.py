"""Counts the instructions of a decoding and compares them with those on record.

usage: count_instructions.py RECORD NAME [--write] -- COMMAND...

COMMAND runs twice under callgrind, for one and for two copies of the lines of standard
input: the difference contains nothing of starting and opening. RECORD is a JSON file of
NAME: instructions. More than 3 % above the record is an error; so is more than 10 %
below it, so that what was gained is written down and cannot be lost again unseen.
--write puts the count on record instead.
"""

import argparse
import json
import sys

from callgrind import count_instructions

parser = argparse.ArgumentParser()
parser.add_argument("record")
parser.add_argument("name")
parser.add_argument("--write", action="store_true")
parser.add_argument("command", nargs="+")
arguments = parser.parse_args()
lines = sys.stdin.read()
once, twice = (count_instructions(arguments.command, lines * times) for times in (1, 2))
counted = twice - once
with open(arguments.record) as file:
    record = json.load(file)
if arguments.write:
    record[arguments.name] = counted
    with open(arguments.record, "w") as file:
        json.dump(record, file, indent=2, sort_keys=True)
        file.write("\n")
    sys.exit()
known = record[arguments.name]
print(f"{arguments.name}: {counted} instructions, {100 * counted / known - 100:+.1f} %")
if counted > 1.03 * known:
    sys.exit(f"error: expected at most 3 % more than the {known} on record")
if counted < 0.9 * known:
    sys.exit(f"error: expected no more than 10 % less than the {known} on record: write it down")
