"""Checks whole models by the rules: a row is a model, a column is a check.

usage: suite.py ROOT [--shared SHARED] [--seed N] [MODEL...]

Compiles each model and decodes with it, and with the evaluator, which shares no
code with the compiled one. Prints a table of what holds; `-` is what a model has no
part in. Without --shared there are the models of ROOT's examples only.

What a rule says of single operations is in unittests/reference and
unittests/execution: R4, R6, R7, R11 and R12.
"""

import argparse
import json
import os
import random
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from collections import namedtuple

Model = namedtuple("Model", "name spec options weights vocabularies")
# Of log-probabilities, times the larger of 1 and the number.
TOLERANCE = 1e-5
# Hypotheses whose scores are closer may stand in either order.
SWAP_DISTANCE = 2e-5
MARK = re.compile(r"^(<.*>|\s*)$")


class Failure(Exception):
    """What does not hold."""


def require(condition, *message):
    if not condition:
        raise Failure(" ".join(str(part) for part in message))


def close(one, other, tolerance=TOLERANCE):
    return one == other or abs(one - other) <= tolerance * max(1, abs(other))


# Models


def example(root, name, spec, options, weights, vocabularies):
    folder = os.path.join(root, "examples")
    files = {name: os.path.join(folder, file) for name, file in vocabularies.items()}
    return Model(
        name, os.path.join(folder, spec), options, os.path.join(folder, weights), files
    )


def local_models(root):
    letters = {"source": "letters.vocab", "target": "letters.vocab"}
    small = {"source": "g2p/source.vocab", "target": "g2p/target.vocab"}
    sizes = "--dim E=6 --dim H=8 --dim S=12 --dim A=7 --dim L=5"
    return [
        example(root, "g2p", "g2p/g2p.attn", "", "g2p/g2p.safetensors", small),
        example(
            root, "rnnsearch", "rnnsearch/rnnsearch.attn", sizes,
            "rnnsearch/random.safetensors", letters,
        ),
        example(
            root, "seq2seq", "seq2seq/seq2seq.attn", "--dim E=6 --dim H=10",
            "seq2seq/random.safetensors", letters,
        ),
        example(
            root, "hard", "hard/hard.attn", "--dim E=6 --dim H=10",
            "hard/random.safetensors", letters,
        ),
        example(
            root, "luong", "luong/local.attn", "--dim E=6 --dim H=10 --dim R=2",
            "luong/local.safetensors", letters,
        ),
    ]  # fmt: skip


def shared_models(shared):
    """Those that are not among the examples."""
    models = []
    for name in (
        *("location", "transformer", "lm", "captioning", "speech"),
        *("g2p_en", "thai2rom", "aren"),
    ):
        folder = os.path.join(shared, "models", "random", name)
        if not os.path.isdir(folder):
            folder = os.path.join(shared, "models", name)
        options = ""
        if os.path.exists(os.path.join(folder, "dims.txt")):
            with open(os.path.join(folder, "dims.txt"), encoding="utf-8") as file:
                options = file.read().strip()
        vocabularies = {
            file[:-6]: os.path.join(folder, file)
            for file in sorted(os.listdir(folder))
            if file.endswith(".vocab")
        }
        spec = os.path.join(shared, "specs", name + ".attn")
        weights = os.path.join(folder, "weights.safetensors")
        models.append(Model(name, spec, options, weights, vocabularies))
    return models


