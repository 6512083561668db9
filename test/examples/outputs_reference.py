#!/usr/bin/env python3
"""What the examples say that do not emit words, from their definitions.

Each function is one example: plain loops, as its paper has the equations. It
shares no code with the project.

usage: outputs_reference.py weights NAME FILE    the example's random weights
       outputs_reference.py numbers NAME         the expected numbers, as JSON lines
       outputs_reference.py check NAME FILE      whether FILE has these numbers
"""

import json
import math
import sys
from pathlib import Path

from attention_reference import Parameters, add, dot, matvec, sigmoid, softmax

LETTERS = Path(__file__).parents[2] / "examples" / "letters.vocab"
SOURCES = ["a", "b c", "d a b", "e f g h", "a b c d e f", "n m l k j i h g f", "a b a b a"]


def lstm_cell(p, name, x, hidden, cell):
    size = len(hidden)
    gates = add(
        matvec(p(f"{name}.weight_ih", 4 * size, len(x)), x),
        p(f"{name}.bias_ih", 4 * size),
        matvec(p(f"{name}.weight_hh", 4 * size, size), hidden),
        p(f"{name}.bias_hh", 4 * size),
    )
    i, f, g, o = (gates[k * size : (k + 1) * size] for k in range(4))
    cell = [
        sigmoid(forget) * c + sigmoid(enter) * math.tanh(new)
        for forget, c, enter, new in zip(f, cell, i, g, strict=True)
    ]
    return [sigmoid(out) * math.tanh(c) for out, c in zip(o, cell, strict=True)], cell


def read_source(source, end):
    tokens = LETTERS.read_text().splitlines()
    return [tokens.index(word) for word in source.split()] + ([tokens.index("<eos>")] if end else [])


def text(positions):
    return " ".join(map(str, positions))


class Pointer:
    """Vinyals et al. 2015, with each position at most once."""

    E, H = 6, 10

    def __init__(self, source):
        p = self.p = Parameters("pointer")
        vocabulary = len(LETTERS.read_text().splitlines())
        table = p("source.embedding", vocabulary, self.E)
        self.words = [table[token] for token in read_source(source, end=True)]
        self.memory = []
        hidden, cell = [0.0] * self.H, [0.0] * self.H
        for word in self.words:
            hidden, cell = lstm_cell(p, "encoder.lstm", word, hidden, cell)
            self.memory.append(hidden)
        self.first = hidden, cell

    def step(self, state, chosen):
        """The log-probabilities behind the positions chosen so far."""
        p = self.p
        word = self.words[chosen[-1]] if chosen else [0.0] * self.E
        hidden, cell = lstm_cell(p, "decoder.lstm_cell", word, *state)
        query = matvec(p("decoder.point.U", self.H, self.H), hidden)
        W, v = p("decoder.point.W", self.H, self.H), p("decoder.point.v", self.H)
        scores = {
            j: dot(v, [math.tanh(x) for x in add(matvec(W, h), query)])
            for j, h in enumerate(self.memory)
            if j not in chosen
        }
        weights = softmax(scores)
        return (hidden, cell), {j: math.log(weight) for j, weight in weights.items()}

    def force(self, target):
        state, logprobs = self.first, []
        for t, position in enumerate(target):
            state, step = self.step(state, target[:t])
            logprobs.append(step[position])
        return logprobs

    def greedy(self, most):
        state, chosen = self.first, []
        while len(chosen) < most:
            state, step = self.step(state, chosen)
            chosen.append(max(step, key=lambda j: (step[j], -j)))
            if chosen[-1] == len(self.memory) - 1:
                break
        return chosen

    def beam(self, width, most):
        """R16 without normalisation, plainly: the finished hypotheses, best first."""
        live, finished = [(0.0, [], self.first)], []
        for _ in range(most):
            found = []
            for rank, (total, chosen, state) in enumerate(live):
                after, step = self.step(state, chosen)
                found += [(-total - logprob, rank, j, chosen, after) for j, logprob in step.items()]
            found.sort(key=lambda entry: entry[:3])
            live, end = [], len(self.memory) - 1
            for place, (cost, _, j, chosen, after) in enumerate(found[: 2 * width]):
                if j == end and place < width:
                    finished.append((cost, len(finished), chosen))
                elif j != end and len(live) < width:
                    live.append((-cost, chosen + [j], after))
            finished = sorted(finished)[:width]
            if not live or (len(finished) == width and -live[0][0] >= finished[-1][0]):
                break
        return [{"text": text(chosen), "score": -cost} for cost, _, chosen in finished]

    @classmethod
    def line(cls, source):
        model = cls(source)
        end = len(model.memory) - 1
        most = 2 * end + 12
        greedy = model.greedy(most)
        # Backwards, every position once.
        target = list(range(end - 1, -1, -1))
        return {
            "source": source,
            "greedy": text(greedy[:-1]),
            "greedy_logprob": sum(model.force(greedy)),
            "greedy_finished": True,
            "target": text(target),
            "forced_logprobs": model.force([*target, end]),
            "beam4_alpha0": model.beam(4, most),
        }, model.p


def convolve(weight, bias, signal):
    """Zeros beyond the ends."""
    width = len(weight[0][0])
    result = []
    for t in range(len(signal)):
        row = []
        for kernel, b in zip(weight, bias, strict=True):
            for k in range(width):
                place = t + k - (width - 1) // 2
                if 0 <= place < len(signal):
                    b += dot([channel[k] for channel in kernel], signal[place])
            row.append(b)
        result.append(row)
    return result


def relu(v):
    return [max(x, 0.0) for x in v]


