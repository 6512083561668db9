"""Names a quantised file: the `names` block of a spec, where every tensor that the
file holds as I8 is divided by its scales.

usage: quantise_names.py SPEC WEIGHTS > NAMES
"""

import json
import re
import struct
import sys

spec, weights = sys.argv[1:]
with open(weights, "rb") as file:
    (size,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(size))
with open(spec, encoding="utf-8") as file:
    names = re.search(r"^names \{$.*?^\}$", file.read(), re.MULTILINE | re.DOTALL)[0]


def add_scale(mapping):
    name, ranges = mapping.groups()
    tensor = header.get(name.replace("{i}", "0"))
    if not tensor or tensor["dtype"] != "I8":
        return mapping[0]
    return f'"{name}"{ranges} / "{name}_scale"{ranges}'


print(re.sub(r'(?<=from )"([^"]+)"(\[[^]]*\]|)', add_scale, names))
