"""Compares two folders that --dump has written.

usage: compare_dumps.py ONE OTHER [TOLERANCE]

Both have to hold the same names of the same shapes. Prints how many values agree
within the tolerance (1e-4), times the larger of 1 and the value; the first that do
not, and where, are what a foreign model should be looked at for.
"""

import ast
import math
import os
import struct
import sys


def read(path):
    """The shape and the numbers of a .npy file, as numpy.load would give them."""
    with open(path, "rb") as file:
        content = file.read()
    assert content[:8] == b"\x93NUMPY\x01\x00", path
    (size,) = struct.unpack("<H", content[8:10])
    header = ast.literal_eval(content[10 : 10 + size].decode())
    data = content[10 + size :]
    kind = {"<f4": "f", "<i4": "i"}[header["descr"]]
    assert (10 + size) % 64 == 0 and not header["fortran_order"], path
    assert len(data) == 4 * math.prod(header["shape"]), path
    return header["shape"], struct.unpack(f"<{len(data) // 4}{kind}", data)


def files(folder):
    return {
        os.path.relpath(os.path.join(path, name), folder)
        for path, _, names in os.walk(folder)
        for name in names
    }


def main():
    one, other = sys.argv[1:3]
    tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-4
    if files(one) != files(other):
        sys.exit(f"expected the same files, but these differ: {files(one) ^ files(other)}")
    wrong = numbers = 0
    for name in sorted(files(one)):
        (shape, values), (expected_shape, expected) = (
            read(os.path.join(folder, name)) for folder in (one, other)
        )
        if shape != expected_shape:
            sys.exit(f"{name}: expected the shape {expected_shape}, but got {shape}")
        numbers += len(values)
        for place, (value, wanted) in enumerate(zip(values, expected)):
            if not abs(value - wanted) <= tolerance * max(1, abs(wanted)) and value != wanted:
                wrong += 1
                print(f"{name}: number {place} of {shape}: expected {wanted}, but got {value}")
                break
    print(f"{len(files(one)) - wrong} of {len(files(one))} names agree, {numbers} numbers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
