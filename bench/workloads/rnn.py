"""W3 and W4: models with additive attention over a bidirectional GRU."""

import json

from bench.driver.environment import Missing
from bench.workloads import decoding
from bench.workloads.models import Model, read_lines


def m30k(environment):
    folder = environment.shared_model("m30k")
    return Model(
        environment, "m30k", environment.shared / "specs" / "rnnsearch.attn",
        folder / "weights.safetensors",
        {"source": folder / "source.vocab", "target": folder / "target.vocab"},
        read_lines(folder / "test.source"),
        dims=("E=192", "H=192", "S=384", "A=192", "L=192")), folder


def g2p(environment):
    folder = environment.root / "examples" / "g2p"
    shared = environment.shared_model("g2p")
    return Model(
        environment, "g2p", folder / "g2p.attn", folder / "g2p.safetensors",
        {"source": folder / "source.vocab", "target": folder / "target.vocab"},
        read_lines(shared / "test.source")), shared


def candidates(environment, model):
    """What there is, and notes about what there is not."""
    found, notes = decoding.ours(environment, model)

    def peer(name, packages, module, **config):
        if not environment.wants(name):
            return
        try:
            environment.need(*packages)
        except Missing as missing:
            notes.append((name, str(missing)))
            return
        found.append(decoding.Candidate(
            name, lambda threads: model.peer(module, threads, **config)))

    peer("torch", ["torch", "safetensors"], "rnn_torch", mode="eager")
    peer("torch-compile", ["torch", "safetensors"], "rnn_torch", mode="compile")
    peer("onnxruntime", ["onnxruntime", "onnx", "safetensors"], "rnn_onnxruntime")
    return found, notes


def marian(environment, model, threads):
    """Marian's RNN: its equations differ a little, so it has random weights, and as
    many steps of as many hypotheses."""
    workload, steps, words = "W3", 26, 12
    try:
        environment.need("pymarian", "numpy")
        folder = environment.output / "models" / "marian"
        if not (folder / "model.npz").exists():
            # As many multiply-adds a step as fit into those of m30k: 2.1 of 2.4 million.
            environment.run_python(
                environment.root / "bench" / "workers" / "make_marian.py", folder, 192, 256,
                len(read_lines(model.vocabularies["source"])), len(model.target))
    except Missing as missing:
        return [{"workload": workload, "setting": "", "threads": threads,
                 "candidate": "marian", "note": str(missing)}]
    sources = environment.output / "inputs" / "marian.ids"
    lines = [line.split() for line in read_lines(model.sources)]
    chosen = [line[:words] for line in lines if len(line) >= words]
    sources.write_text("".join(" ".join(line) + "\n" for line in chosen))
    fixed = {"max_length_factor": 0, "max_length_offset": steps, "min_length": steps}
    settings = [
        decoding.Setting(f"beam 5, batch {batch}, {steps} steps", beam=5, batch=batch,
                         chunk=1 if batch == 1 else None, latency=batch == 1, **fixed)
        for batch in (1, 32)]
    library = model.library()
    found = [
        decoding.Candidate(decoding.OURS, lambda threads: [
            *model.worker(library, threads)[:3], sources, str(threads)]),
        decoding.Candidate("marian", lambda threads: environment.python_worker(
            "rnn_marian", folder=str(folder), sources=str(sources), threads=threads),
            note="other equations, as many steps")]
    return decoding.measure(environment, workload, found, settings, threads,
                            32 if environment.quick else 128, 32,
                            1 if environment.quick else 3)


def run(environment, workload, threads):
    make = {"W3": m30k, "W4": g2p}[workload]
    try:
        model, folder = make(environment)
    except Missing as missing:
        return [{"workload": workload, "setting": "", "threads": threads,
                 "candidate": "", "note": str(missing)}]
    # The lengths of the reference: 2 * (tokens + end token) + 10.
    lengths = {"max_length_factor": 2, "max_length_offset": 12}
    settings = [
        decoding.Setting("greedy, batch 1", beam=1, batch=1, latency=True, **lengths),
        decoding.Setting("beam 5, batch 1", beam=5, batch=1, latency=True, **lengths),
        decoding.Setting("beam 5, batch 32", beam=5, batch=32, chunk=None, **lengths),
    ]
    references = [json.loads(line) for line in read_lines(folder / "reference.jsonl")]
    checked = min(40 if environment.quick else 200, len(references))

    def reference(setting):
        if setting.request["beam"] == 1:
            return [model.target_ids(one["greedy"]) for one in references[:checked]]
        # A runner-up as good as the best may stand before it.
        return [model.target_ids(one["beam5_alpha1"][0]["text"])
                if one["beam5_alpha1"][0]["score"] - one["beam5_alpha1"][1]["score"] > 2e-5
                else None for one in references[:checked]]

    found, notes = candidates(environment, model)
    rows = [{"workload": workload, "setting": "", "threads": threads, "candidate": name,
             "note": note} for name, note in notes]
    sentences = min(model.count, 96 if environment.quick else 1000)
    rows += decoding.measure(
        environment, workload, found, settings, threads, sentences, checked,
        1 if environment.quick else 3, reference)
    if workload == "W3" and environment.wants("marian"):
        rows += marian(environment, model, threads)
    return rows