class Tacotron:
    """Shen et al. 2018 without its post-net."""

    E, H, P, D, A, F, K, M = 6, 4, 5, 7, 6, 3, 5, 4
    THRESHOLD, STALL = 0.625, 4

    def __init__(self, source):
        p = self.p = Parameters("tacotron")
        vocabulary = len(LETTERS.read_text().splitlines())
        table = p("letters.embedding", vocabulary, self.E)
        words = [table[token] for token in read_source(source, end=False)]
        for layer in range(3):
            name = f"encoder.layer.{layer}.conv1d"
            kernel = p(f"{name}.weight", self.E, self.E, 5)
            words = [relu(row) for row in convolve(kernel, p(f"{name}.bias", self.E), words)]
        forward = self.run("encoder.forward", words)
        backward = self.run("encoder.backward", words[::-1])[::-1]
        self.memory = [a + b for a, b in zip(forward, backward, strict=True)]

    def run(self, name, words):
        hidden, cell, all_hidden = [0.0] * self.H, [0.0] * self.H, []
        for word in words:
            hidden, cell = lstm_cell(self.p, name, word, hidden, cell)
            all_hidden.append(hidden)
        return all_hidden

    def start(self):
        zeros = [0.0] * self.D
        count = len(self.memory)
        return zeros, zeros, zeros, zeros, [0.0] * 2 * self.H, [[0.0]] * count, [[0.0]] * count

    def step(self, state, frame):
        """The state after, the frame, the probability that it is the last, the weights."""
        p, wide = self.p, 2 * self.H
        s, s_cell, d, d_cell, c, last, total = state
        x = relu(matvec(p("decoder.prenet1.weight", self.P, self.M), frame))
        x = relu(matvec(p("decoder.prenet2.weight", self.P, self.P), x))
        s, s_cell = lstm_cell(p, "decoder.attend", x + c, s, s_cell)
        seen = [
            convolve(p(f"decoder.{name}.weight", self.F, 1, self.K), p(f"decoder.{name}.bias", self.F), signal)
            for name, signal in (("last", last), ("all", total))
        ]
        query = add(
            matvec(p("decoder.align.W", self.A, self.D), s), p("decoder.align.b", self.A)
        )
        U, V = p("decoder.align.U", self.A, wide), p("decoder.align.V", self.A, self.F)
        v = p("decoder.align.v", self.A, low=-3, high=3)
        scores = {}
        for j, h in enumerate(self.memory):
            inside = add(query, matvec(U, h), matvec(V, add(seen[0][j], seen[1][j])))
            scores[j] = dot(v, [math.tanh(x) for x in inside])
        weights = softmax(scores)
        c = [sum(weights[j] * h[i] for j, h in enumerate(self.memory)) for i in range(wide)]
        last = [[weights[j]] for j in range(len(self.memory))]
        total = [[a[0] + b[0]] for a, b in zip(total, last, strict=True)]
        d, d_cell = lstm_cell(p, "decoder.generate", s + c, d, d_cell)
        out = d + c
        frame = add(
            matvec(p("decoder.frame.weight", self.M, self.D + wide), out), p("decoder.frame.bias", self.M)
        )
        end = dot(p("decoder.end.weight", 1, self.D + wide)[0], out) + p("decoder.end.bias", 1)[0]
        return (s, s_cell, d, d_cell, c, last, total), frame, sigmoid(end), weights

    def speak(self, most, threshold=0.5, stall=0):
        state, frame = self.start(), [0.0] * self.M
        frames, stops, alignment, places = [], [], [], []
        while len(frames) < most:
            state, frame, stop, weights = self.step(state, frame)
            frames.append(frame)
            stops.append(stop)
            alignment.append([weights[j] for j in range(len(self.memory))])
            places.append(max(weights, key=lambda j: (weights[j], -j)))
            if stop > threshold:
                return frames, stops, alignment, "threshold"
            if stall and len(places) > stall and len(set(places[-stall - 1 :])) == 1:
                return frames, stops, alignment, "stalled"
        return frames, stops, alignment, "maximum"

    def force(self, given):
        state, frames, stops = self.start(), [], []
        for before in [[0.0] * self.M, *given[:-1]]:
            state, frame, stop, _ = self.step(state, before)
            frames.append(frame)
            stops.append(stop)
        return frames, stops

    @classmethod
    def line(cls, source):
        model = cls(source)
        length = 2 * len(model.memory) + 12
        result = {"source": source}
        for name, threshold, stall in (("threshold", cls.THRESHOLD, 0), ("long", 1.0, 0), ("stall", 1.0, cls.STALL)):
            frames, stops, alignment, ended = model.speak(length, threshold, stall)
            result[name] = {"frames": frames, "stops": stops, "ended": ended}
            if name == "threshold":
                result[name]["alignment"] = alignment
        given = [[math.sin(t + 2 * i) for i in range(cls.M)] for t in range(len(model.memory))]
        frames, stops = model.force(given)
        result["forced"] = {"given": given, "frames": frames, "stops": stops, "ended": "maximum"}
        return result, model.p


EXAMPLES = {"pointer": Pointer, "tacotron": Tacotron}


def rounded(value):
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return value


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-5, abs_tol=2e-5)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def main():
    command, name, *rest = sys.argv[1:]
    lines = [EXAMPLES[name].line(source) for source in SOURCES]
    if command == "weights":
        lines[0][1].write(Path(rest[0]))
        return 0
    if command == "numbers":
        for line, _ in lines:
            print(json.dumps(rounded(line)))
        return 0
    found = [json.loads(line) for line in Path(rest[0]).read_text().splitlines()]
    for line, (expected, _) in zip(found, lines, strict=True):
        for key, value in expected.items():
            if not same(line[key], value):
                print(f"error: {line['source']}: expected {key} {value}, but got {line[key]}")
                return 1
    print(f"{len(found)} lines agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
