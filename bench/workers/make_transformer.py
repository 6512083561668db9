"""Writes a transformer of random weights, with CTranslate2's names of tensors.

usage: make_transformer.py FILE LAYERS WIDTH INNER VOCABULARY

Scales are such that the distribution over words is neither flat nor one word.
"""

import sys

import numpy as np
from safetensors.numpy import save_file


def main():
    path = sys.argv[1]
    layers, width, inner, words = map(int, sys.argv[2:])
    random = np.random.default_rng(1)
    tensors = {}

    def matrix(name, outputs, inputs, scale=1.0):
        weights = random.standard_normal((outputs, inputs), dtype=np.float32)
        tensors[f"{name}/weight"] = weights * np.float32(scale / inputs**0.5)

    def linear(name, outputs, inputs, scale=1.0):
        matrix(name, outputs, inputs, scale)
        tensors[f"{name}/bias"] = 0.02 * random.standard_normal(outputs, dtype=np.float32)

    def norm(name):
        tensors[f"{name}/gamma"] = np.ones(width, np.float32)
        tensors[f"{name}/beta"] = np.zeros(width, np.float32)

    for side in "encoder", "decoder":
        matrix(f"{side}/embeddings", words, width)
        norm(f"{side}/layer_norm")
        for i in range(layers):
            layer = f"{side}/layer_{i}"
            norm(f"{layer}/self_attention/layer_norm")
            linear(f"{layer}/self_attention/linear_0", 3 * width, width)
            linear(f"{layer}/self_attention/linear_1", width, width)
            if side == "decoder":
                norm(f"{layer}/attention/layer_norm")
                linear(f"{layer}/attention/linear_0", width, width)
                linear(f"{layer}/attention/linear_1", 2 * width, width)
                linear(f"{layer}/attention/linear_2", width, width)
            norm(f"{layer}/ffn/layer_norm")
            linear(f"{layer}/ffn/linear_0", inner, width)
            linear(f"{layer}/ffn/linear_1", width, inner)
    linear("decoder/projection", words, width, scale=2.0)
    save_file(tensors, path)


if __name__ == "__main__":
    main()
