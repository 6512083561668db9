"""Opens a file in a language server, as an editor does, and prints what it says.

usage: session.py SERVER FILE

The file is opened as it is, and without its lines that end in `wrong`; there the
cursor rests on the operation of the second line.
"""

import json
import subprocess
import sys


def message(**fields):
    text = json.dumps({"jsonrpc": "2.0", **fields})
    return f"Content-Length: {len(text.encode())}\r\n\r\n{text}"


server, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    text = file.read()


def opened(uri, text):
    document = {"uri": uri, "languageId": "mlir", "version": 1, "text": text}
    return message(method="textDocument/didOpen", params={"textDocument": document})


good = "file:///good.mlir"
good_lines = [line for line in text.splitlines(True) if not line.rstrip().endswith("wrong")]
place = {"textDocument": {"uri": good}, "position": {"line": 1, "character": 9}}
session = "".join(
    [
        message(id=0, method="initialize", params={"capabilities": {}}),
        message(method="initialized", params={}),
        opened("file:///bad.mlir", text),
        opened(good, "".join(good_lines)),
        message(id=1, method="textDocument/hover", params=place),
        message(id=2, method="shutdown"),
        message(method="exit"),
    ]
)
done = subprocess.run([server, "--log=error"], input=session.encode(), stdout=subprocess.PIPE)
rest = done.stdout.decode()
while rest.strip():
    header, rest = rest.split("\r\n\r\n", 1)
    size = int(header.split("Content-Length:")[1].split()[0])
    answer, rest = json.loads(rest.encode()[:size]), rest.encode()[size:].decode()
    if answer.get("method") == "textDocument/publishDiagnostics":
        for diagnostic in answer["params"]["diagnostics"]:
            start = diagnostic["range"]["start"]
            print(f"{start['line'] + 1}:{start['character'] + 1}: {diagnostic['message']}")
    elif answer.get("id") == 0:
        print("server:", answer["result"]["serverInfo"]["name"])
    elif answer.get("id") == 1:
        print("hover:", answer["result"]["contents"]["value"])
sys.exit(done.returncode)
