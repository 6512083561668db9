"""The command `decode` of workers whose search is beam.py's."""

import time

import numpy as np

from bench.workers import beam as beam_search


def read_ids(path):
    with open(path) as file:
        return [[int(word) for word in line.split()] for line in file]


def pad(sources):
    """[sources, positions] The ids, with zeros behind those of shorter ones."""
    ids = np.zeros((len(sources), max(map(len, sources))), np.int64)
    for row, source in enumerate(sources):
        ids[row, : len(source)] = source
    return ids


def results(hypotheses):
    return {
        "ids": [[int(token) for token in one.ids] for one in hypotheses],
        "scores": [one.score for one in hypotheses],
        "emitted": [one.emitted for one in hypotheses],
    }


def by_length(sources, size):
    """Batches of similar length, as lists of places."""
    order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
    return [order[i : i + size] for i in range(0, len(order), size)]


def decode_command(model, config):
    """`model` is as beam.py says; sources carry their end token already."""
    all_sources = read_ids(config["sources"])
    end_token = [config["source_end"]] if "source_end" in config else []

    def decode(first, count, beam, batch, alpha, max_length_factor,
               max_length_offset, want_results):
        sources = all_sources[first : first + count]
        limits = [max_length_factor * len(ids) + max_length_offset for ids in sources]
        sources = [ids + end_token for ids in sources]
        found = [None] * len(sources)
        seconds = []
        start = time.perf_counter()
        for places in by_length(sources, batch) if batch > 1 else (
                [place] for place in range(len(sources))):
            before = time.perf_counter()
            best = beam_search.search(
                model, [sources[place] for place in places],
                [limits[place] for place in places], beam=beam, alpha=alpha,
                start=config["start"], end=config["end"],
                vocabulary=config["vocabulary"])
            seconds.append(time.perf_counter() - before)
            for place, hypothesis in zip(places, best):
                found[place] = hypothesis
        if batch > 1:
            seconds = [time.perf_counter() - start]
        reply = results(found)
        return {"seconds": seconds, **(reply if want_results else {
            "emitted": reply["emitted"]})}

    return decode
