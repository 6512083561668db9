"""rnnsearch.attn in ONNX Runtime: two graphs, written once, and a search outside.

The step takes along what surrounds it: it gathers the states of the hypotheses
that go on, and ends with the best continuations, so that no logits leave it.
"""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from bench.workers.decoding import decode_command, pad
from bench.workers.protocol import serve


class Graph:
    """Builds a graph node by node."""

    def __init__(self):
        self.nodes, self.constants, self.names = [], [], 0

    def constant(self, array):
        self.names += 1
        name = f"c{self.names}"
        self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def __call__(self, kind, *inputs, outputs=1, name=None, **attributes):
        self.names += 1
        own = [name] if name else [f"v{self.names}_{i}" for i in range(outputs)]
        inputs = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        self.nodes.append(helper.make_node(kind, inputs, own, **attributes))
        return own[0] if outputs == 1 else own

    def session(self, inputs, outputs, threads):
        def info(values):
            return [helper.make_tensor_value_info(name, kind, shape)
                    for name, (kind, shape) in values.items()]

        graph = helper.make_graph(self.nodes, "graph", info(inputs), info(outputs),
                                  self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                                  ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"])


FLOAT, INT, INT32, BOOL = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32,
                           TensorProto.BOOL)


def ints(*values):
    return np.array(values, np.int64)


def gates(rows):
    """ONNX's order of gates (update, reset, new) from PyTorch's."""
    reset, update, new = np.split(rows, 3)
    return np.concatenate([update, reset, new])


def encoder(weights, threads):
    graph = Graph()
    hidden = weights["encoder.forward.weight_hh"].shape[1]

    def both(part):
        return np.stack([gates(weights[f"encoder.{direction}.{part}"])
                         for direction in ("forward", "backward")])

    # [positions, sentences, E]
    embedded = graph("Gather", weights["source.embedding"], "ids")
    biases = np.concatenate([both("bias_ih"), both("bias_hh")], axis=1)
    sequence, _ = graph("GRU", embedded, both("weight_ih"), both("weight_hh"), biases,
                        "lengths", outputs=2, direction="bidirectional",
                        hidden_size=hidden, linear_before_reset=1)
    # [positions, directions, sentences, H] to [sentences, positions, 2 H]
    memory = graph("Reshape", graph("Transpose", sequence, perm=[2, 0, 1, 3]),
                   ints(0, 0, -1), name="memory")
    graph("MatMul", memory, weights["decoder.align.U"].T, name="keys")
    first = graph("Gather", memory, np.int64(0), axis=1)
    backward = graph("Slice", first, ints(hidden), ints(2 * hidden), ints(1))
    graph("Tanh", graph("Gemm", backward, weights["encoder.bridge.weight"],
                        weights["encoder.bridge.bias"], transB=1), name="state")
    return graph.session(
        {"ids": (INT, ["positions", "sentences"]), "lengths": (INT32, ["sentences"])},
        {"memory": (FLOAT, None), "keys": (FLOAT, None), "state": (FLOAT, None)},
        threads)


def gru_cell(graph, weights, inputs, state):
    """As the exporter of PyTorch decomposes one; the operation GRU takes twice as
    long for a single position."""
    parts = []
    for kind, operand in ("ih", inputs), ("hh", state):
        gemm = graph("Gemm", operand, weights[f"decoder.cell.weight_{kind}"],
                     weights[f"decoder.cell.bias_{kind}"], transB=1)
        parts.append(graph("Split", gemm, outputs=3, axis=1, num_outputs=3))
    reset, update = (graph("Sigmoid", graph("Add", mine, others))
                     for mine, others in list(zip(*parts))[:2])
    new = graph("Tanh", graph("Add", parts[0][2], graph("Mul", reset, parts[1][2])))
    change = graph("Mul", update, graph("Sub", state, new))
    return graph("Add", new, change, name="next_states")


