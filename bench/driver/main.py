"""The command line of bench/run."""

import argparse
import json
import os
import pathlib
import sys
import time

from bench.driver import demands
from bench.driver.environment import ROOT, Environment
from bench.driver.report import rows_table, table
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
        help="a folder for results.json, results.md, logs and compiled models")
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
    results = {"command": command(arguments), "machine": environment.describe(),
               "date": time.strftime("%Y-%m-%d"), "rows": []}
    tables = []

    def show(text):
        tables.append(text)
        print(text, flush=True)
        # As far as it has come, should it be interrupted.
        (environment.output / "results.json").write_text(json.dumps(results, indent=1))
        (environment.output / "results.md").write_text("\n".join(tables))

    show(f"{describe(results)}\n")
    for name in arguments.workload or sorted(WORKLOADS):
        title, run = WORKLOADS[name]
        rows, before = [], os.getloadavg()[0]
        for threads in map(int, arguments.threads.split(",")):
            rows += run(environment, name, threads)
        results["rows"] += rows
        # More than the threads that are measured: others were at work.
        load = f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after"
        show(rows_table(f"{name}: {title} ({load})", rows))
    results["demands"] = demands.judge(results["rows"])
    show(table("### What it must show", demands.COLUMNS, results["demands"]))
    return 0


def command(arguments):
    """Without the folders, which say nothing about the figures."""
    words = ["bench/run"]
    for name in arguments.workload or []:
        words += ["--workload", name]
    words += ["--threads", arguments.threads]
    if arguments.peers:
        words += ["--peers", arguments.peers]
    return " ".join(words + ["--quick"] * arguments.quick)


def describe(results):
    machine = results["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (f"`{results['command']}`, {results['date']}: "
            f"{machine['processor']}, {machine['cores']} cores, {machine['vectors']}; "
            f"load {machine['load']:.1f} at the beginning; {packages}")
