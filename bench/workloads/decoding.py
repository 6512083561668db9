"""What workloads that decode have in common: check the outputs, then take turns."""

import contextlib
import sys

from bench.driver.statistics import median, percentile, ratio
from bench.driver.turns import take_turns
from bench.driver.worker import Worker, WorkerError

OURS = "attn"
# Hypotheses whose scores are closer may change places; sums of log-probabilities
# of equal texts may differ by more.
TIE, SCORE = 1e-4, 1e-3


class Candidate:
    """`exact`: its outputs must be ours. Others (reduced precision) are compared
    and timed all the same, unless `note` says that there is nothing to compare.
    `library` is the compiled one, where it is ours."""

    def __init__(self, name, command, *, exact=True, note=None, library=None):
        self.name, self.command, self.library = name, command, library
        self.exact, self.note = exact and not note, note


def ours(environment, model):
    """Our candidates: f32, and int8 where the compiler can; and notes."""
    def candidate(name, library, exact):
        return Candidate(name, lambda threads: model.worker(library, threads), exact=exact,
                         library=library)

    found, notes = [candidate(OURS, model.library(), True)], []
    if environment.wants("attn-int8"):
        if "--precision" in environment.attnc_help:
            found.append(candidate("attn-int8", model.library(
                "--precision", "int8", suffix="-int8"), False))
        else:
            notes.append(("attn-int8", "attnc has no --precision"))
    return found, notes


class Setting:
    """How to decode. `chunk` sentences make a turn (None: all); `sentences` are fewer
    than the workload's."""

    def __init__(self, name, *, beam, batch, alpha=1.0, chunk=10, latency=False,
                 sentences=None, **request):
        self.name, self.chunk, self.latency, self.sentences = name, chunk, latency, sentences
        self.request = {"beam": beam, "batch": batch, "alpha": alpha, **request}


def compare(ours, theirs):
    """What differs, as a message; None where nothing does."""
    differing = []
    for place, (a, b) in enumerate(zip(ours["ids"], theirs["ids"])):
        apart = abs(ours["scores"][place] - theirs["scores"][place])
        if apart > (SCORE if a == b else TIE):
            differing.append((place, apart))
    if not differing:
        return None
    place, apart = differing[0]
    return (f"outputs differ in {len(differing)} of {len(ours['ids'])} sentences, "
            f"first in number {place} by {apart:.2g}")


def measure(environment, workload, candidates, settings, threads, sentences, checked, rounds,
            reference=None):
    """The rows of a workload for a number of threads.

    `reference` answers, for the name of a setting, what ours must say for the
    checked sentences: [ids or None], or None.
    """
    rows = []

    def row(setting, name, **fields):
        rows.append({"workload": workload, "setting": setting, "threads": threads,
                     "candidate": name, **fields})

    with contextlib.ExitStack() as stack:
        workers = []
        for candidate in candidates:
            log = environment.output / "logs" / f"{workload}-{candidate.name}-{threads}.log"
            try:
                workers.append(stack.enter_context(Worker(
                    candidate.name, candidate.command(threads), threads, log,
                    environment.root)))
            except WorkerError as error:
                row("", candidate.name, note=f"does not start: {error}")
        by_name = {candidate.name: candidate for candidate in candidates}
        for setting in settings:
            print(f"{workload} {setting.name}, {threads} threads", file=sys.stderr)
            count = setting.sentences or sentences
            equal, notes = check(workers, setting, min(checked, count), by_name,
                                 reference)
            for name, note in notes.items():
                if name not in [worker.name for worker in equal]:
                    row(setting.name, name, note=note)
            if not equal:
                continue
            chunk = setting.chunk or count
            requests = [("decode", dict(
                first=first, count=min(chunk, count - first), want_results=False, **setting.request))
                for first in range(0, count, chunk)]
            replies, failed = take_turns(equal, requests, rounds)
            for name, message in failed.items():
                row(setting.name, name, note=message)
            own = replies.get(OURS)
            for name, answers in replies.items():
                fields = figures(answers, len(requests), count, setting)
                if own and name != OURS:
                    fields["ratio"] = ratio([sum(one["seconds"]) for one in own],
                                            [sum(one["seconds"]) for one in answers])
                if name in notes:
                    fields["note"] = notes[name]
                row(setting.name, name, **fields)
    return rows


def check(workers, setting, checked, candidates, reference):
    """The workers whose outputs are as they must be, and notes."""
    request = dict(first=0, count=checked, want_results=True,
                   **setting.request)
    replies, notes = take_turns(workers, [("decode", request)], 1)
    answers = {name: own[0] for name, own in replies.items()}
    ours = answers.get(OURS)
    wrong = set()
    for name, answer in answers.items():
        if name == OURS:
            expected = reference(setting) if reference else None
            if expected:
                differing = sum(one is not None and one != mine
                                for one, mine in zip(expected, answer["ids"]))
                if differing:
                    notes[name] = f"differs from the reference in {differing} sentences"
                    wrong.add(name)
        elif candidates[name].note:
            notes[name] = candidates[name].note
            if ours and answer["emitted"] != ours["emitted"]:
                notes[name] += ", but other numbers of steps: not timed"
                wrong.add(name)
        elif ours and candidates[name].exact:
            message = compare(ours, answer)
            if message:
                notes[name] = message
                wrong.add(name)
        elif ours:
            same = sum(a == b for a, b in zip(ours["ids"], answer["ids"]))
            notes[name] = f"{same} of {checked} outputs equal"
    return [worker for worker in workers
            if worker.name in answers and worker.name not in wrong], notes


def figures(answers, requests, sentences, setting):
    """`answers` has the requests of round 0, then of round 1 ..."""
    rounds = [answers[i : i + requests] for i in range(0, len(answers), requests)]
    totals = [sum(sum(one["seconds"]) for one in own) for own in rounds]
    fields = {
        "sentences_per_second": sentences / median(totals),
        "tokens": sum(sum(one["emitted"]) for one in rounds[0]),
        "peak_mib": max(one["peak_mib"] for one in answers),
    }
    if setting.latency:
        each = [median(times) for times in zip(
            *([seconds for one in own for seconds in one["seconds"]] for own in rounds))]
        fields["latency_ms"] = 1e3 * median(each)
        fields["latency_p99_ms"] = 1e3 * percentile(each, 99)
    return fields
