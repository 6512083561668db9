"""Writes lines of letters, of which others come early than late.

usage: long_text.py LENGTH...
"""

import random
import sys

LETTERS = "abcdefgh"


def main():
    random.seed(7)
    for length in map(int, sys.argv[1:]):
        places = (len(LETTERS) * position // length for position in range(length))
        print(*(random.choice(LETTERS[max(0, place - 1) : place + 1]) for place in places))


if __name__ == "__main__":
    main()
