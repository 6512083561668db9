"""The inputs of workers that measure one piece of code; worker.h makes the same."""

import numpy as np


def fill(shape, seed):
    """Numbers from -1 to 1 that only depend on their places and the seed."""
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        bits = np.arange(count, dtype=np.uint32)
        bits += np.uint32(seed * 0x9E3779B9 & 0xFFFFFFFF)
        bits *= np.uint32(0x85EBCA6B)
        bits ^= bits >> np.uint32(15)
        bits *= np.uint32(0xC2B2AE35)
        bits ^= bits >> np.uint32(13)
        bits >>= np.uint32(8)
    numbers = bits.astype(np.float32)
    numbers -= np.float32(1 << 23)
    numbers /= np.float32(1 << 23)
    return numbers.reshape(shape)
