"""W5 and W6: transformers, against CTranslate2."""

import json
import random

from bench.driver.environment import ROOT, Missing
from bench.workloads import decoding
from bench.workloads.models import Model, read_lines

WORKERS = ROOT / "bench" / "workers"
SPEC = "aren.attn"


def aren(environment):
    """Names to transliterate: those of the reference, and more made of their halves."""
    folder = environment.shared_model("aren")
    references = [json.loads(line) for line in read_lines(folder / "reference.jsonl")]
    names = [one["source"].split() for one in references]
    generator = random.Random(1)
    while len(names) < 500:
        begin, end = generator.choice(names[:29]), generator.choice(names[:29])
        names.append(begin[: -(-len(begin) // 2)] + end[len(end) // 2 :])
    model = Model(
        environment, "aren", environment.shared / "specs" / SPEC,
        folder / "weights.safetensors",
        {"source": folder / "source.vocab", "target": folder / "target.vocab"},
        [" ".join(name) for name in names], source_end=False, start="<s>", end="</s>")
    return model, references


def base(environment):
    """A transformer of base size; sentences of 10 to 40 words."""
    environment.need("numpy", "safetensors")
    words = 32000
    folder = environment.output / "inputs"
    weights = folder / "base.safetensors"
    if not weights.exists():
        environment.run_python(WORKERS / "make_transformer.py", weights, 6, 512, 2048, words)
    vocabulary = folder / "base.vocab"
    # The unknown token is the last, and not in the file.
    vocabulary.write_text("".join(
        f"{word}\n" for word in ["<blank>", "<s>", "</s>"]
        + [f"w{i}" for i in range(words - 4)]))
    generator = random.Random(1)
    sentences = [" ".join(f"w{generator.randrange(words - 4)}"
                          for _ in range(generator.randint(10, 40))) for _ in range(32)]
    return Model(environment, "base", environment.shared / "specs" / SPEC, weights,
                 {"source": vocabulary, "target": vocabulary}, sentences,
                 dims=("D=512", "F=2048"), source_end=False, start="<s>", end="</s>"), []


def candidates(environment, model):
    found, notes = decoding.ours(environment, model)
    for kind in "float32", "int8":
        name = "ctranslate2" if kind == "float32" else "ctranslate2-int8"
        if not environment.wants(name):
            continue
        folder = environment.output / "models" / f"{model.name}-ctranslate2-{kind}"
        try:
            environment.need("ctranslate2", "numpy", "safetensors")
            if not (folder / "model.bin").exists():
                environment.run_python(
                    WORKERS / "convert_ctranslate2.py", model.weights,
                    *model.vocabularies.values(), 6, 8, kind, folder)
        except Missing as missing:
            notes.append((name, str(missing)))
            continue

        def command(threads, folder=folder, kind=kind):
            return environment.python_worker(
                "transformer_ctranslate2", folder=str(folder), compute_type=kind,
                threads=threads, sources=str(model.sources),
                source_vocabulary=str(model.vocabularies["source"]),
                target_vocabulary=str(model.vocabularies["target"]))

        found.append(decoding.Candidate(name, command, exact=kind == "float32"))
    return found, notes


def run(environment, workload, threads):
    try:
        model, references = {"W5": aren, "W6": base}[workload](environment)
    except Missing as missing:
        return [{"workload": workload, "setting": "", "threads": threads, "candidate": "",
                 "note": str(missing)}]
    if workload == "W5":
        # CTranslate2's own rule of stopping and its own maximum length.
        rule = {"max_length_factor": 0, "max_length_offset": 256, "min_length": 1,
                "stop": "count"}
        settings = [
            decoding.Setting("greedy, batch 1", beam=1, batch=1, latency=True, **rule),
            decoding.Setting("beam 5, batch 1", beam=5, batch=1, latency=True, **rule),
            decoding.Setting("beam 5, batch 32", beam=5, batch=32, chunk=None, **rule)]
        sentences, checked = (100, 100) if environment.quick else (500, 500)
        rounds = 1 if environment.quick else 10
    else:
        # As many steps for all: of random weights, no end is likely before the maximum
        # length.
        rule = {"max_length_factor": 0, "max_length_offset": 24, "min_length": 1,
                "stop": "count"}
        settings = [
            decoding.Setting("beam 4, batch 1", beam=4, batch=1, latency=True, chunk=1,
                             sentences=4 if environment.quick else 16, **rule),
            decoding.Setting("beam 4, batch 32", beam=4, batch=32, chunk=None, **rule)]
        sentences = checked = 32
        rounds = 1 if environment.quick else 3

    def reference(setting):
        if setting.request["beam"] == 1:
            return [model.target_ids(one["greedy"]) for one in references]
        return None

    found, notes = candidates(environment, model)
    rows = [{"workload": workload, "setting": "", "threads": threads, "candidate": name,
             "note": note} for name, note in notes]
    return rows + decoding.measure(environment, workload, found, settings, threads,
                                   sentences, checked, rounds, reference)
