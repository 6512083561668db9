"""How a worker talks with the driver: a JSON object a line, in both directions.

A worker is a process that holds one candidate, so that its threads, its memory
and its mistakes are its own. It answers each request `{"command": ..., ...}`
with one object; `peak_mib`, the most memory that it has had so far, is always
part of it.
"""

import json
import os
import sys
import traceback


def peak_mib():
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def serve(start):
    """Calls `start` with the configuration; it returns the commands by name."""
    # Libraries print to standard output what they like: it must not be read as
    # an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value):
        answers.write(json.dumps({**value, "peak_mib": peak_mib()}) + "\n")
        answers.flush()

    try:
        commands = start(json.loads(sys.argv[1]))
    except Exception as error:
        traceback.print_exc()
        answer({"error": f"{type(error).__name__}: {error}"})
        return
    answer({})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer(commands[request.pop("command")](**request))
        except Exception as error:
            traceback.print_exc()
            answer({"error": f"{type(error).__name__}: {error}"})