class Subject:
    """A model with what it is decoded with."""

    def __init__(self, model, scratch, seed):
        self.model = model
        self.name = model.name
        self.scratch = scratch
        self.parameters = None
        self.spec = [model.spec, *shlex.split(model.options)]
        self.vocab = [f"--vocab={name}={path}" for name, path in model.vocabularies.items()]
        self.library = self.compile("native")
        self.evaluator = ["attn-eval", *self.spec, *self.vocab, f"--weights={model.weights}"]
        with open(model.spec, encoding="utf-8") as file:
            text = file.read()
        encoder = re.search(r"^encoder \(\w+: (.*)\)", text, re.MULTILINE)
        source = re.match(r"tokens (\w+)( \+ end)?", encoder[1]) if encoder else None
        target = re.search(r"^decoder \(y: tokens (\w+)", text, re.MULTILINE)
        self.has_encoder = encoder is not None
        self.ends = bool(source and source[2])
        self.target = target[1]
        # What lines are made of: the source's words, those that a model without
        # one continues, or files of so many features.
        self.features = 0
        if encoder and not source:
            dim = re.match(r"features \[(\w+)\]", encoder[1])[1]
            given = re.search(rf"--dim {dim}=(\d+)", model.options)
            self.features = int((given or re.search(rf"^dim {dim} = (\d+)", text, re.M))[1])
        self.source = source[1] if source else self.target
        # Positions of a line, and how many of them make one of the memory.
        self.lengths = {}
        self.stride = 2 ** int((re.search(r"repeat (\d+).*\n +p = pairs", text) or [0, 0])[1])
        self.words = self.read_words(self.source)
        self.target_words = self.read_words(self.target)
        self.end = next(
            word
            for word in self.read_words(self.target, marks=True)
            if re.fullmatch("</s>|<eos>|<end>", word, re.IGNORECASE)
        )
        # The last one is kept for what goes wrong with it.
        self.bad_word = self.words[-1]
        self.words = [word for word in self.words if word != self.bad_word]
        # One whose weights are not those of a softmax, or that has none.
        self.has_factor = "softmax(e) *" in text
        self.generator = random.Random(f"{seed} {model.name}")

    def read_words(self, vocabulary, marks=False):
        with open(self.model.vocabularies[vocabulary], encoding="utf-8") as file:
            words = file.read().split("\n")
        return [word for word in words if bool(MARK.match(word)) == marks and word.strip()]

    def embedding(self, vocabulary):
        """Its width, and its name in the weights file."""
        if not self.parameters:
            self.parameters = subprocess.run(
                ["attnc", *self.spec, *self.vocab, "--emit=params"],
                check=True,
                capture_output=True,
                encoding="utf-8",
            ).stdout
        row = re.search(
            rf'^{vocabulary}\.embedding +\[\d+, (\d+)\] +f32(?: +"(.*)")?$',
            self.parameters,
            re.MULTILINE,
        )
        return int(row[1]), row[2] or f"{vocabulary}.embedding"

    def compile(self, label, *options):
        path = os.path.join(self.scratch, f"lib{self.name}-{label}.so")
        command = ["attnc", *self.spec, *self.vocab, f"--weights={self.model.weights}", "-o", path]
        subprocess.run([*command, *options], check=True)
        return path

    def lines(self, lengths):
        if self.features:
            return [self.write_features(length) for length in lengths]
        lines = [" ".join(self.generator.choices(self.words, k=length)) for length in lengths]
        self.lengths.update((line, len(line.split()) + self.ends) for line in lines)
        return lines

    def write_features(self, length, number=None):
        """A file of random numbers; in its middle stands one that is given."""
        values = [self.generator.uniform(-1, 1) for _ in range(length * self.features)]
        if number is not None:
            values[len(values) // 2] = number
        shape = (length, self.features)
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        path = os.path.join(self.scratch, f"features{len(self.lengths)}.npy")
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            file.write(struct.pack(f"<{len(values)}f", *values))
        self.lengths[path] = -(-length // self.stride)
        return path

    def targets(self, lengths):
        words = self.target_words
        return [" ".join(self.generator.choices(words, k=length)) for length in lengths]

    def start(self, command, lines, options, **files):
        """The output, and what was said of errors. Files are options' lines."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            if not self.has_encoder:
                # What it continues.
                if "force" not in files and "prefix" not in files:
                    files["prefix"] = lines
                lines = ["" for _ in lines]
            for name, content in files.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(line + "\n" for line in content)
                options = [*options, f"--{name}={path}"]
            done = subprocess.run(
                [*command, *options],
                input="".join(line + "\n" for line in lines),
                capture_output=True,
                encoding="utf-8",
            )
        output = done.stdout.splitlines()
        require(len(output) == len(lines), "expected a line for each, but got:", done.stderr)
        return output, done.stderr

    def run(self, command, lines, *options, **files):
        """For each line its answer, as text that is the same if all bits are."""
        limits = ["--max-length-factor=0"]
        if not any(option.startswith("--max-length-offset") for option in options):
            limits.append("--max-length-offset=12")
        output, errors = self.start(command, lines, ["--json", *limits, *options], **files)
        require(not errors, "expected no error, but got:", errors)
        return output

    def compiled(self, lines, *options, library=None, **files):
        return self.run(["attn-run", library or self.library], lines, *options, **files)


def hypotheses(output):
    return [json.loads(line)["hypotheses"] for line in output]


def emitted(hypothesis):
    return len(hypothesis["tokens"]) + hypothesis["finished"]


def compare(got, expected, tolerance=TOLERANCE):
    """Two results of some lines, the one with other rounding than the other."""
    for number, (ours, theirs) in enumerate(zip(hypotheses(got), hypotheses(expected)), 1):
        require(len(ours) == len(theirs), f"line {number}: other hypotheses")
        for rank, (one, other) in enumerate(zip(ours, theirs)):
            where = f"line {number}, hypothesis {rank}:"
            if one["tokens"] != other["tokens"]:
                near = [
                    abs(entry["score"] - other["score"])
                    for entry in [*theirs[:rank], *theirs[rank + 1 :]]
                ]
                require(
                    near and min(near) < SWAP_DISTANCE,
                    f"{where} expected {other['text']!r}, but got {one['text']!r}",
                )
                continue
            for key in ("word_logprobs", "alignment"):
                require(
                    len(one[key]) == len(other[key]),
                    f"{where} expected {len(other[key])} rows of {key}",
                )
            pairs = list(zip(one["word_logprobs"], other["word_logprobs"]))
            pairs += zip(sum(one["alignment"], []), sum(other["alignment"], []))
            for ours_value, theirs_value in pairs:
                require(
                    close(ours_value, theirs_value, tolerance),
                    f"{where} expected {theirs_value}, but got {ours_value}",
                )


# Checks: each raises a failure, or says that a model has no part in it by False.

CHECKS = []


def check(title):
    def add(function):
        CHECKS.append((title, function))
        return function

    return add


LENGTHS = [1, 2, 3, 5, 7, 9, 4, 6]
BEAM = ("--beam=4", "--nbest=4")


@check("programs")
def programs_agree(model):
    """The evaluator, the step, and the loop or the parallel form of a given target."""
    lines, targets = model.lines(LENGTHS), model.targets([0, 4, 1, 9, 3, 2, 7, 5])
    forced = model.compiled(lines, force=targets)
    compare(forced, model.run(model.evaluator, lines, force=targets))
    stepped = model.compiled(
        lines, "--max-length-offset=40", prefix=[f"{text} {model.end}".strip() for text in targets]
    )
    require(stepped == forced, "expected the bits of the whole target from the steps")


@check("search")
def search_agrees(model):
    """Greedy decoding and a beam, by the evaluator and by compiled code."""
    lines = model.lines(LENGTHS[:4])
    for options in ((), (*BEAM, "--normalize=length", "--min-length=2")):
        compare(model.compiled(lines, *options), model.run(model.evaluator, lines, *options))


@check("greedy")
def one_is_greedy(model):
    lines = model.lines(LENGTHS)
    greedy = hypotheses(model.compiled(lines))
    other = hypotheses(model.compiled(lines, "--beam=1", "--normalize=length"))
    for one, two in zip(greedy, other):
        for key in ("tokens", "word_logprobs", "alignment", "finished"):
            require(one[0][key] == two[0][key], "expected greedy decoding of a beam of 1")


@check("R1")
def weights_are_weights(model):
    """None is negative, and they sum to 1 or, by a factor, to less."""
    greedy = hypotheses(model.compiled(model.lines(LENGTHS)))
    rows = [row for (hypothesis,) in greedy for row in hypothesis["alignment"]]
    if not rows:
        return False
    for row in rows:
        require(min(row) >= 0, "expected weights, but got", row)
        total = sum(row)
        require(total <= 1 + 1e-5, "expected a sum of at most 1, but got", total)
        require(model.has_factor or close(total, 1), "expected a sum of 1, but got", total)
    return True


def poison(model, vocabulary, token):
    """A library, and options for it, where the embedding of a token is not a number.
    Where the embedding is none of the library's tables, because it is multiplied into
    what follows, its numbers are as large as can be instead. And whether they are."""
    width, name = model.embedding(vocabulary)
    with open(model.model.weights, "rb") as file:
        weights = bytearray(file.read())
    (size,) = struct.unpack_from("<Q", weights)
    tensor = json.loads(weights[8 : 8 + size])[name]
    kind, largest = {"F32": ("f", 3e38), "F16": ("e", 6e4)}[tensor["dtype"]]
    row = struct.Struct(f"<{width}{kind}")
    place = 8 + size + tensor["data_offsets"][0] + token * row.size
    numbers = struct.pack(f"<{width}f", *row.unpack_from(weights, place))
    with open(model.library, "rb") as file:
        content = file.read()
    path = os.path.join(model.scratch, f"{model.name}-poisoned")
    is_large = numbers not in content
    if is_large:
        row.pack_into(weights, place, *[largest] * width)
        content = weights
    else:
        content = content.replace(numbers, struct.pack("<f", float("nan")) * width)
    with open(path, "wb") as file:
        file.write(content)
    if is_large:
        return ["attn-run", model.library, f"--weights={path}"], True
    return ["attn-run", path], False


def token_number(model, vocabulary, token):
    with open(model.model.vocabularies[vocabulary], encoding="utf-8") as file:
        return file.read().split("\n").index(token)


@check("R2 R10")
def padding_never_matters(model):
    """Batches are padded with the first token: it may be anything."""
    if model.features:
        return False
    lengths = [1, 17, 2, 30, 5] if model.has_encoder else [1, 7, 2, 9, 5]
    lines, targets = model.lines(lengths), model.targets([3, 1, 9, 2, 6])
    first = model.read_words(model.target, marks=True)[0]
    options = ("--batch-size=5", *BEAM, f"--ban={first}")
    expected = [model.compiled(lines, *options), model.compiled(lines, force=targets)]
    for vocabulary in sorted({model.source, model.target}):
        command, _ = poison(model, vocabulary, 0)
        poisoned = [model.run(command, lines, *options), model.run(command, lines, force=targets)]
        require(poisoned == expected, "expected padding to have no effect")
    return True


@check("R5 R20")
def nan_fails_alone(model):
    """A sentence with a number that is none is an error, and no other one is."""
    lines = model.lines([3, 5, 2, 4, 1])
    options = ["--json", "--max-length-factor=0", "--max-length-offset=12", "--beam=3"]
    if model.bad_word in model.target_words:
        options.append(f"--ban={model.bad_word}")
    command, is_large = ["attn-run", model.library], False
    expected, _ = model.start(command, lines, options)
    if model.features:
        lines[2] = model.write_features(3, float("nan"))
    else:
        lines[2] += f" {model.bad_word}"
        number = token_number(model, model.source, model.bad_word)
        command, is_large = poison(model, model.source, number)
    got, errors = model.start(command, lines, options)
    # Large numbers may saturate to something that is one.
    require(
        is_large or re.search("line 3: expected finite", errors),
        "expected an error, but got:",
        got[2],
    )
    require(len(errors.splitlines()) <= 2, "expected one error, but got:", errors)
    for line in (0, 1, 3, 4):
        require(got[line] == expected[line], f"expected line {line + 1} to be untouched")


@check("R3 R20")
def empty_lines(model):
    """An empty source runs no model; other lines do not know of it."""
    if not model.has_encoder:
        return False
    lines = model.lines([3, 1, 8])
    alone = model.compiled(lines, *BEAM)
    among = model.compiled(["", lines[0], "", "", lines[1], lines[2], ""], *BEAM)
    require([among[1], among[4], among[5]] == alone, "expected empty lines to change nothing")
    for place in (0, 2, 3, 6):
        ((hypothesis,),) = hypotheses(among[place : place + 1])
        require(
            hypothesis["tokens"] == [] and hypothesis["score"] == 0 and hypothesis["finished"],
            "expected an empty result, but got",
            hypothesis,
        )
    return True


@check("R8")
def asking_for_weights(model):
    """Text and scores are the same where nobody asks for weights."""
    lines = model.lines(LENGTHS)
    options = ["--max-length-factor=0", "--max-length-offset=12", *BEAM]
    plain, _ = model.start(["attn-run", model.library], lines, ["--beam=4", *options[:2]])
    asked = [entries[0]["text"] for entries in hypotheses(model.compiled(lines, *BEAM))]
    require(plain == asked, "expected the same text without weights")


@check("R13")
def batches_do_not_matter(model):
    lengths = [*range(1, 40), *range(40, 131, 10), 63, 64, 65, 127, 128, 129, 200]
    if not model.has_encoder:
        lengths = [length % 9 for length in lengths]
    model.generator.shuffle(lengths)
    lines = model.lines(lengths)
    limit = "--max-length-offset=10"
    sample = ("--sample", "--nbest=2", "--seed=7", "--temperature=1.5", "--top-p=0.9")
    for options in (("--beam=3", "--nbest=3", limit), (*sample, limit)):
        outputs = [
            model.compiled(lines, *options, f"--batch-size={batch}", f"--threads={threads}")
            for batch, threads in ((1, 1), (7, 2), (64, 3))
        ]
        require(all(output == outputs[0] for output in outputs), "expected the same bytes")
        if "--sample" not in options:
            turned = model.compiled(lines[::-1], *options)[::-1]
            require(turned == outputs[0], "expected no effect of the order")


@check("R15")
def scores_are_sums(model):
    lines = model.lines(LENGTHS)
    for options, alpha in ((BEAM, 0), ((*BEAM, "--normalize=length", "--alpha=0.7"), 0.7)):
        for entries in hypotheses(model.compiled(lines, *options)):
            for entry in entries:
                total = sum(entry["word_logprobs"])
                require(close(total, entry["logprob"]), "expected the sum", total)
                score = entry["logprob"] / emitted(entry) ** alpha
                require(close(score, entry["score"]), "expected the score", score)
    # The same target, given.
    entries = [
        (line, entry)
        for line, entries in zip(lines, hypotheses(model.compiled(lines, *BEAM)))
        for entry in entries
    ]
    forced = model.compiled(
        [line for line, _ in entries], force=[" ".join(entry["tokens"]) for _, entry in entries]
    )
    for (_, entry), (other,) in zip(entries, hypotheses(forced)):
        given = sum(other["word_logprobs"][: emitted(entry)])
        require(
            close(given, entry["logprob"], 1e-4),
            f"expected {entry['logprob']} of the given target, but got {given}",
        )


@check("R16")
def the_best_come_first(model):
    lines = model.lines(LENGTHS)
    wide = hypotheses(model.compiled(lines, *BEAM, "--normalize=length"))
    for entries in wide:
        scores = [entry["score"] for entry in entries]
        require(scores == sorted(scores, reverse=True), "expected the best first, but got", scores)
        texts = {tuple(entry["tokens"]) + (entry["finished"],) for entry in entries}
        require(len(texts) == len(entries), "expected different hypotheses")
    best = hypotheses(model.compiled(lines, "--beam=4", "--normalize=length"))
    require([entries[:1] for entries in wide] == best, "expected nbest to leave the best")


@check("R18")
def what_may_be_emitted(model):
    lines = model.lines(LENGTHS)
    shift = max(LENGTHS) if not model.has_encoder else 0
    for (entry,) in hypotheses(model.compiled(lines, "--max-length-offset=%d" % (2 + shift))):
        require(emitted(entry) <= 2 + shift, "expected a maximum length")
    minimum = 9 + shift
    for entries in hypotheses(
        model.compiled(lines, *BEAM, f"--min-length={minimum}", f"--max-length-offset={minimum + 3}")
    ):
        for entry in entries:
            require(len(entry["tokens"]) >= minimum, "expected a minimum length")
    if not model.has_encoder:
        return True
    free = hypotheses(model.compiled(lines))
    banned = next(entry["tokens"][0] for (entry,) in free if entry["tokens"])
    for options in ((f"--ban={banned}",), (f"--ban={banned}", *BEAM)):
        for entries in hypotheses(model.compiled(lines, *options)):
            for entry in entries:
                require(banned not in entry["tokens"], "expected no banned token")
    for entries in hypotheses(model.compiled(lines, *BEAM, "--no-repeat-ngram=2")):
        for entry in entries:
            pairs = list(zip(entry["tokens"], entry["tokens"][1:]))
            require(len(set(pairs)) == len(pairs), "expected no pair twice")
    prefixes = model.targets([2, 0, 3, 1, 2, 2, 1, 4])
    results = hypotheses(model.compiled(lines, *BEAM, f"--ban={banned}", prefix=prefixes))
    forced = hypotheses(model.compiled(lines, force=prefixes))
    for prefix, entries, (whole,) in zip(prefixes, results, forced):
        tokens = prefix.split()
        for entry in entries:
            require(entry["tokens"][: len(tokens)] == tokens, "expected the prefix first")
            require(
                entry["word_logprobs"][: len(tokens)] == whole["word_logprobs"][: len(tokens)],
                "expected the model's probabilities of the prefix",
            )
    return True


@check("R19")
def rows_are_tokens(model):
    lines = model.lines(LENGTHS)
    wide = hypotheses(model.compiled(lines, *BEAM))
    if not any(entry["alignment"] for entries in wide for entry in entries):
        return False
    for line, entries in zip(lines, wide):
        columns = model.lengths[line]
        for entry in entries:
            require(len(entry["alignment"]) == emitted(entry), "expected a row for each token")
            for row in entry["alignment"]:
                require(len(row) == columns, f"expected {columns} columns, but got {len(row)}")
    return True


@check("R20")
def a_beam_of_any_width(model):
    size = len(model.read_words(model.target)) + len(model.read_words(model.target, marks=True))
    width = str(size + 5)
    entries = hypotheses(
        model.compiled(
            model.lines([2]), f"--beam={width}", f"--nbest={width}", "--max-length-offset=4"
        )
    )[0]
    require(len(entries) > size or not model.has_encoder, "expected more than the vocabulary has")


@check("R21")
def processors_do_not_matter(model):
    """Bits are those of any processor with what the library asks for; with none of
    it, where code for it is small."""
    lines = model.lines(LENGTHS)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next((line.split() for line in file if line.startswith("flags")), [])
    # Code for several processors takes time to make: of few layers only.
    large = ("transformer", "lm", "thai2rom", "aren")
    if not {"avx2", "fma"} <= set(flags) or model.name in large:
        return False
    other = model.compile("v3", "--cpu=x86-64-v3")
    require(
        model.compiled(lines, *BEAM, library=other) == model.compiled(lines, *BEAM),
        "expected the bits of x86-64-v3",
    )
    if model.name != "rnnsearch":
        return True
    portable = [
        model.compiled(
            lines, *BEAM, library=model.compile(cpu, f"--cpu={cpu}", "--numerics=portable")
        )
        for cpu in ("x86-64", "x86-64-v3")
    ]
    require(portable[0] == portable[1], "expected the bits of x86-64, without fused operations")
    return True


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", metavar="ROOT")
    parser.add_argument("--shared", metavar="SHARED")
    parser.add_argument("--seed", default="13")
    parser.add_argument("--checks", metavar="TITLE,...", help="(default: all)")
    parser.add_argument("--times", action="store_true", help="print how long each check takes")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    arguments = parser.parse_args()
    models = shared_models(arguments.shared) if arguments.shared else local_models(arguments.root)
    checks = [
        (title, function)
        for title, function in CHECKS
        if not arguments.checks or title in arguments.checks.split(",")
    ]
    widths = [max(len(title), 4) for title, _ in checks]
    print("model       ", *(title.ljust(width) for (title, _), width in zip(checks, widths)))
    failures = []
    for model in models:
        if arguments.models and model.name not in arguments.models:
            continue
        cells = []
        with tempfile.TemporaryDirectory() as scratch:
            subject = Subject(model, scratch, arguments.seed)
            for title, function in checks:
                begin = os.times()
                try:
                    cells.append("-" if function(subject) is False else "ok")
                except Failure as failure:
                    cells.append("FAIL")
                    failures.append(f"{model.name}: {title}: {failure}")
                if arguments.times:
                    end = os.times()
                    seconds = end.children_user - begin.children_user
                    print(f"{model.name}: {title}: {seconds:.1f} s", file=sys.stderr)
        cells = (cell.ljust(width) for cell, width in zip(cells, widths))
        print(model.name.ljust(12), *cells, flush=True)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
