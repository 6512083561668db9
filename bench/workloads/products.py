"""W2: the matrix products of decoding."""

from bench.workloads.kernels import (WORKERS, Candidate, halide, measure, onednn,
                                     peers)

# Inputs and outputs of linear layers: of g2p, of m30k, of RNNsearch with 1,024 units,
# of a transformer of base size; its and RNNsearch's vocabularies.
SIZES = [(128, 43), (128, 384), (384, 768), (192, 4568), (384, 192), (576, 1152),
         (960, 384), (1024, 1024), (1024, 3072), (2048, 1024), (512, 512), (512, 2048),
         (2048, 512), (512, 32000)]
ROWS = [1, 5, 6, 12, 40, 160]


def openblas(environment):
    environment.need("scipy-openblas32")
    library = environment.packages / "scipy_openblas32" / "lib" / "libscipy_openblas.so"
    program = environment.program("products_openblas", [WORKERS / "products_openblas.cpp"],
                                  ["-ldl"])
    return [program, library]


def run(environment, workload, threads):
    def note(name, text):
        return {"workload": workload, "setting": "", "threads": threads, "candidate": name,
                "note": text}

    program = environment.build / "bin" / "bench_products"
    if not program.exists():
        return [note("attn", "bench_products is not built (target bench)")]
    bound = environment.program("products_bound", [WORKERS / "products_bound.cpp"],
                                ["-O3", "-march=native"])
    found, notes = peers(environment, [
        Candidate("attn-halide", lambda threads: halide(environment, program)),
        Candidate("openblas", lambda threads: openblas(environment)),
        Candidate("onednn", lambda threads: onednn(environment, "products_onednn"))])
    candidates = [Candidate("attn", lambda threads: [program]),
                  Candidate("bound", lambda threads: [bound], checked=False), *found]
    rows = [note(name, text) for name, text in notes]
    sizes = SIZES[2:5] if environment.quick else SIZES
    shapes = [(f"{inputs} x {outputs}, {count} rows",
               {"rows": count, "inputs": inputs, "outputs": outputs})
              for inputs, outputs in sizes for count in ROWS]
    return rows + measure(environment, workload, candidates, shapes, threads, 1e-3)
