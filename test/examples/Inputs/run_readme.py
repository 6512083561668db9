"""Runs the ```sh blocks of pages in the root of the project, as their readers do.

usage: run_readme.py ROOT PAGE...

What the blocks write lands in an empty folder. Prints what they print.
"""

import os
import re
import subprocess
import sys
import tempfile

root, *pages = sys.argv[1:]
for page in pages:
    with open(page, encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    if not blocks:
        sys.exit(f"{page}: expected a ```sh block")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "scripts", "runtime"):
            os.symlink(os.path.join(root, name), os.path.join(folder, name))
        for block in blocks:
            print(f"{os.path.basename(os.path.dirname(page))}:", flush=True)
            command = ["bash", "-euo", "pipefail", "-c", block]
            if subprocess.run(command, cwd=folder).returncode:
                sys.exit(f"{page}: expected this to run:\n{block}")
