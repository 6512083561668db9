"""Writes an attention RNN of Marian's (type s2s) with random weights.

usage: make_marian.py FOLDER EMBEDDING STATE SOURCE_WORDS TARGET_WORDS

Marian makes the weights itself, when it is asked to train for one update. Then the
end token is made impossible, so that the number of steps is known.
"""

import os
import sys

import numpy as np
from pymarian import Trainer


def main():
    folder = sys.argv[1]
    embedding, state, *sizes = map(int, sys.argv[2:])
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for side, size in zip(("source", "target"), sizes):
        with open(f"{side}.vocab", "w") as file:
            file.write("</s>\n<unk>\n" + "".join(f"w{i}\n" for i in range(size - 2)))
        with open(f"{side}.train", "w") as file:
            file.write("".join(f"w{i} w{i + 1}\n" for i in range(8)))
    Trainer(type="s2s", model="trained.npz", train_sets=["source.train", "target.train"],
            vocabs=["source.vocab", "target.vocab"], dim_emb=embedding, dim_rnn=state,
            dim_vocabs=sizes, seed=1, after_batches=1, mini_batch=8, cpu_threads=1,
            workspace=512, quiet=True).train()
    model = dict(np.load("trained.npz"))
    model["decoder_ff_logit_l2_b"][0, 0] = -1e4
    np.savez("model.npz", **model)


if __name__ == "__main__":
    main()
