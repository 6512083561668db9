"""Reads of some queries a sentence in PyTorch, eager or compiled: additive, and scaled
dot with heads."""

import torch

from bench.workers.inputs import fill
from bench.workers.protocol import serve
from bench.workers.timing import kernel_commands


def additive(query, keys, vector, values):
    energy = torch.tanh(query[:, :, None] + keys[:, None]) @ vector
    return torch.bmm(torch.softmax(energy, -1), values)


def dot(query, keys, values):
    return torch.nn.functional.scaled_dot_product_attention(query, keys, values)


def start(config):
    torch.set_num_threads(config["threads"])

    def compiled(function):
        if config["mode"] == "eager":
            return function
        # Each shape for itself: the best that compiling can do.
        torch._dynamo.reset()
        return torch.compile(function, dynamic=False)

    def make(sentences, positions, features, heads, queries):
        query = torch.from_numpy(fill((sentences, queries, features), 1))
        keys = torch.from_numpy(fill((sentences, positions, features), 2))
        values = torch.from_numpy(fill((sentences, positions, features), 3))
        if heads == 1:
            vector = torch.from_numpy(fill((features,), 4)) * 0.1
            run = compiled(additive)
            return lambda: run(query, keys, vector, values)
        run = compiled(dot)
        # [sentences, heads, positions, features of a head], dense: the layout that
        # PyTorch's kernels like best.
        query, keys, values = (
            x.view(sentences, x.shape[1], heads, -1).transpose(1, 2).contiguous()
            for x in (query, keys, values))
        return lambda: run(query, keys, values).transpose(1, 2)

    return kernel_commands(make)


if __name__ == "__main__":
    with torch.inference_mode():
        serve(start)
