"""Compares what two tools print with --json: texts, and scores to 1e-4."""

import json
import sys

first, second = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
assert len(first) == len(second), f"expected {len(first)} lines, but got {len(second)}"
for number, (a, b) in enumerate(zip(first, second), 1):
    assert a.get("error") == b.get("error"), f"line {number}: {a} and {b}"
    for one, other in zip(a["hypotheses"], b["hypotheses"], strict=True):
        assert one["text"] == other["text"], f"line {number}: {one} and {other}"
        assert abs(one["score"] - other["score"]) < 1e-4, f"line {number}: {one} and {other}"
