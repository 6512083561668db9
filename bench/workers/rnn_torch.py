"""rnnsearch.attn in PyTorch, eager or with a compiled step."""

import torch
import torch._inductor.config
from safetensors.torch import load_file
from torch import nn

from bench.workers.decoding import decode_command, pad
from bench.workers.protocol import serve


class Rnnsearch(nn.Module):
    def __init__(self, weights):
        super().__init__()
        shape = {name: tensor.shape for name, tensor in weights.items()}
        embedding = shape["source.embedding"][1]
        hidden = shape["encoder.forward.weight_hh"][1]
        state = shape["decoder.cell.weight_hh"][1]
        alignment = shape["decoder.align.W"][0]
        readout = shape["decoder.readout.weight"][0]
        vocabulary = shape["decoder.predict.weight"][0]
        self.hidden = hidden
        self.source = nn.Embedding(*shape["source.embedding"])
        self.target = nn.Embedding(*shape["target.embedding"])
        self.encoder = nn.GRU(embedding, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(hidden, state)
        self.query = nn.Linear(state, alignment, bias=False)
        self.key = nn.Linear(2 * hidden, alignment, bias=False)
        self.energy = nn.Linear(alignment, 1, bias=False)
        self.cell = nn.GRUCell(embedding + 2 * hidden, state)
        self.readout = nn.Linear(state + 2 * hidden + embedding, readout)
        self.predict = nn.Linear(readout // 2, vocabulary)
        own = {
            "source.weight": "source.embedding",
            "target.weight": "target.embedding",
            "query.weight": "decoder.align.W",
            "key.weight": "decoder.align.U",
        }
        for part in "weight_ih", "weight_hh", "bias_ih", "bias_hh":
            own[f"encoder.{part}_l0"] = f"encoder.forward.{part}"
            own[f"encoder.{part}_l0_reverse"] = f"encoder.backward.{part}"
            own[f"cell.{part}"] = f"decoder.cell.{part}"
        for part in "weight", "bias":
            own[f"bridge.{part}"] = f"encoder.bridge.{part}"
            own[f"readout.{part}"] = f"decoder.readout.{part}"
            own[f"predict.{part}"] = f"decoder.predict.{part}"
        state_dict = {mine: weights[name] for mine, name in own.items()}
        state_dict["energy.weight"] = weights["decoder.align.v"][None]
        self.load_state_dict(state_dict)

    def encode(self, ids, lengths):
        embedded = self.source(ids)
        if len(lengths) == 1:
            memory, _ = self.encoder(embedded)
        else:
            packed = nn.utils.rnn.pack_padded_sequence(
                embedded, lengths, batch_first=True, enforce_sorted=False)
            memory, _ = nn.utils.rnn.pad_packed_sequence(
                self.encoder(packed)[0], batch_first=True)
        state = torch.tanh(self.bridge(memory[:, 0, self.hidden :]))
        return memory, self.key(memory), state

    def step(self, memory, keys, padding, state, tokens, scores, count):
        """`padding` [sentences, 1, positions], or None where there is none."""
        sentences, width = tokens.shape
        word = self.target(tokens).flatten(0, 1)
        query = self.query(state).view(sentences, width, 1, -1)
        energy = self.energy(torch.tanh(query + keys[:, None])).squeeze(-1)
        if padding is not None:
            energy = energy.masked_fill(padding, float("-inf"))
        context = torch.bmm(torch.softmax(energy, -1), memory).flatten(0, 1)
        state = self.cell(torch.cat([word, context], 1), state)
        readout = self.readout(torch.cat([state, context, word], 1))
        logits = self.predict(readout.view(len(state), -1, 2).amax(-1))
        logprobs = torch.log_softmax(logits, -1).view(sentences, width, -1)
        total = (logprobs + scores[:, :, None]).flatten(1)
        if count == 1:
            best, places = total.max(1, keepdim=True)
        else:
            best, places = total.topk(count)
        return state, best, places


class Model:
    def __init__(self, config):
        torch.set_num_threads(config["threads"])
        torch.set_num_interop_threads(1)
        self.device = config.get("device", "cpu")
        self.module = Rnnsearch(load_file(config["weights"])).eval().to(self.device)
        self.run_step = self.module.step
        if config["mode"] == "compile":
            # Constants are packed for the processor, as PyTorch's guide for
            # inference on processors recommends.
            torch._inductor.config.freezing = True
            self.run_step = torch.compile(self.module.step, dynamic=True)

    def begin(self, sources):
        lengths = [len(ids) for ids in sources]
        longest = max(lengths)
        self.memory, self.keys, self.state = self.module.encode(
            torch.from_numpy(pad(sources)).to(self.device), torch.tensor(lengths))
        self.padding = None
        if min(lengths) < longest:
            self.padding = (torch.arange(longest)[None, None]
                            >= torch.tensor(lengths)[:, None, None]).to(self.device)

    def step(self, parents, tokens, scores, count):
        state = self.state
        if parents is not None:
            state = state[torch.from_numpy(parents.ravel()).to(self.device)]
        self.state, best, places = self.run_step(
            self.memory, self.keys, self.padding, state,
            torch.from_numpy(tokens).to(self.device),
            torch.from_numpy(scores).to(self.device), count)
        return best.cpu().numpy(), places.cpu().numpy()

    def keep(self, sentences):
        chosen = torch.from_numpy(sentences).to(self.device)
        self.memory, self.keys = self.memory[chosen], self.keys[chosen]
        if self.padding is not None:
            self.padding = self.padding[chosen]


def start(config):
    return {"decode": decode_command(Model(config), config)}


if __name__ == "__main__":
    with torch.inference_mode():
        serve(start)
