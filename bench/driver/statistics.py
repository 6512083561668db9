"""Figures of times that were taken in turns."""

import statistics


def median(values):
    return statistics.median(values)


def percentile(values, percent):
    """The value that `percent` of all are not above."""
    ordered = sorted(values)
    place = -(-len(ordered) * percent // 100) - 1
    return ordered[max(int(place), 0)]


def ratio(own, other):
    """How many times longer the other took: the median over rounds, each of which
    stands under what the machine did to both just then."""
    return median([theirs / ours for ours, theirs in zip(own, other)])
