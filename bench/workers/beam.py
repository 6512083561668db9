"""Beam search over a model that a framework runs: the rules of docs/decoding.md.

All hypotheses of a batch make one step together; a sentence that is done leaves
the batch at once. What is done here is bookkeeping over arrays of [sentences,
beam]; a model has these methods:

begin(sources)          encodes a batch of sentences
step(parents, tokens, scores, count)
                        continues rows `parents` (flat numbers of the step
                        before, None for the first) with tokens [sentences, k],
                        whose hypotheses have scores [sentences, k]; answers
                        with the best `count` continuations of each sentence:
                        (scores, places), a place being beam * vocabulary + token
keep(sentences)         from now on only these sentences, in this order
"""

import numpy as np


class Hypothesis:
    __slots__ = ("ids", "score", "emitted")

    def __init__(self, ids, score, emitted):
        self.ids, self.score, self.emitted = ids, score, emitted


def search(model, sources, limits, *, beam, alpha, start, end, vocabulary):
    """The best hypothesis of each source; `limits` are their maximum lengths."""
    if beam == 1:
        return greedy(model, sources, limits, start, end)
    count = len(sources)
    limits = np.asarray(limits)
    finished = [[] for _ in sources]
    own = np.arange(count)  # which source each row of the arrays is
    model.begin(sources)
    tokens = np.full((count, 1), start)
    scores = np.zeros((count, 1), np.float32)
    texts = np.zeros((count, 1, 0), np.int64)
    parents = None
    ranks = np.arange(2 * beam) < beam
    for emitted in range(1, int(limits.max()) + 1):
        best, places = model.step(parents, tokens, scores, 2 * beam)
        width = scores.shape[1]
        origins, words = np.divmod(places, vocabulary)
        ended = words == end
        for row, rank in zip(*np.nonzero(ended & ranks)):
            finished[own[row]].append(
                Hypothesis(texts[row, origins[row, rank]],
                           float(best[row, rank]) / emitted**alpha, emitted))
        live = np.argsort(ended, axis=1, kind="stable")[:, :beam]
        scores = np.take_along_axis(best, live, 1)
        tokens = np.take_along_axis(words, live, 1)
        origins = np.take_along_axis(origins, live, 1)
        rows = np.arange(len(own))[:, None]
        texts = np.concatenate([texts[rows, origins], tokens[:, :, None]], axis=2)
        parents = rows * width + origins

        stays = np.ones(len(own), bool)
        for row, source in enumerate(own):
            done = finished[source]
            if len(done) >= beam:
                done.sort(key=lambda one: -one.score)
                del done[beam:]
                bound = float(scores[row, 0]) / int(limits[source]) ** alpha
                stays[row] = bound > done[-1].score
            if emitted == limits[source]:
                done.extend(Hypothesis(text, float(score) / emitted**alpha, emitted)
                            for text, score in zip(texts[row], scores[row]))
                stays[row] = False
        if not stays.all():
            kept = np.nonzero(stays)[0]
            if not len(kept):
                break
            own, tokens, scores, texts, parents = (
                array[kept] for array in (own, tokens, scores, texts, parents))
            model.keep(kept)
    return [max(done, key=lambda one: one.score) for done in finished]


def greedy(model, sources, limits, start, end):
    count = len(sources)
    limits = np.asarray(limits)
    result = [None] * count
    own = np.arange(count)
    model.begin(sources)
    tokens = np.full((count, 1), start)
    scores = np.zeros((count, 1), np.float32)
    texts = np.zeros((count, int(limits.max())), np.int64)
    parents = None
    for emitted in range(1, int(limits.max()) + 1):
        scores, tokens = model.step(parents, tokens, scores, 1)
        ended = tokens[:, 0] == end
        texts[own, emitted - 1] = tokens[:, 0]
        stops = ended | (limits[own] == emitted)
        for row in np.nonzero(stops)[0]:
            source = own[row]
            length = emitted - int(ended[row])
            result[source] = Hypothesis(texts[source, :length],
                                        float(scores[row, 0]), emitted)
        parents = np.arange(len(own))
        if stops.any():
            kept = np.nonzero(~stops)[0]
            if not len(kept):
                break
            own, tokens, scores, parents = (
                array[kept] for array in (own, tokens, scores, parents))
            model.keep(kept)
    return result
