#!/usr/bin/env python3
"""Writes what a decoding tool says of some lines as a reference, to standard output.

  make_reference.py --run "attn-eval model.attn ..." --input FILE --targets FILE > reference.jsonl

check_reference.py describes the result and compares with it. To be worth
something the tool must share no code with what is compared: attn-eval, for
compiled models.
"""

import argparse
import json
import shlex

from check_reference import run_tool

BEAM = 4


def rounded(values):
    return [round(value, 7) for value in values]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", required=True, metavar="COMMAND")
    parser.add_argument("--input", required=True, metavar="FILE", help="a sentence a line")
    parser.add_argument("--targets", required=True, metavar="FILE", help="targets to force")
    parser.add_argument("--max-length", type=int, default=12, metavar="N")
    arguments = parser.parse_args()

    with open(arguments.input, encoding="utf-8") as sources:
        with open(arguments.targets, encoding="utf-8") as targets:
            lines = [
                {
                    "source": source.rstrip("\n"),
                    "max_length": arguments.max_length,
                    "target": target.rstrip("\n"),
                }
                for source, target in zip(sources, targets, strict=True)
            ]
    command = shlex.split(arguments.run) + ["--json"]
    limits = ["--max-length-factor", "0", "--max-length-offset", str(arguments.max_length)]
    beam = ["--beam", str(BEAM), "--nbest", str(BEAM), "--normalize", "length", "--alpha", "1"]
    greedy = run_tool(command + limits, lines, jobs=1)
    forced = run_tool(command, lines, jobs=1, force=True)
    beams = run_tool(command + limits + beam, lines, jobs=1)
    for line, one, target, many in zip(lines, greedy, forced, beams):
        (best,) = one["hypotheses"]
        line["greedy"] = best["text"]
        line["greedy_finished"] = best["finished"]
        line["greedy_logprob"] = round(best["logprob"], 7)
        if best["alignment"]:
            line["greedy_weights"] = [rounded(row) for row in best["alignment"]]
        line["forced_logprobs"] = rounded(target["hypotheses"][0]["word_logprobs"])
        line[f"beam{BEAM}_alpha1"] = [
            {
                "text": hypothesis["text"],
                "score": round(hypothesis["score"], 7),
                "logprob": round(hypothesis["logprob"], 7),
                "finished": hypothesis["finished"],
            }
            for hypothesis in many["hypotheses"]
        ]
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
