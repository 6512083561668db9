"""An attention RNN of Marian's, by way of pymarian."""

import time

from pymarian import Translator

from bench.workers.decoding import read_ids
from bench.workers.protocol import serve


def start(config):
    sources = read_ids(config["sources"])
    folder = config["folder"]
    translators = {}

    def translator(beam, batch, alpha, factor):
        key = beam, batch, alpha, factor
        if key not in translators:
            translators[key] = Translator(
                models=f"{folder}/model.npz",
                vocabs=[f"{folder}/source.vocab", f"{folder}/target.vocab"],
                beam_size=beam, normalize=alpha, mini_batch=batch, maxi_batch=100,
                maxi_batch_sort="src", max_length_factor=factor, workspace=256,
                cpu_threads=config["threads"], quiet=True, quiet_translation=True)
        return translators[key]

    def decode(first, count, beam, batch, alpha, max_length_factor, max_length_offset,
               want_results, min_length):
        chosen = sources[first : first + count]
        lengths = {len(ids) for ids in chosen}
        assert len(lengths) == 1 and max_length_factor == 0, "expected equal lengths"
        # Marian's maximum is a multiple of the source's length, its end included.
        own = translator(beam, batch, alpha, max_length_offset / (lengths.pop() + 1))
        lines = [" ".join(f"w{number}" for number in ids) for ids in chosen]
        seconds, texts = [], []
        for group in [lines] if batch > 1 else [[line] for line in lines]:
            before = time.perf_counter()
            result = own.translate(group)
            seconds.append(time.perf_counter() - before)
            texts += result if isinstance(result, list) else [result]
        return {"seconds": seconds, "emitted": [len(text.split()) for text in texts],
                **({"ids": [[]] * count, "scores": [0.0] * count} if want_results else {})}

    return {"decode": decode}


if __name__ == "__main__":
    serve(start)
