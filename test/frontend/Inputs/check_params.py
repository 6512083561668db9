"""Compares the table of `attnc --emit=params` with a weights file.

Reads the table on standard input. Every parameter must have its tensor, of a
fitting shape, and every tensor must be used, all of it. Prints what differs, and
exits with status 1 if something does.
"""

import json
import math
import re
import struct
import sys

LINE = re.compile(
    r'(?P<path>\S+)\s+\[(?P<shape>[^]]*)\]\s+(?P<type>\S+)'
    r'(?:\s+"(?P<foreign>[^"]*)"(?:\[(?P<slice>[^]]*)\])?)?$'
)
TYPES = {"f32": "F32"}


def read_header(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    return header


def main():
    header = read_header(sys.argv[1])
    problems = []
    used = {}
    count = 0
    for line in sys.stdin:
        match = LINE.match(line.rstrip("\n"))
        if not match:
            problems.append(f"expected path, shape and type, but got {line!r}")
            continue
        count += 1
        path = match["path"]
        shape = [int(size) for size in match["shape"].split(",") if size.strip()]
        name = match["foreign"] or path
        tensor = header.get(name)
        if tensor is None:
            problems.append(f"{path}: expected a tensor {name!r}")
            continue
        if tensor["dtype"] != TYPES.get(match["type"]):
            problems.append(f"{path}: expected {match['type']}, but got {tensor['dtype']}")
        ranges = [
            tuple(int(end) for end in part.split(":"))
            for part in (match["slice"] or "").split(",")
            if part.strip()
        ]
        whole = tensor["shape"]
        part = list(whole)
        for i, (start, stop) in enumerate(ranges):
            if i >= len(whole) or stop > whole[i]:
                problems.append(f"{path}: expected ranges within {whole}, but got {ranges}")
                break
            part[i] = stop - start
        if match["foreign"]:
            if math.prod(part) != math.prod(shape):
                problems.append(f"{path}: expected {shape}, but got {part} of {name!r}")
        elif part != shape:
            problems.append(f"{path}: expected {shape}, but got {part}")
        used[name] = used.get(name, 0) + math.prod(part)
    for name, tensor in header.items():
        if used.get(name, 0) != math.prod(tensor["shape"]):
            problems.append(
                f"expected all {math.prod(tensor['shape'])} elements of {name!r} "
                f"to be used, but got {used.get(name, 0)}"
            )
    for problem in problems:
        print(problem)
    print(f"{count} parameters in {len(header)} tensors")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