def step(weights, threads, masked, beam):
    graph = Graph()
    state = graph("Gather", "states", "parents")
    # [sentences, k, E]
    word = graph("Gather", weights["target.embedding"], "tokens")
    shape = graph("Shape", "tokens")
    query = graph("MatMul", state, weights["decoder.align.W"].T)
    query = graph("Reshape", query, graph("Concat", shape, ints(1, -1), axis=0))
    keys = graph("Unsqueeze", "keys", ints(1))
    energy = graph("MatMul", graph("Tanh", graph("Add", query, keys)),
                   weights["decoder.align.v"])
    if masked:
        energy = graph("Where", "padding", np.float32("-inf"), energy)
    context = graph("MatMul", graph("Softmax", energy, axis=-1), "memory")
    flat = ints(-1, weights["encoder.bridge.weight"].shape[1] * 2)
    context = graph("Reshape", context, flat)
    word = graph("Reshape", word, ints(-1, weights["target.embedding"].shape[1]))

    inputs = graph("Concat", word, context, axis=1)
    next_state = gru_cell(graph, weights, inputs, state)

    readout = graph("Gemm", graph("Concat", next_state, context, word, axis=1),
                    weights["decoder.readout.weight"], weights["decoder.readout.bias"],
                    transB=1)
    half = weights["decoder.readout.weight"].shape[0] // 2
    readout = graph("ReduceMax", graph("Reshape", readout, ints(-1, half, 2)), ints(2),
                    keepdims=0)
    logits = graph("Gemm", readout, weights["decoder.predict.weight"],
                   weights["decoder.predict.bias"], transB=1)
    logprobs = graph("LogSoftmax", logits, axis=-1)
    scores = graph("Reshape", "scores", ints(-1, 1))
    total = graph("Add", logprobs, scores)
    # [sentences, k * vocabulary]
    sentences = graph("Slice", shape, ints(0), ints(1))
    total = graph("Reshape", total, graph("Concat", sentences, ints(-1), axis=0))
    if beam == 1:
        places = graph("ArgMax", total, axis=1, keepdims=1, name="places")
        graph("GatherElements", total, places, axis=1, name="best")
    else:
        graph.nodes.append(helper.make_node(
            "TopK", [total, graph.constant(ints(2 * beam))], ["best", "places"]))
    inputs = {"memory": (FLOAT, ["sentences", "positions", None]),
              "keys": (FLOAT, ["sentences", "positions", None]),
              "states": (FLOAT, ["states", None]), "parents": (INT, ["rows"]),
              "tokens": (INT, ["sentences", "k"]), "scores": (FLOAT, ["sentences", "k"])}
    if masked:
        inputs["padding"] = (BOOL, ["sentences", 1, "positions"])
    return graph.session(inputs, {"next_states": (FLOAT, None), "best": (FLOAT, None),
                                  "places": (INT, None)}, threads)


class Model:
    def __init__(self, config):
        self.weights, self.threads = load_file(config["weights"]), config["threads"]
        self.encoder = encoder(self.weights, self.threads)
        self.steps = {}

    def begin(self, sources):
        lengths = np.array([len(ids) for ids in sources], np.int32)
        longest = int(lengths.max())
        ids = np.ascontiguousarray(pad(sources).T)
        memory, keys, self.states = self.encoder.run(None, {"ids": ids, "lengths": lengths})
        self.memory = {"memory": memory, "keys": keys}
        self.masked = int(lengths.min()) < longest
        if self.masked:
            self.memory["padding"] = (np.arange(longest) >= lengths[:, None])[:, None]

    def step(self, parents, tokens, scores, count):
        key = self.masked, max(count // 2, 1)
        if key not in self.steps:
            self.steps[key] = step(self.weights, self.threads, *key)
        if parents is None:
            parents = np.arange(len(tokens))
        self.states, best, places = self.steps[key].run(None, {
            **self.memory, "states": self.states, "parents": parents.ravel(),
            "tokens": tokens, "scores": scores})
        return best, places

    def keep(self, sentences):
        self.memory = {name: array[sentences] for name, array in self.memory.items()}


def start(config):
    return {"decode": decode_command(Model(config), config)}


if __name__ == "__main__":
    serve(start)
