"""Lets the workers take turns."""

import sys

from bench.driver.worker import WorkerError


def take_turns(workers, requests, rounds):
    """Asks every worker each request, once a round, one after the other.

    Answers {name: [reply of round 0 request 0, ...]}, and the messages of those
    that failed. Who begins moves on with every request.
    """
    replies = {worker.name: [] for worker in workers}
    failed = {}
    turn = 0
    for _ in range(rounds):
        for command, fields in requests:
            for i in range(len(workers)):
                worker = workers[(turn + i) % len(workers)]
                if worker.name in failed:
                    continue
                try:
                    replies[worker.name].append(worker.ask(command, **fields))
                except WorkerError as error:
                    failed[worker.name] = str(error)
                    print(f"{worker.name}: {error}", file=sys.stderr)
            turn += 1
    return {name: own for name, own in replies.items() if name not in failed}, failed
