#!/usr/bin/env python3
"""What the attentions of examples/attention compute, from their definitions.

Each function below is one example: plain loops over queries and memory
positions, as its paper has the equations. It shares no code with the project.

usage: attention_reference.py numbers          the expected numbers, as JSON
       attention_reference.py check FILE       whether FILE has these numbers
       attention_reference.py weights FOLDER   FOLDER/NAME.safetensors of each
       attention_reference.py ideas            whether each example's idea shows

Parameters are random, of a seed that is the example's name and the parameter's.
With `idea=False` an example forgets what it is about (its mask, its bias), and
the numbers must change.
"""

import json
import math
import random
import struct
import sys
from array import array
from functools import reduce
from operator import mul
from pathlib import Path

WORDS = ["<s>", "</s>", *"abcdefg"]
START, END = 0, 1
LENGTHS = (1, 2, 3, 4, 5, 7, 9, 12)
EXAMPLES = {}


class Parameters:
    """Random numbers by name, made when they are first asked for."""

    def __init__(self, example):
        self.example = example
        self.shapes = {}
        self.values = {}

    def __call__(self, name, *shape, low=-1.0, high=1.0):
        if name not in self.values:
            source = random.Random(f"{self.example} {name}")
            count = reduce(mul, shape)
            # Exactly what a file of f32 holds.
            numbers = array("f", (low + (high - low) * source.random() for _ in range(count)))
            self.shapes[name] = shape
            self.values[name] = numbers
        return nest(self.values[name], shape)

    def write(self, path):
        header, data = {}, b""
        for name, numbers in self.values.items():
            raw = struct.pack(f"<{len(numbers)}f", *numbers)
            header[name] = {
                "dtype": "F32",
                "shape": self.shapes[name],
                "data_offsets": [len(data), len(data) + len(raw)],
            }
            data += raw
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def nest(numbers, shape):
    if len(shape) == 1:
        return list(numbers)
    step = len(numbers) // shape[0]
    return [nest(numbers[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def example(decode, lengths=LENGTHS, alphabet="abcdefg", inputs=None):
    """Registers an example. `decode` says what a line is: see `lines_of`."""

    def register(function):
        EXAMPLES[function.__name__] = (function, decode, lengths, alphabet, inputs)
        return function

    return register


# Vectors, and what is done with them.


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def matvec(matrix, v):
    return [dot(row, v) for row in matrix]


def add(*vectors):
    return [sum(numbers) for numbers in zip(*vectors, strict=True)]


def scale(factor, v):
    return [factor * x for x in v]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softmax(scores):
    """Weights of the positions that have a score; the others have none."""
    if not scores:
        return {}
    top = max(scores.values())
    powers = {j: math.exp(score - top) for j, score in scores.items()}
    total = sum(powers.values())
    return {j: power / total for j, power in powers.items()}


def mix(weights, values, size):
    return add([0.0] * size, *(scale(a, values[j]) for j, a in weights.items()))


def spread(weights, length):
    return [weights.get(j, 0.0) for j in range(length)]


def join(matrix, heads):
    """O of shape [D, N, P] times heads of [N, P]."""
    return [sum(dot(row, head) for row, head in zip(rows, heads)) for rows in matrix]


def rms(v):
    return math.sqrt(dot(v, v) / len(v) + 1e-5)


def logits_of(p, v, name="decoder.predict"):
    weight = p(f"{name}.weight", len(WORDS), len(v))
    return add(matvec(weight, v), p(f"{name}.bias", len(WORDS)))


def embedding(p, size=8):
    return p("words.embedding", len(WORDS), size, low=-2, high=2)


def linear(p, name, v, size, limit=1.0):
    weight = p(f"{name}.weight", size, len(v), low=-limit, high=limit)
    return add(matvec(weight, v), p(f"{name}.bias", size, low=-limit, high=limit))


def rnn_cell(p, v, s):
    n = len(s)
    inside = add(
        matvec(p("decoder.rnn_cell.weight_ih", n, len(v)), v),
        p("decoder.rnn_cell.bias_ih", n),
        matvec(p("decoder.rnn_cell.weight_hh", n, n), s),
        p("decoder.rnn_cell.bias_hh", n),
    )
    return [math.tanh(x) for x in inside]


def convolve(weight, bias, signal):
    """One channel; zeros beyond the ends."""
    result = []
    for t in range(len(signal)):
        row = []
        for kernel, b in zip(weight, bias):
            for w, k in enumerate(kernel[0]):
                place = t + w - (len(kernel[0]) - 1) // 2
                if 0 <= place < len(signal):
                    b += k * signal[place]
            row.append(b)
        result.append(row)
    return result


def tag(p, h, y):
    """Step t predicts from position t of the memory, or from nothing behind it."""
    return [
        (logits_of(p, h[t] if t < len(h) else [0.0] * 8), None) for t in range(len(y))
    ]


def read_alike(p, x, name, readable, matrix="W"):
    """h_i plus what i reads: dot(x, W m) / sqrt(D) where `readable(i, j)`."""
    e = embedding(p)
    h = [e[token] for token in x]
    w = p(f"{name}.{matrix}", 8, 8)
    result = []
    for i, query in enumerate(h):
        scores = {
            j: dot(query, matvec(w, key)) / math.sqrt(8)
            for j, key in enumerate(h)
            if readable(i, j)
        }
        result.append(add(query, mix(softmax(scores), h, 8)))
    return result


# Reading an encoder's memory.


@example("source")
def additive(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    w, u, v = (p("decoder.align.W", 6, 8), p("decoder.align.U", 6, 8), p("decoder.align.v", 6))
    s, steps = [0.0] * 8, []
    for token in y:
        s = rnn_cell(p, e[token], s)
        scores = {}
        for j, key in enumerate(h):
            inside = add(matvec(w, s), matvec(u, key))
            scores[j] = dot(v, [math.tanh(n) if idea else n for n in inside])
        a = softmax(scores)
        steps.append((logits_of(p, s + mix(a, h, 8)), spread(a, len(h))))
    return steps


@example("source")
def local(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    w, inner = p("decoder.local.W", 8, 8), p("decoder.local.G", 8, 8)
    outer = p("decoder.local.g", 8)
    radius, steps = 2, []
    for token in y:
        s = e[token]
        centre = len(h) * sigmoid(dot(outer, [math.tanh(n) for n in matvec(inner, s)]))
        scores = {
            j: dot(s, matvec(w, key))
            for j, key in enumerate(h)
            if abs(j - centre) <= radius or not idea
        }
        a = softmax(scores)
        if idea:
            sigma = radius / 2
            a = {j: n * math.exp(-((j - centre) ** 2) / (2 * sigma**2)) for j, n in a.items()}
        steps.append((logits_of(p, s + mix(a, h, 8)), spread(a, len(h))))
    return steps


def look(p, x, y, weigh):
    """One general score over the words; `weigh` makes weights of the scores."""
    e = embedding(p)
    h = [e[token] for token in x]
    w, steps = p("decoder.look.W", 8, 8), []
    for token in y:
        s = e[token]
        a = weigh({j: dot(s, matvec(w, key)) for j, key in enumerate(h)})
        steps.append((logits_of(p, s + mix(a, h, 8)), spread(a, len(h))))
    return steps


@example("source")
def hard(p, x, y, idea=True):
    def weigh(scores):
        return {min(j for j in scores if scores[j] == max(scores.values())): 1.0}

    return look(p, x, y, weigh if idea else softmax)


@example("source")
def sparsemax(p, x, y, idea=True):
    def weigh(scores):
        # The threshold above which scores exceed it by 1 together, between two.
        high = max(scores.values())
        low = high - 1
        for _ in range(80):
            middle = (low + high) / 2
            if sum(max(score - middle, 0) for score in scores.values()) > 1:
                low = middle
            else:
                high = middle
        return {j: max(score - low, 0) for j, score in scores.items()}

    return look(p, x, y, weigh if idea else softmax)


@example("source")
def location(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    w, u = p("decoder.align.W", 6, 8), p("decoder.align.U", 6, 8)
    filters, v = p("decoder.align.F", 6, 3), p("decoder.align.v", 6)
    kernel = p("decoder.conv1d.weight", 3, 1, 5, low=-3, high=3)
    bias = p("decoder.conv1d.bias", 3)
    s, before, steps = [0.0] * 8, [0.0] * len(h), []
    for token in y:
        s = rnn_cell(p, e[token], s)
        f = convolve(kernel, bias, before)
        scores = {}
        for j, key in enumerate(h):
            inside = add(matvec(w, s), matvec(u, key), matvec(filters, f[j]))
            scores[j] = dot(v, [math.tanh(n) for n in inside])
        a = softmax(scores)
        before = spread(a, len(h)) if idea else before
        steps.append((logits_of(p, s + mix(a, h, 8)), spread(a, len(h))))
    return steps


@example("source")
def tacotron2(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    w, u = p("decoder.align.W", 6, 8), p("decoder.align.U", 6, 8)
    filters, b, v = (
        p("decoder.align.F", 6, 3),
        p("decoder.align.b", 6),
        p("decoder.align.v", 6),
    )
    kernels = {
        name: (p(f"decoder.{name}.weight", 3, 1, 5, low=-2, high=2), p(f"decoder.{name}.bias", 3))
        for name in ("last", "all")
    }
    s, c = [0.0] * 8, [0.0] * 8
    last, total, steps = [0.0] * len(h), [0.0] * len(h), []
    for token in y:
        s = rnn_cell(p, e[token] + c, s)
        one, two = convolve(*kernels["last"], last), convolve(*kernels["all"], total)
        scores = {}
        for j, key in enumerate(h):
            inside = add(matvec(w, s), matvec(u, key), matvec(filters, add(one[j], two[j])), b)
            scores[j] = dot(v, [math.tanh(n) for n in inside])
        a = softmax(scores)
        last = spread(a, len(h))
        total = add(total, last) if idea else total
        c = mix(a, h, 8)
        steps.append((logits_of(p, s + c), last))
    return steps


@example("source")
def coverage(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    w, u = p("decoder.align.W", 6, 8), p("decoder.align.U", 6, 8)
    weight, v = p("decoder.align.F", 6, low=-2, high=2), p("decoder.align.v", 6)
    s, covered, steps = [0.0] * 8, [0.0] * len(h), []
    for token in y:
        s = rnn_cell(p, e[token], s)
        scores = {}
        for j, key in enumerate(h):
            inside = add(matvec(w, s), matvec(u, key), scale(covered[j], weight))
            scores[j] = dot(v, [math.tanh(n) for n in inside])
        a = softmax(scores)
        covered = add(covered, spread(a, len(h))) if idea else covered
        steps.append((logits_of(p, s + mix(a, h, 8)), spread(a, len(h))))
    return steps


@example("source")
def fertility(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    wanted = [2 * sigmoid(linear(p, "encoder.wanted", v, 1)[0]) for v in h]
    w, u = p("decoder.align.W", 6, 8), p("decoder.align.U", 6, 8)
    weight, v = p("decoder.align.F", 6, low=-2, high=2), p("decoder.align.v", 6)
    s, covered, steps = [0.0] * 8, [0.0] * len(h), []
    for token in y:
        s = rnn_cell(p, e[token], s)
        scores = {}
        for j, key in enumerate(h):
            inside = add(matvec(w, s), matvec(u, key), scale(covered[j], weight))
            scores[j] = dot(v, [math.tanh(n) for n in inside])
        a = softmax(scores)
        for j, n in a.items():
            covered[j] += n / (wanted[j] if idea else 1)
        steps.append((logits_of(p, s + mix(a, h, 8)), spread(a, len(h))))
    return steps


@example("source")
def window(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    s, c, k, steps = [0.0] * 8, [0.0] * 8, [0.0] * 2, []
    for token in y:
        s = rnn_cell(p, e[token] + c, s)
        step = [math.exp(n) for n in linear(p, "decoder.step", s, 2, limit=0.3)]
        k = add(k, step) if idea else step
        height = [math.exp(n) for n in linear(p, "decoder.height", s, 2, limit=0.3)]
        width = [math.exp(n) for n in linear(p, "decoder.width", s, 2, limit=0.3)]
        a = {
            j: sum(height[i] * math.exp(-width[i] * (k[i] - j) ** 2) for i in range(2))
            for j in range(len(h))
        }
        c = mix(a, h, 8)
        steps.append((logits_of(p, s + c), spread(a, len(h))))
    return steps


@example("source", alphabet="aabcd")
def flamingo(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    w, gate = p("decoder.look.W", 8, 8), p("decoder.gate", 1)[0]
    image, seen, steps = WORDS.index("a"), 0, []
    for token in y:
        seen += token == image
        query = e[token]
        scores = {
            j: dot(query, matvec(w, key)) / math.sqrt(8)
            for j, key in enumerate(h)
            if j // 3 == seen - 1 or not idea
        }
        a = softmax(scores)
        steps.append(
            (logits_of(p, add(query, scale(math.tanh(gate), mix(a, h, 8)))), spread(a, len(h)))
        )
    return steps


# Masks on positions: position i of the sequence reads position j.


@example("tag")
def causal(p, x, y, idea=True):
    return tag(p, read_alike(p, x, "encoder.attend", lambda i, j: j <= i or not idea), y)


@example("tag")
def prefix_lm(p, x, y, idea=True):
    return tag(p, read_alike(p, x, "encoder.attend", lambda i, j: j <= i or (idea and j < 3)), y)


# A file's name may be a word of Python.
@example("tag")
def global_(p, x, y, idea=True):
    def readable(i, j):
        return abs(i - j) <= 2 or (idea and (i < 1 or j < 1))

    return tag(p, read_alike(p, x, "encoder.attend", readable), y)


@example("tag")
def strided(p, x, y, idea=True):
    def readable(i, j):
        return j <= i and (not idea or i // 4 == j // 4 or j % 4 == 3)

    return tag(p, read_alike(p, x, "encoder.attend", readable), y)


@example("tag")
def shared_prefix(p, x, y, idea=True):
    def answer(i):
        return (i - 3) // 4

    def readable(i, j):
        return j <= i and (not idea or j < 3 or (i >= 3 and answer(i) == answer(j)))

    return tag(p, read_alike(p, x, "encoder.attend", readable), y)


@example("tag")
def neighbourhood(p, x, y, idea=True):
    def start(place, size):
        """Where the three pixels begin; they never leave the image."""
        return min(max(place - 1, 0), size - 3)

    def readable(i, j):
        (row, column), (r, c) = divmod(i, 4), divmod(j, 4)
        if not idea:
            return abs(i - j) <= 4
        return 0 <= r - start(row, 3) < 3 and 0 <= c - start(column, 4) < 3

    return tag(p, read_alike(p, x, "encoder.attend", readable, matrix="U"), y)


@example("tag")
def block_diffusion(p, x, y, idea=True):
    half = len(x) // 2

    def readable(i, j):
        if not idea:
            return j <= i
        clean_query, clean_key = i >= half, j >= half
        block_query = (i - half if clean_query else i) // 2
        block_key = (j - half if clean_key else j) // 2
        block_diagonal = block_query == block_key and clean_query == clean_key
        offset_causal = block_query > block_key and clean_key and not clean_query
        block_causal = block_query >= block_key and clean_key and clean_query
        return block_diagonal or offset_causal or block_causal

    return tag(p, read_alike(p, x, "encoder.attend", readable), y)


@example("tag")
def dilated(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    q, k, v = (p(f"encoder.attend.{name}", 2, 4, 8) for name in "QKV")
    o = p("encoder.attend.O", 8, 2, 4)
    result = []
    for i, query in enumerate(h):
        heads = []
        for n in range(2):
            gap = n + 1 if idea else 1
            places = [i + gap * step for step in (-2, -1, 0, 1, 2)]
            scores = {
                j: dot(matvec(q[n], query), matvec(k[n], h[j])) / 2
                for j in places
                if 0 <= j < len(h)
            }
            heads.append(mix(softmax(scores), [matvec(v[n], m) for m in h], 4))
        result.append(add(query, join(o, heads)))
    return tag(p, result, y)


def document_inputs(source, length):
    """Numbers of documents that follow one another."""
    numbers, number = [], 0
    for _ in range(length):
        number += source.random() < 0.3
        numbers.append(number)
    return {"document": numbers}


@example("tag", inputs=document_inputs)
def documents(p, x, y, idea=True, document=()):
    def readable(i, j):
        return document[i] == document[j] or not idea

    return tag(p, read_alike(p, x, "encoder.attend", readable), y)


def graph_inputs(source, length):
    """Lengths of the paths between the nodes of a random tree, 12 numbers a node."""
    parents = [None] + [source.randrange(i) for i in range(1, length)]

    def ancestors(i):
        return [i] + (ancestors(parents[i]) if i else [])

    paths = []
    for i in range(length):
        row = []
        for j in range(length):
            a, b = ancestors(i), ancestors(j)
            shared = len(set(a) & set(b))
            row.append(len(a) + len(b) - 2 * shared)
        paths.append(row + [0] * (12 - length))
    return {"paths": paths}


@example("tag", inputs=graph_inputs)
def graphormer(p, x, y, idea=True, paths=()):
    e = embedding(p)
    h = [e[token] for token in x]
    w, bias = p("encoder.attend.W", 8, 8), p("encoder.attend.bias", 5, low=-2, high=2)
    result = []
    for i, query in enumerate(h):
        scores = {}
        for j, key in enumerate(h):
            scores[j] = dot(query, matvec(w, key)) / math.sqrt(8)
            scores[j] += bias[min(paths[i][j], 4)] if idea else 0
        result.append(add(query, mix(softmax(scores), h, 8)))
    return tag(p, result, y)


# Masks of a decoder that reads its past.


def step_alike(p, y, name, matrix, readable):
    e = embedding(p)
    d = [e[token] for token in y]
    w, steps = p(f"{name}.{matrix}", 8, 8), []
    for i, query in enumerate(d):
        scores = {
            j: dot(query, matvec(w, d[j])) / math.sqrt(8)
            for j in range(i + 1)
            if readable(i, j)
        }
        steps.append((logits_of(p, add(query, mix(softmax(scores), d, 8))), None))
    return steps


@example("target")
def sliding(p, _, y, idea=True):
    return step_alike(p, y, "decoder.attend", "U", lambda i, j: i - j < 4 or not idea)


@example("target")
def streaming(p, _, y, idea=True):
    return step_alike(p, y, "decoder.attend", "U", lambda i, j: i - j < 4 or (idea and j < 2))


@example("target", alphabet="aabcd")
def packed(p, _, y, idea=True):
    begins = [token == WORDS.index("a") for token in y]

    def readable(i, j):
        # No document begins behind j, up to i.
        return not idea or not any(begins[j + 1 : i + 1])

    return step_alike(p, y, "decoder.attend", "W", readable)


# Scores of heads, in a decoder that reads its past.


def step_heads(p, y, score, heads=2, width=4, values=None, weights=softmax):
    """d_i plus O of what each head reads; `score(n, i, j, query, key)`."""
    e = embedding(p)
    d = [e[token] for token in y]
    name = "decoder.attend"
    q, k = p(f"{name}.Q", heads, width, 8), p(f"{name}.K", heads, width, 8)
    v, o = p(f"{name}.V", heads, width, 8), p(f"{name}.O", 8, heads, width)
    steps = []
    for i in range(len(d)):
        joined = []
        for n in range(heads):
            query = matvec(q[n], d[i])
            scores = {j: score(n, i, j, query, matvec(k[n], d[j])) for j in range(i + 1)}
            read = weights(scores)
            joined.append(mix(read, [matvec(v[n], m) for m in d], width))
        steps.append((logits_of(p, add(d[i], join(o, joined))), None))
    return steps


@example("source")
def dot_(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    q, k, v = (p(f"decoder.attend.{name}", 2, 4, 8) for name in "QKV")
    o, steps = p("decoder.attend.O", 8, 2, 4), []
    for token in y:
        heads, average = [], [0.0] * len(h)
        for n in range(2):
            query = matvec(q[n], e[token])
            scores = {
                j: dot(query, matvec(k[n], key)) / (math.sqrt(4) if idea else 1)
                for j, key in enumerate(h)
            }
            a = softmax(scores)
            heads.append(mix(a, [matvec(v[n], m) for m in h], 4))
            average = add(average, scale(0.5, spread(a, len(h))))
        steps.append((logits_of(p, add(e[token], join(o, heads))), average))
    return steps


@example("target")
def multi_query(p, _, y, idea=True):
    e = embedding(p)
    d = [e[token] for token in y]
    q, k, v = (
        p("decoder.attend.Q", 4, 2, 8),
        p("decoder.attend.K", 2, 8),
        p("decoder.attend.V", 2, 8),
    )
    o, steps = p("decoder.attend.O", 8, 4, 2), []
    for i in range(len(d)):
        heads = []
        for n in range(4):
            query = matvec(q[n if idea else 0], d[i])
            scores = {j: dot(query, matvec(k, d[j])) / math.sqrt(2) for j in range(i + 1)}
            heads.append(mix(softmax(scores), [matvec(v, m) for m in d], 2))
        steps.append((logits_of(p, add(d[i], join(o, heads))), None))
    return steps


@example("target")
def grouped(p, _, y, idea=True):
    e = embedding(p)
    d = [e[token] for token in y]
    q, k, v = (
        p("decoder.attend.Q", 2, 2, 2, 8),
        p("decoder.attend.K", 2, 2, 8),
        p("decoder.attend.V", 2, 2, 8),
    )
    o, steps = p("decoder.attend.O", 8, 2, 2, 2), []
    for i in range(len(d)):
        c = [0.0] * 8
        for head in range(4):
            group = head // 2 if idea else head % 2
            query = matvec(q[head // 2][head % 2], d[i])
            scores = {j: dot(query, matvec(k[group], d[j])) / math.sqrt(2) for j in range(i + 1)}
            read = mix(softmax(scores), [matvec(v[group], m) for m in d], 2)
            for n in range(8):
                c[n] += dot(o[n][head // 2][head % 2], read)
        steps.append((logits_of(p, add(d[i], c)), None))
    return steps


def rotate(v, position, pairs):
    """Turns the pairs of features by angles that fall from pair to pair."""
    result = list(v)
    for k, (a, b) in enumerate(pairs):
        angle = position * 10000 ** (-2 * k / len(v))
        result[a] = v[a] * math.cos(angle) - v[b] * math.sin(angle)
        result[b] = v[a] * math.sin(angle) + v[b] * math.cos(angle)
    return result


@example("target")
def rotary(p, _, y, idea=True):
    halves = [(0, 2), (1, 3)]

    def score(n, i, j, query, key):
        if not idea:
            return dot(query, key) / 2
        return dot(rotate(query, i, halves), rotate(key, j, halves)) / 2

    return step_heads(p, y, score)


@example("target")
def latent(p, _, y, idea=True):
    e = embedding(p)
    d = [e[token] for token in y]
    down, shared = p("decoder.down", 3, 8), p("decoder.shared", 2, 8)
    norm = p("decoder.latent.weight", 3)
    small, turned = [], []
    for j, m in enumerate(d):
        l = matvec(down, m)
        small.append([g * n / rms(l) for g, n in zip(norm, l)])
        turned.append(rotate(matvec(shared, m), j if idea else 0, [(0, 1)]))
    name = "decoder.attend"
    q, side = p(f"{name}.Q", 2, 4, 8), p(f"{name}.S", 2, 2, 8)
    k, v, o = p(f"{name}.K", 2, 4, 3), p(f"{name}.V", 2, 4, 3), p(f"{name}.O", 8, 2, 4)
    steps = []
    for i in range(len(d)):
        heads = []
        for n in range(2):
            content = matvec(q[n], d[i])
            place = rotate(matvec(side[n], d[i]), i if idea else 0, [(0, 1)])
            # One query and one key, of content and place side by side.
            scores = {
                j: dot(content + place, matvec(k[n], small[j]) + turned[j]) / math.sqrt(6)
                for j in range(i + 1)
            }
            heads.append(mix(softmax(scores), [matvec(v[n], l) for l in small], 4))
        steps.append((logits_of(p, add(d[i], join(o, heads))), None))
    return steps


@example("tag")
def relative(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    q, k, v = (p(f"encoder.attend.{name}", 2, 4, 8) for name in "QKV")
    o = p("encoder.attend.O", 8, 2, 4)
    keys, values = p("encoder.attend.keys", 7, 4), p("encoder.attend.values", 7, 4)
    result = []
    for i, query in enumerate(h):
        heads = []
        for n in range(2):
            place = [min(max(j - i, -3), 3) + 3 if idea else 3 for j in range(len(h))]
            scores = {
                j: dot(matvec(q[n], query), add(matvec(k[n], h[j]), keys[place[j]])) / 2
                for j in range(len(h))
            }
            read = [add(matvec(v[n], h[j]), values[place[j]]) for j in range(len(h))]
            heads.append(mix(softmax(scores), read, 4))
        result.append(add(query, join(o, heads)))
    return tag(p, result, y)


def sinusoid(position, size):
    """All sines, then all cosines."""
    angles = [position * 10000 ** (-k / (size // 2)) for k in range(size // 2)]
    return [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]


@example("target")
def transformer_xl(p, _, y, idea=True):
    r = p("decoder.attend.R", 2, 4, 8)
    u, v = p("decoder.attend.u", 2, 4), p("decoder.attend.v", 2, 4)

    def score(n, i, j, query, key):
        distance = matvec(r[n], sinusoid(i - j if idea else 0, 8))
        # Content with content, content with distance, and the biases of both.
        return (
            dot(query, key) + dot(query, distance) + dot(u[n], key) + dot(v[n], distance)
        ) / 2

    return step_heads(p, y, score)


@example("tag")
def deberta(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    names = ("Q", "K", "V", "Qr", "Kr")
    q, k, v, qr, kr = (p(f"encoder.attend.{name}", 2, 4, 8) for name in names)
    o, distances = p("encoder.attend.O", 8, 2, 4), p("encoder.attend.distances", 6, 8)

    def delta(i, j):
        if i - j <= -3:
            return 0
        return 5 if i - j >= 3 else i - j + 3

    result = []
    for i, query in enumerate(h):
        heads = []
        for n in range(2):
            scores = {}
            for j, key in enumerate(h):
                qc, kc = matvec(q[n], query), matvec(k[n], key)
                scores[j] = dot(qc, kc)
                if idea:
                    scores[j] += dot(qc, matvec(kr[n], distances[delta(i, j)]))
                    scores[j] += dot(kc, matvec(qr[n], distances[delta(j, i)]))
                scores[j] /= math.sqrt(3 * 4)
            heads.append(mix(softmax(scores), [matvec(v[n], m) for m in h], 4))
        result.append(add(query, join(o, heads)))
    return tag(p, result, y)


@example("target")
def alibi(p, _, y, idea=True):
    slopes = [1 / 4, 1 / 16, 1 / 64, 1 / 256]

    def score(n, i, j, query, key):
        return dot(query, key) / math.sqrt(2) - (slopes[n] * (i - j) if idea else 0)

    return step_heads(p, y, score, heads=4, width=2)


@example("target")
def t5(p, _, y, idea=True):
    bias = p("decoder.attend.bias", 8, 2, low=-2, high=2)

    def bucket(distance):
        if distance < 4:
            return distance
        share = math.log(distance / 4) / math.log(20 / 4)
        return min(4 + int(share * (8 - 4)), 7)

    def score(n, i, j, query, key):
        return dot(query, key) + (bias[bucket(i - j)][n] if idea else 0)

    return step_heads(p, y, score)


@example("target")
def sandwich(p, _, y, idea=True):
    def score(n, i, j, query, key):
        # The product of two sinusoidal positions is a sum of cosines.
        cosines = sum(math.cos((i - j) / 10000 ** (k / 8)) for k in range(8))
        compression = 8 * (n + 1) / 2
        return dot(query, key) / 2 + ((cosines - 8) / compression if idea else 0)

    return step_heads(p, y, score)


@example("target")
def soft_cap(p, _, y, idea=True):
    def score(n, i, j, query, key):
        raw = dot(query, key) / 2
        return 2 * math.tanh(raw / 2) if idea else raw

    return step_heads(p, y, score)


@example("target")
def query_key_norm(p, _, y, idea=True):
    g = p("decoder.attend.g", 2, low=1, high=4)

    def score(n, i, j, query, key):
        if not idea:
            return dot(query, key) / 2
        query = scale(1 / math.hypot(*query), query)
        return g[n] * dot(query, scale(1 / math.hypot(*key), key))

    return step_heads(p, y, score)


@example("target")
def linear_(p, _, y, idea=True):
    def feature(v):
        return [n + 1 if n > 0 else math.exp(n) for n in v]

    def normalise(scores):
        if not idea:
            return softmax(scores)
        total = sum(scores.values())
        return {j: score / total for j, score in scores.items()}

    def score(n, i, j, query, key):
        return dot(feature(query), feature(key)) if idea else dot(query, key)

    return step_heads(p, y, score, weights=normalise)


@example("target")
def sink(p, _, y, idea=True):
    e = embedding(p)
    d = [e[token] for token in y]
    q, k, v = (p(f"decoder.attend.{name}", 2, 4, 8) for name in "QKV")
    o, nothing = p("decoder.attend.O", 8, 2, 4), p("decoder.attend.nothing", 2, high=3)
    steps = []
    for i in range(len(d)):
        heads = []
        for n in range(2):
            query = matvec(q[n], d[i])
            powers = [math.exp(dot(query, matvec(k[n], d[j])) / 2) for j in range(i + 1)]
            total = sum(powers) + (math.exp(nothing[n]) if idea else 0)
            weights = {j: power / total for j, power in enumerate(powers)}
            heads.append(mix(weights, [matvec(v[n], m) for m in d], 4))
        steps.append((logits_of(p, add(d[i], join(o, heads))), None))
    return steps


@example("target")
def forgetting(p, _, y, idea=True):
    e = embedding(p)
    logs = [
        [math.log(sigmoid(gate)) for gate in linear(p, "decoder.gate", e[token], 2)]
        for token in y
    ]

    def score(n, i, j, query, key):
        between = sum(logs[t][n] for t in range(j + 1, i + 1))
        return dot(query, key) / 2 + (between if idea else 0)

    return step_heads(p, y, score)


@example("target")
def differential(p, _, y, idea=True):
    e = embedding(p)
    d = [e[token] for token in y]
    maps = [
        (p(f"decoder.{name}.Q", 2, 4, 8), p(f"decoder.{name}.K", 2, 4, 8))
        for name in ("signal", "noise")
    ]
    v, part = p("decoder.value", 2, 4, 8), p("decoder.lambda", 2, low=0.2, high=0.8)
    norm, o = p("decoder.norm.weight", 4), p("decoder.O", 8, 2, 4)
    steps = []
    for i in range(len(d)):
        heads = []
        for n in range(2):
            signal, noise = (
                softmax(
                    {
                        j: dot(matvec(q[n], d[i]), matvec(k[n], d[j])) / 2
                        for j in range(i + 1)
                    }
                )
                for q, k in maps
            )
            weights = {j: a - (part[n] * noise[j] if idea else 0) for j, a in signal.items()}
            head = mix(weights, [matvec(v[n], m) for m in d], 4)
            heads.append([g * number / rms(head) for g, number in zip(norm, head)])
        steps.append((logits_of(p, add(d[i], join(o, heads))), None))
    return steps


@example("target")
def retention(p, _, y, idea=True):
    e = embedding(p)
    d = [e[token] for token in y]
    q, k, v = (p(f"decoder.retain.{name}", 2, 4, 8) for name in "QKV")
    o, norm = p("decoder.O", 8, 2, 4), p("decoder.norm.weight", 4)
    pairs = [(0, 1), (2, 3)]
    # The recurrent form: a state of outer products that decays.
    states, steps = [[[0.0] * 4 for _ in range(4)] for _ in range(2)], []
    for t, m in enumerate(d):
        heads = []
        for n, state in enumerate(states):
            gamma = 1 - 2 ** -(5 + n) if idea else 1
            key, value = rotate(matvec(k[n], m), t, pairs), matvec(v[n], m)
            for a in range(4):
                for b in range(4):
                    state[a][b] = gamma * state[a][b] + key[a] * value[b]
            query = rotate(matvec(q[n], m), t, pairs)
            head = [sum(query[a] * state[a][b] for a in range(4)) / 2 for b in range(4)]
            heads.append([g * number / rms(head) for g, number in zip(norm, head)])
        steps.append((logits_of(p, add(m, join(o, heads))), None))
    return steps


@example("tag")
def sigmoid_(p, x, y, idea=True):
    e = embedding(p)
    h = [e[token] for token in x]
    q, k, v = (p(f"encoder.attend.{name}", 8, 8) for name in "QKV")
    result = []
    for query in h:
        scores = {
            j: dot(matvec(q, query), matvec(k, key)) / math.sqrt(8) for j, key in enumerate(h)
        }
        if idea:
            a = {j: sigmoid(score - math.log(len(h))) for j, score in scores.items()}
        else:
            a = softmax(scores)
        result.append(add(query, mix(a, [matvec(v, m) for m in h], 8)))
    return tag(p, result, y)


# The numbers.


def log_probabilities(logits, token):
    top = max(logits)
    return logits[token] - top - math.log(sum(math.exp(n - top) for n in logits))


def lines_of(name):
    """The sentences of an example: a source and a target, or a target.

    `source`: some steps over sources of all lengths; `tag`: a step for each
    position of the source, and one behind it; `target`: steps of all numbers.
    """
    _, decode, lengths, alphabet, inputs = EXAMPLES[name]
    source = random.Random(name)
    lines = []
    for length in lengths if decode != "target" else (1, 5, 12):
        x = [WORDS.index(source.choice("abcdefg")) for _ in range(length)]
        steps = {"source": 2 + length // 2, "tag": length + 1, "target": length}[decode]
        y = [WORDS.index(source.choice(alphabet)) for _ in range(steps - 1)]
        more = inputs(source, length) if inputs else {}
        lines.append((x if decode != "target" else [], y, more))
    return lines


def compute(name, parameters, idea=True):
    results = []
    for x, y, more in lines_of(name):
        steps = EXAMPLES[name][0](parameters, x, [START, *y], idea=idea, **more)
        logprobs = [
            log_probabilities(logits, token) for (logits, _), token in zip(steps, [*y, END])
        ]
        line = {
            "source": " ".join(WORDS[token] for token in x),
            "target": " ".join(WORDS[token] for token in y),
            "forced_logprobs": [round(n, 6) for n in logprobs],
        }
        if more:
            line["inputs"] = more
        if steps[0][1] is not None:
            line["forced_weights"] = [[round(n, 6) for n in a] for _, a in steps]
        results.append(line)
    return results


def same(a, b):
    """Whether values are the same, numbers to the last digit that is kept."""
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) < 2e-6
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def file_name(name):
    return name.rstrip("_")


def numbers():
    return {file_name(name): compute(name, Parameters(name)) for name in sorted(EXAMPLES)}


def main():
    arguments = sys.argv[1:]
    if arguments == ["numbers"]:
        entries = []
        for name, lines in numbers().items():
            text = ",\n    ".join(json.dumps(line) for line in lines)
            entries.append(f'  "{name}": [\n    {text}\n  ]')
        print("{\n" + ",\n".join(entries) + "\n}")
        return 0
    if arguments[:1] == ["check"] and len(arguments) == 2:
        kept, now = json.loads(Path(arguments[1]).read_text()), numbers()
        changed = sorted(
            name for name in kept.keys() | now.keys() if not same(kept.get(name), now.get(name))
        )
        print(f"{len(now) - len(changed)} of {len(now)} examples have the numbers of the file")
        for name in changed:
            print(f"{name} has others")
        return 1 if changed else 0
    if arguments[:1] == ["weights"] and len(arguments) == 2:
        for name in EXAMPLES:
            parameters = Parameters(name)
            compute(name, parameters)
            parameters.write(Path(arguments[1]) / f"{file_name(name)}.safetensors")
        return 0
    if arguments == ["ideas"]:
        shown = 0
        for name in EXAMPLES:
            parameters = Parameters(name)
            pairs = zip(compute(name, parameters), compute(name, parameters, idea=False))
            change = max(
                abs(a - b)
                for with_idea, without in pairs
                for a, b in zip(with_idea["forced_logprobs"], without["forced_logprobs"])
            )
            if change > 0.05:
                shown += 1
            else:
                print(f"{file_name(name)}: without its idea numbers change by {change} only")
        print(f"{shown} of {len(EXAMPLES)} ideas show")
        return 0 if shown == len(EXAMPLES) else 1
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
