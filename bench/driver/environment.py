"""Where things are, and what of them is there."""

import functools
import json
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Missing(Exception):
    """Something that a row needs is not there: the row is left out, with a note."""


class Environment:
    root = ROOT

    def __init__(self, build, python, output, peers, quick):
        self.build, self.output = pathlib.Path(build).resolve(), pathlib.Path(output).resolve()
        self.python, self.peers, self.quick = python, peers, quick
        shared = os.environ.get("ATTN_SHARED") or ROOT.parent / "shared"
        self.shared = pathlib.Path(shared)
        self.attnc = self.build / "bin" / "attnc"
        for folder in "logs", "models", "inputs":
            (self.output / folder).mkdir(parents=True, exist_ok=True)

    def shared_model(self, name):
        folder = self.shared / "models" / name
        if not folder.is_dir():
            raise Missing(f"no model {name} in the shared folder (ATTN_SHARED)")
        return folder

    @functools.cached_property
    def versions(self):
        """Of the packages that the peers' Python has."""
        if not self.python:
            return {}
        program = ("import importlib.metadata as m, json; print(json.dumps("
                   "{d.metadata['Name'].lower(): d.version for d in m.distributions()}))")
        result = subprocess.run([self.python, "-c", program], capture_output=True, text=True)
        return json.loads(result.stdout) if result.returncode == 0 else {}

    @functools.cached_property
    def packages(self):
        """The folder of the packages of the peers' Python."""
        program = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        return pathlib.Path(subprocess.run([self.python, "-c", program], capture_output=True,
                                           text=True, check=True).stdout.strip())

    def wants(self, peer):
        return self.peers is None or peer in self.peers

    def need(self, *packages):
        for package in packages:
            if package not in self.versions:
                raise Missing(f"{package} is not installed (bench/setup)")

    @functools.cached_property
    def attnc_help(self):
        return subprocess.run([self.attnc, "--help"], capture_output=True, text=True).stdout

    def compile(self, key, arguments):
        """The library of a model. It is compiled again where attnc or what it is
        asked has changed."""
        library = self.output / "models" / f"lib{key}.so"
        stamp = library.with_suffix(".stamp")
        command = [str(self.attnc), *map(str, arguments), "-o", str(library)]
        made_of = json.dumps([command, self.attnc.stat().st_mtime])
        if not (library.exists() and stamp.exists() and stamp.read_text() == made_of):
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode:
                raise Missing(f"attnc failed: {result.stderr.strip().splitlines()[-1]}")
            stamp.write_text(made_of)
        return library

    @functools.cached_property
    def decode_worker(self):
        """Our worker: plain C++ over the public header."""
        return self.program("decode", [ROOT / "bench" / "workers" / "decode.cpp"], ["-ldl"])

    def python_worker(self, module, **config):
        """The command line of a worker in the peers' Python."""
        return [self.python, "-m", f"bench.workers.{module}", json.dumps(config)]

    def run_python(self, script, *arguments):
        """Makes something, in the peers' Python."""
        result = subprocess.run([self.python, script, *map(str, arguments)],
                                capture_output=True, text=True)
        if result.returncode:
            raise Missing(f"{script.name} failed: {result.stderr.strip().splitlines()[-1]}")

    def program(self, name, sources, flags):
        target = self.output / name
        inputs = [*sources, sources[0].parent / "worker.h"]
        if target.exists() and all(target.stat().st_mtime > one.stat().st_mtime
                                   for one in inputs):
            return target
        compiler = os.environ.get("CXX", "c++")
        subprocess.run([compiler, "-std=c++17", "-O2", f"-I{ROOT / 'runtime' / 'include'}",
                        *sources, *flags, "-o", target], check=True)
        return target

    def describe(self):
        model = "unknown"
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    model = line.split(":", 1)[1].strip()
                    break
        wide = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx_vnni")
                if flag in cpu_flags()]
        return {"processor": model, "cores": os.cpu_count(), "vectors": " ".join(wide),
                "system": platform.release(), "load": os.getloadavg()[0],
                "packages": {name: self.versions[name] for name in (
                    "torch", "onnxruntime", "ctranslate2", "pymarian", "scipy-openblas32",
                    "onednn-cpu-gomp", "numpy")
                    if name in self.versions}}


def cpu_flags():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    return set()
