"""Puts a program in the place of attn-run whose scores on a device are 1 too high."""

import sys
from pathlib import Path

tool = Path(sys.argv[1])
original = tool.rename(tool.with_suffix(".original"))
tool.write_text(
    f"""#!{sys.executable}
import json, subprocess, sys
done = subprocess.run([{str(original)!r}, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
for line in done.stdout.splitlines():
    if "--device" in sys.argv:
        result = json.loads(line)
        result["hypotheses"][0]["score"] += 1
        line = json.dumps(result)
    print(line)
sys.exit(done.returncode)
"""
)
tool.chmod(0o755)
