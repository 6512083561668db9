"""W1: fused reads of one query a sentence."""

from bench.driver.environment import Missing
from bench.workloads.kernels import Candidate, measure


def peers(environment, table):
    """Candidates of (name, packages, command), and rows for those that lack
    something."""
    found, notes = [], []
    for name, packages, command in table:
        if not environment.wants(name):
            continue
        try:
            environment.need(*packages)
            found.append(Candidate(name, command))
        except Missing as missing:
            notes.append((name, str(missing)))
    return found, notes


def run(environment, workload, threads):
    program = environment.build / "bin" / "bench_read"
    if not program.exists():
        return [{"workload": workload, "setting": "", "threads": threads, "candidate": "attn",
                 "note": "bench_read is not built (target bench)"}]
    found, notes = peers(environment, [
        ("torch", ["torch"], lambda threads: environment.python_worker(
            "read_torch", mode="eager", threads=threads)),
        ("torch-compile", ["torch"], lambda threads: environment.python_worker(
            "read_torch", mode="compile", threads=threads)),
    ])
    candidates = [
        Candidate("attn", lambda threads: [program, "attn"]),
        Candidate("loops", lambda threads: [program, "loops"],
                  takes=lambda shape: shape["heads"] == 1),
        # Not an output to compare: the bound that memory sets.
        Candidate("touch", lambda threads: [program, "touch"], checked=False),
    ] + found
    batches = (1, 8) if environment.quick else (1, 8, 64)
    positions = (16, 256) if environment.quick else (16, 64, 256, 1024, 4096)
    shapes = []
    for title, heads in (("additive", 1), ("dot, 8 heads", 8)):
        for batch in batches:
            for memory in positions:
                shapes.append((f"{title}, batch {batch}, memory {memory}", {
                    "sentences": batch, "positions": memory, "features": 512,
                    "heads": heads}))
    rows = [{"workload": workload, "setting": "", "threads": threads, "candidate": name,
             "note": note} for name, note in notes]
    return rows + measure(environment, workload, candidates, shapes, threads, 1e-4)
