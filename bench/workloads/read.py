"""W1: fused reads, of one query a sentence or of a beam."""

from bench.workloads.kernels import Candidate, halide, measure, onednn, peers


def run(environment, workload, threads):
    program = environment.build / "bin" / "bench_read"
    if not program.exists():
        return [{"workload": workload, "setting": "", "threads": threads, "candidate": "attn",
                 "note": "bench_read is not built (target bench)"}]

    def torch(mode):
        def command(threads):
            environment.need("torch")
            return environment.python_worker("read_torch", mode=mode, threads=threads)

        return command

    found, notes = peers(environment, [
        Candidate("attn-halide",
                  lambda threads: halide(environment, program, "attn")),
        Candidate("torch", torch("eager")), Candidate("torch-compile", torch("compile")),
        Candidate("onednn", lambda threads: onednn(environment, "read_onednn"),
                  takes=lambda shape: shape["heads"] > 1)])
    candidates = [
        Candidate("attn", lambda threads: [program, "attn"]),
        Candidate("attn-once", lambda threads: [program, "attn-once"],
                  takes=lambda shape: shape["heads"] == 1),
        Candidate("loops", lambda threads: [program, "loops"],
                  takes=lambda shape: shape["heads"] == 1 and shape["queries"] == 1),
        # Not an output to compare: the bound that memory sets.
        Candidate("touch", lambda threads: [program, "touch"], checked=False),
    ] + found
    batches = (1, 8) if environment.quick else (1, 8, 64)
    positions = (16, 256) if environment.quick else (16, 64, 256, 1024, 4096)
    shapes = []
    for title, heads in (("additive", 1), ("dot, 8 heads", 8)):
        for batch in batches:
            for memory in positions:
                for queries in (1, 5):
                    beam = "" if queries == 1 else f", beam {queries}"
                    shapes.append((f"{title}, batch {batch}, memory {memory}{beam}", {
                        "sentences": batch, "positions": memory, "features": 512,
                        "heads": heads, "queries": queries}))
    rows = [{"workload": workload, "setting": "", "threads": threads, "candidate": name,
             "note": note} for name, note in notes]
    return rows + measure(environment, workload, candidates, shapes, threads, 1e-4)
