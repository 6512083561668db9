"""A decoding tool that answers with what a reference says, with one error.

usage: replay.py REFERENCE ERROR --json [options of attn-run]
"""

import json
import sys


def hypothesis(text, words, score=None, finished=True, alignment=()):
    logprob = sum(words)
    return {
        "text": text,
        "tokens": text.split(),
        "score": logprob if score is None else score,
        "logprob": logprob,
        "word_logprobs": words,
        "alignment": list(alignment),
        "finished": finished,
    }


def spread(logprob, count):
    return [logprob / count] * count


def answer(line, options):
    if "--force" in options:
        return [hypothesis(line["target"], line["forced_logprobs"])]
    if "--beam" in options:
        beam = options[options.index("--beam") + 1]
        alpha = options[options.index("--alpha") + 1]
        return [
            hypothesis(
                entry["text"],
                spread(entry["logprob"], len(entry["text"].split()) + entry["finished"]),
                entry["score"],
                entry["finished"],
            )
            for entry in line[f"beam{beam}_alpha{alpha}"]
        ]
    words = spread(line["greedy_logprob"], len(line["greedy"].split()) + line["greedy_finished"])
    return [
        hypothesis(
            line["greedy"],
            words,
            finished=line["greedy_finished"],
            alignment=line["greedy_weights"],
        )
    ]


def damage(error, answers):
    best = answers[0]["hypotheses"]
    if error == "text":
        best[0]["text"] += " x"
    elif error == "logprob":
        best[0]["logprob"] += 0.01
    elif error == "score":
        best[0]["score"] = None
    elif error == "weight" and best[0]["alignment"]:
        best[0]["alignment"][0][0] += 2e-5
    elif error == "row" and best[0]["alignment"]:
        best[0]["alignment"].pop()
    elif error == "finished":
        best[0]["finished"] = not best[0]["finished"]
    elif error == "near" and len(best) > 1:
        best[0], best[1] = best[1], best[0]
    elif error == "far" and len(best) > 1:
        best[1], best[2] = best[2], best[1]
    elif error == "line":
        answers.pop()
    elif error == "failed":
        answers[0] = {"error": "failed"}


def main():
    reference, error, *options = sys.argv[1:]
    with open(reference, encoding="utf-8") as file:
        lines = {line["source"]: line for line in map(json.loads, file)}
    answers = [
        {"hypotheses": answer(lines[source.rstrip("\n")], options)} for source in sys.stdin
    ]
    damage(error, answers)
    for item in answers:
        print(json.dumps(item))


main()
