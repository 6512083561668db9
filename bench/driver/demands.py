"""What the figures must show, and whether they do."""

import statistics

# Weights that repeated products find in a cache.
CACHE_BYTES = 8 << 20


class Demand:
    """`figures` picks from all rows the pairs of a figure and where it was measured.
    Figures have to be at least `least`; those of `most` at most so much."""

    def __init__(self, work, against, least, aim, figures, most=False):
        self.work, self.against, self.least, self.aim = work, against, least, aim
        self.figures, self.most = figures, most

    def judge(self, rows):
        found = self.figures(rows)
        line = {"work": self.work, "against": self.against,
                "demand": f"{'<=' if self.most else '>='} {self.least:g}", "aim": self.aim}
        if not found:
            return {**line, "verdict": "not measured"}
        worst, where = (max if self.most else min)(found)
        holds = sum((figure <= self.least) if self.most else (figure >= self.least)
                    for figure, _ in found)
        return {**line, "worst": worst, "median": statistics.median(f for f, _ in found),
                "where": where,
                "verdict": "holds" if holds == len(found) else f"{holds} of {len(found)} hold"}


def where(row):
    return f"{row['setting']}, {row['threads']} threads, {row['candidate']}"


def ratios(workload, candidates, accept=lambda row: True, field="ratio"):
    def figures(rows):
        return [(row[field], where(row)) for row in rows
                if row["workload"] in workload and row["candidate"] in candidates
                and field in row and accept(row)]

    return figures


def int8_against_f32(rows):
    return [(1 / row["ratio"], where(row)) for row in rows
            if row["workload"] == "W3" and row["candidate"] == "attn-int8"
            and "ratio" in row and "batch 1" in row["setting"].split(", ")]


def int8_against_int8(rows):
    """Both rows have the ratio to our f32: theirs by ours is what is asked for."""
    own = {(row["workload"], row["setting"], row["threads"]): row["ratio"] for row in rows
           if row["candidate"] == "attn-int8" and "ratio" in row}
    found = []
    for row in rows:
        key = row["workload"], row["setting"], row["threads"]
        if (row["candidate"] == "ctranslate2-int8" and "ratio" in row and key in own
                and "beam" in row["setting"]):
            found.append((row["ratio"] / own[key], f"{row['workload']} {where(row)}"))
    return found


def is_beam(row):
    return "beam" in row["setting"]


def is_additive(row):
    return row["setting"].startswith("additive")


def has_rows(least, most):
    return lambda row: least <= row["rows"] <= most


def in_cache(row):
    return row["rows"] == 1 and 4 * row["inputs"] * row["outputs"] <= CACHE_BYTES


PEERS = ["torch", "torch-compile", "onnxruntime", "ctranslate2", "ctranslate2-int8"]
DEMANDS = [
    Demand("W1 additive read", "PyTorch eager", 8, "bound within 1.3",
           ratios(["W1"], ["torch"], is_additive)),
    Demand("W1 additive read", "PyTorch compiled", 3, "bound within 1.3",
           ratios(["W1"], ["torch-compile"], is_additive)),
    Demand("W1 dot read, 8 heads", "PyTorch SDPA", 1.2, "2",
           ratios(["W1"], ["torch", "torch-compile"], lambda row: not is_additive(row))),
    Demand("W1 dot read, 8 heads", "oneDNN", 1.2, "2",
           ratios(["W1"], ["onednn"], lambda row: not is_additive(row))),
    Demand("W2, 5 to 48 rows", "OpenBLAS", 1.3, "bound within 1.2",
           ratios(["W2"], ["openblas"], has_rows(5, 48))),
    Demand("W2, 5 to 48 rows", "oneDNN", 1.3, "bound within 1.2",
           ratios(["W2"], ["onednn"], has_rows(5, 48))),
    Demand("W2, 1 row, in cache", "OpenBLAS", 1, "bound within 1.2",
           ratios(["W2"], ["openblas"], in_cache)),
    Demand("W2, 1 row, in cache", "oneDNN", 1, "bound within 1.2",
           ratios(["W2"], ["onednn"], in_cache)),
    Demand("W3 beam 5, f32", "PyTorch", 8, "20",
           ratios(["W3"], ["torch", "torch-compile"], is_beam)),
    Demand("W3 beam 5, f32", "ONNX Runtime", 3, "6", ratios(["W3"], ["onnxruntime"], is_beam)),
    Demand("W3", "Marian", 1.5, "3", ratios(["W3"], ["marian"])),
    Demand("W3 int8, batch 1", "our f32", 1.8, "3", int8_against_f32),
    Demand("W5, W6 beam, f32", "CTranslate2", 1.1, "2",
           ratios(["W5", "W6"], ["ctranslate2"], is_beam)),
    Demand("W5, W6 beam, int8", "CTranslate2", 1.1, "2", int8_against_int8),
    Demand("W7 peak memory, of theirs", "each peer", 0.25, "0.1",
           ratios(["W7"], PEERS, field="our_peak"), most=True),
]
COLUMNS = [
    ("work", "work", str), ("against", "against", str), ("at least", "demand", str),
    ("aim", "aim", str), ("worst", "worst", "{:.2f}".format),
    ("median", "median", "{:.2f}".format), ("", "verdict", str), ("worst where", "where", str),
]


def judge(rows):
    return [demand.judge(rows) for demand in DEMANDS]
