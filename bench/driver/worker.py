"""A candidate in a process of its own, which is asked over a pipe."""

import json
import os
import select
import subprocess

# Every library that a candidate could use reads one of these.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class WorkerError(Exception):
    pass


class Worker:
    def __init__(self, name, command, threads, log, cwd, timeout=900):
        self.name, self.timeout = name, timeout
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
        self.log = log
        with open(log, "w") as errors:
            self.process = subprocess.Popen(
                command, env=environment, cwd=cwd, text=True, stderr=errors,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.started = self.answer()
        except WorkerError:
            self.close()
            raise

    def ask(self, command, **fields):
        try:
            self.process.stdin.write(json.dumps({"command": command, **fields}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(f"ended; see {self.log}") from None
        return self.answer()

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], self.timeout)
        if not ready:
            raise WorkerError(f"no answer within {self.timeout} s")
        line = self.process.stdout.readline()
        if not line:
            raise WorkerError(f"ended; see {self.log}")
        try:
            reply = json.loads(line)
        except json.JSONDecodeError:
            raise WorkerError(f"expected an object as JSON, but got {line.strip()!r}; is it "
                              "built of this version?") from None
        if "error" in reply:
            raise WorkerError(reply["error"])
        return reply

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
