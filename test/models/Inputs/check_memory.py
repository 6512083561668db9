"""Watches the memory of a process that decodes many sentences.

usage: check_memory.py COUNT WORDS COMMAND...

The resident memory after COUNT sentences of 2 to 40 of the words in the vocabulary
file WORDS has to be within 1 MB of that after 100; so has the most that there
ever was. COUNT is a multiple of 20.
"""

import random
import re
import subprocess
import sys

count, vocabulary, *command = sys.argv[1:]
with open(vocabulary, encoding="utf-8") as file:
    words = [word for word in file.read().split("\n") if re.fullmatch(r"[^<\s].*", word)]
generator = random.Random(17)
# Each batch has sentences of all lengths, so that none needs more than the first.
WINDOW = 20

process = subprocess.Popen(
    [*command, f"--window={WINDOW}", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)


def decode(sentences):
    for _ in range(sentences // WINDOW):
        lengths = list(range(2, 2 * WINDOW + 1, 2))
        generator.shuffle(lengths)
        for length in lengths:
            line = " ".join(generator.choices(words, k=length))
            process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        for _ in lengths:
            assert b'"hypotheses"' in process.stdout.readline(), "expected a result"


def measure():
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        text = file.read()
    return [int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) for name in ("VmRSS", "VmHWM")]


decode(100)
before = measure()
decode(int(count) - 100)
after = measure()
process.stdin.close()
if process.wait():
    sys.exit("error: expected the tool to succeed")
print(f"after 100 sentences {before} kB, after {count} {after} kB, now and at most")
if any(later - earlier > 1024 for earlier, later in zip(before, after)):
    sys.exit("error: expected at most 1024 kB more")
print("memory stays")
