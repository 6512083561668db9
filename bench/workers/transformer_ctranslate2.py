"""A transformer in CTranslate2."""

import pathlib
import time

import ctranslate2

from bench.workers.decoding import by_length, read_ids
from bench.workers.protocol import serve


def tokens_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8").splitlines() + ["<unk>"]


def start(config):
    translator = ctranslate2.Translator(
        config["folder"], device="cpu", compute_type=config["compute_type"],
        inter_threads=1, intra_threads=config["threads"])
    words = tokens_of(config["source_vocabulary"])
    sources = [[words[number] for number in ids] for ids in read_ids(config["sources"])]
    numbers = {token: number for number, token in
               enumerate(tokens_of(config["target_vocabulary"]))}

    def decode(first, count, beam, batch, alpha, max_length_factor, max_length_offset,
               want_results, min_length=1, stop=None):
        chosen = sources[first : first + count]
        assert max_length_factor == 0, "expected one maximum length for all"
        options = dict(
            # As elsewhere, the score of a greedy result is not normalised.
            beam_size=beam, length_penalty=alpha if beam > 1 else 0, min_decoding_length=min_length,
            max_decoding_length=max_length_offset, return_scores=True, max_batch_size=batch,
            batch_type="examples")
        found = [None] * count
        seconds = []
        begin = time.perf_counter()
        for places in by_length(chosen, batch) if batch > 1 else (
                [place] for place in range(count)):
            before = time.perf_counter()
            results = translator.translate_batch([chosen[place] for place in places],
                                                 **options)
            seconds.append(time.perf_counter() - before)
            for place, result in zip(places, results):
                found[place] = result
        if batch > 1:
            seconds = [time.perf_counter() - begin]
        ids = [[numbers[token] for token in result.hypotheses[0]] for result in found]
        # The end token is not among them, where there is one.
        emitted = [len(own) + (len(own) < max_length_offset) for own in ids]
        reply = {"seconds": seconds, "emitted": emitted}
        if want_results:
            reply["ids"] = ids
            reply["scores"] = [result.scores[0] for result in found]
        return reply

    return {"decode": decode}


if __name__ == "__main__":
    serve(start)
