"""Writes the numbers of a .npy file of floats in other ways.

usage: write_features.py FILE FOLDER
"""

import ast
import json
import struct
import sys
from pathlib import Path

file, folder = map(Path, sys.argv[1:])
data = file.read_bytes()
size = struct.unpack("<H", data[8:10])[0]
rows, columns = ast.literal_eval(data[10 : 10 + size].decode())["shape"]
numbers = struct.unpack(f"<{rows * columns}f", data[10 + size :])


def write_npy(name, descr, shape, code, values, fortran=False, version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    numbers = struct.pack(f"<{len(values)}{code}", *values)
    start = b"\x93NUMPY" + bytes([version, 0])
    (folder / name).write_bytes(start + length + header + numbers)


def write_safetensors(name, tensors):
    header, blob = {}, b""
    for tensor, shape, values in tensors:
        packed = struct.pack(f"<{len(values)}f", *values)
        offsets = [len(blob), len(blob) + len(packed)]
        header[tensor] = {"dtype": "F32", "shape": shape, "data_offsets": offsets}
        blob += packed
    text = json.dumps(header).encode()
    (folder / name).write_bytes(struct.pack("<Q", len(text)) + text + blob)


shape = (rows, columns)
write_npy("double.npy", "<f8", shape, "d", numbers, version=2)
by_column = [numbers[row * columns + column] for column in range(columns) for row in range(rows)]
write_npy("columns.npy", "<f4", shape, "f", by_column, fortran=True)
write_npy("integers.npy", "<i8", shape, "q", [0] * len(numbers))
write_npy("cut.npy", "<f4", shape, "f", numbers[:-1])
write_npy("numbers.npy", "<f4", (3,), "f", [0, 1, 1])
frames = ("frames", [rows, columns], numbers)
write_safetensors("one.safetensors", [frames])
write_safetensors("two.safetensors", [("other", [2], [1, 2]), frames])
