"""The command line of bench/run."""

import argparse
import json
import pathlib
import sys
import time

from bench.driver.environment import ROOT, Environment
from bench.driver.report import print_rows
from bench.workloads import WORKLOADS


def parse():
    parser = argparse.ArgumentParser(
        prog="bench/run", description="Measures compiled models and their peers, in turns.")
    add = parser.add_argument
    add("--workload", action="append", choices=sorted(WORKLOADS), metavar="W",
        help="one of %(choices)s; may be repeated (default all)")
    add("--threads", default="1,2", help="numbers of threads, with commas (default 1,2)")
    add("--peers", help="only these, with commas (default all that are installed)")
    add("--quick", action="store_true", help="few rounds, few sentences: to check the harness")
    add("--build", default=ROOT / "build" / "release", help="where attnc was built")
    add("--venv", default=ROOT / "build" / "bench" / "venv",
        help="where bench/setup has put the peers")
    add("--output", default=ROOT / "build" / "bench",
        help="a folder for results.json, logs and compiled models")
    return parser.parse_args()


def main():
    arguments = parse()
    python = pathlib.Path(arguments.venv) / "bin" / "python"
    environment = Environment(
        arguments.build, str(python.absolute()) if python.exists() else None, arguments.output,
        arguments.peers.split(",") if arguments.peers else None, arguments.quick)
    if not environment.attnc.exists():
        print(f"error: expected attnc at {environment.attnc}", file=sys.stderr)
        return 1
    if not python.exists():
        print(f"no peers: expected a venv at {arguments.venv} (bench/setup)", file=sys.stderr)
    results = {"command": sys.argv, "machine": environment.describe(),
               "date": time.strftime("%Y-%m-%d"), "rows": []}
    print(json.dumps(results["machine"]), flush=True)
    for name in arguments.workload or sorted(WORKLOADS):
        title, run = WORKLOADS[name]
        rows = []
        for threads in map(int, arguments.threads.split(",")):
            rows += run(environment, name, threads)
        print_rows(f"{name}: {title}", rows)
        results["rows"] += rows
        (environment.output / "results.json").write_text(json.dumps(results, indent=1))
    return 0
