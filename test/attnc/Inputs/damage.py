"""Runs attnc on damaged copies of a weights file.

usage: damage.py SCRATCH WEIGHTS COMMAND...

COMMAND is attnc with its options but for --weights and -o. Each damage has to
end in one message that names what is wrong, status 1, and no library.
"""

import json
import os
import struct
import subprocess
import sys

scratch, weights, *command = sys.argv[1:]
with open(weights, "rb") as file:
    original = file.read()
size = struct.unpack("<Q", original[:8])[0]
header = json.loads(original[8 : 8 + size])
data = original[8 + size :]


def pack(changed, body=data):
    text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def change(name, **fields):
    return pack({k: ({**v, **fields} if k == name else v) for k, v in header.items()})


def without(name):
    """The file without a tensor, its bytes given to the one before."""
    start, stop = header[name]["data_offsets"]
    rest = {}
    for key, entry in header.items():
        if key == name:
            continue
        if "data_offsets" in entry and entry["data_offsets"][0] >= stop:
            entry = {
                **entry,
                "data_offsets": [o - (stop - start) for o in entry["data_offsets"]],
            }
        rest[key] = entry
    return pack(rest, data[:start] + data[stop:])


def poke(name, number):
    start = header[name]["data_offsets"][0]
    return pack(header, data[:start] + struct.pack("<f", number) + data[start + 4 :])


v, U, last, end = "decoder.align.v", "decoder.align.U", "decoder.predict.bias", len(data)
CASES = {
    "missing": (without(v), v),
    "surplus": (
        pack(
            {**header, "extra": {"dtype": "F32", "shape": [1], "data_offsets": [end, end + 4]}},
            data + b"\0\0\0\0",
        ),
        "extra",
    ),
    "misshapen": (change(v, shape=[64, 2]), v),
    "renamed": (pack({k.replace(v, "decoder.align.w"): e for k, e in header.items()}), v),
    "cut": (original[:-100], None),
    "cut in the header": (original[:200], None),
    "empty": (b"", None),
    "NaN": (poke(v, float("nan")), v),
    "infinity": (poke(U, float("inf")), U),
    "header larger than the file": (struct.pack("<Q", len(original) * 2) + original[8:], None),
    "header of 2^63 bytes": (struct.pack("<Q", 1 << 63) + original[8:], None),
    "overlapping offsets": (
        change(last, data_offsets=[o - 4 for o in header[last]["data_offsets"]])[:-4],
        last,
    ),
    "backward offsets": (change(v, data_offsets=header[v]["data_offsets"][::-1]), v),
    "huge shape": (change(v, shape=[1 << 62, 1 << 62]), v),
    "negative shape": (change(v, shape=[-128]), v),
    "unknown type": (change(v, dtype="Q7"), v),
    "deep nesting": (pack(b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}"), None),
    "not JSON": (pack(b"{ weights }"), None),
    "trailing bytes": (original + b"1234", None),
}

failed = 0
for case, (contents, name) in CASES.items():
    damaged = os.path.join(scratch, "damaged.safetensors")
    library = os.path.join(scratch, "libdamaged.so")
    with open(damaged, "wb") as file:
        file.write(contents)
    result = subprocess.run(
        [*command, "--weights", damaged, "-o", library], capture_output=True, text=True
    )
    problems = result.stderr.splitlines()
    # A tensor under another name is two problems: one is missing, one surplus.
    expected = 2 if case == "renamed" else 1
    wrong = []
    if result.returncode != 1:
        wrong.append(f"status {result.returncode}")
    if len(problems) != expected or not all(p.startswith("attnc: error: ") for p in problems):
        wrong.append(f"{len(problems)} lines")
    if name and name not in result.stderr:
        wrong.append(f"no word of {name}")
    if [file for file in os.listdir(scratch) if file != "damaged.safetensors"]:
        wrong.append("files are left")
    print(f"{case}: {'; '.join(wrong) or 'ok'}: {result.stderr.strip()[:300]}")
    failed += bool(wrong)
print(f"{len(CASES) - failed} of {len(CASES)} damaged files end in their message")
sys.exit(failed != 0)
