"""aren.attn, a pre-norm Transformer, in PyTorch; tensors have CTranslate2's names."""

import math

import torch
from safetensors.torch import load_file
from torch.nn import functional

from bench.workers.decoding import decode_command, pad
from bench.workers.protocol import serve


class Layer:
    """The parameters of a part of the model, by what follows its name."""

    def __init__(self, tensors, name):
        self.tensors, self.name = tensors, name

    def norm(self, path, x):
        weight, bias = (self.tensors[f"{self.name}/{path}/{part}"] for part in ("gamma", "beta"))
        return functional.layer_norm(x, weight.shape, weight, bias)

    def linear(self, path, x):
        return functional.linear(x, *(self.tensors[f"{self.name}/{path}/{part}"]
                                      for part in ("weight", "bias")))

    def feed_forward(self, x):
        inner = functional.relu(self.linear("ffn/linear_0", self.norm("ffn/layer_norm", x)))
        return x + self.linear("ffn/linear_1", inner)


class Model:
    def __init__(self, config):
        torch.set_num_threads(config["threads"])
        self.device, self.heads = config.get("device", "cpu"), config["heads"]
        self.tensors = load_file(config["weights"], device=self.device)
        self.width = self.tensors["encoder/embeddings/weight"].shape[1]
        for name, tensor in self.tensors.items():
            # Heads may be a dimension of their own, of rows or of columns.
            if "attention/linear" in name:
                matrix = name.endswith("/weight")
                self.tensors[name] = tensor.reshape(-1, self.width) if matrix else tensor.flatten()
        layers = {name.split("/")[1] for name in self.tensors if "/layer_" in name}
        count = len([name for name in layers if name[6:].isdigit()])
        self.encoder, self.decoder = (
            [Layer(self.tensors, f"{side}/layer_{i}") for i in range(count)]
            for side in ("encoder", "decoder"))
        self.width = self.tensors["encoder/embeddings/weight"].shape[1]

    def embed(self, side, ids, positions):
        """Positions count from 1."""
        half = self.width // 2
        rates = torch.exp(torch.arange(half, device=self.device)
                          * (-math.log(10000) / (half - 1)))
        angles = positions[..., None] * rates
        words = functional.embedding(ids, self.tensors[f"{side}/embeddings/weight"])
        return words * math.sqrt(self.width) + torch.cat([angles.sin(), angles.cos()], -1)

    def split(self, x):
        """[rows, positions, features] -> [rows, heads, positions, features of a head]"""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def merge(self, x):
        return x.transpose(1, 2).flatten(2)

    def begin(self, sources):
        lengths = torch.tensor([len(ids) for ids in sources])
        longest = int(lengths.max())
        positions = torch.arange(longest)
        self.mask = None
        if int(lengths.min()) < longest:
            self.mask = (positions < lengths[:, None])[:, None, None].to(self.device)
        x = self.embed("encoder", torch.from_numpy(pad(sources)).to(self.device),
                       (positions + 1).to(self.device))
        for layer in self.encoder:
            n = layer.norm("self_attention/layer_norm", x)
            q, k, v = map(self.split, layer.linear("self_attention/linear_0", n).chunk(3, -1))
            read = functional.scaled_dot_product_attention(q, k, v, self.mask)
            x = layer.feed_forward(x + layer.linear("self_attention/linear_1", self.merge(read)))
        memory = Layer(self.tensors, "encoder").norm("layer_norm", x)
        self.memories = [
            [self.split(part) for part in layer.linear("attention/linear_1", memory).chunk(2, -1)]
            for layer in self.decoder]
        self.pasts = [None] * len(self.decoder)
        self.position = 0

    def step(self, parents, tokens, scores, count):
        sentences, width = tokens.shape
        self.position += 1
        if parents is not None:
            chosen = torch.from_numpy(parents.ravel()).to(self.device)
            self.pasts = [[part[chosen] for part in past] for past in self.pasts]
        # [rows, 1, features]
        x = self.embed("decoder", torch.from_numpy(tokens).to(self.device).view(-1, 1),
                       torch.tensor([self.position], device=self.device))
        for number, layer in enumerate(self.decoder):
            n = layer.norm("self_attention/layer_norm", x)
            q, k, v = map(self.split, layer.linear("self_attention/linear_0", n).chunk(3, -1))
            if self.pasts[number]:
                k, v = (torch.cat(pair, 2) for pair in zip(self.pasts[number], (k, v)))
            self.pasts[number] = [k, v]
            read = functional.scaled_dot_product_attention(q, k, v)
            x = x + layer.linear("self_attention/linear_1", self.merge(read))
            n = layer.norm("attention/layer_norm", x)
            # The hypotheses of a sentence read one memory.
            q = self.split(layer.linear("attention/linear_0", n).view(sentences, width, -1))
            read = functional.scaled_dot_product_attention(q, *self.memories[number], self.mask)
            read = self.merge(read).reshape(sentences * width, 1, -1)
            x = layer.feed_forward(x + layer.linear("attention/linear_2", read))
        top = Layer(self.tensors, "decoder")
        logits = top.linear("projection", top.norm("layer_norm", x))
        logprobs = torch.log_softmax(logits, -1).view(sentences, width, -1)
        total = logprobs + torch.from_numpy(scores).to(self.device)[:, :, None]
        best, places = total.flatten(1).topk(count)
        return best.cpu().numpy(), places.cpu().numpy()

    def keep(self, sentences):
        chosen = torch.from_numpy(sentences).to(self.device)
        self.memories = [[part[chosen] for part in memory] for memory in self.memories]
        if self.mask is not None:
            self.mask = self.mask[chosen]


def start(config):
    return {"decode": decode_command(Model(config), config)}


if __name__ == "__main__":
    with torch.inference_mode():
        serve(start)
