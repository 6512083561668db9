"""The workloads by name: a title, and a function that answers with rows."""

from bench.workloads import footprint, products, read, rnn, transformer

WORKLOADS = {
    "W1": ("a fused read, 512 features", read.run),
    "W2": ("matrix products of decoding", products.run),
    "W3": ("m30k, German to English", rnn.run),
    "W4": ("g2p, spelling to phonemes", rnn.run),
    "W5": ("aren, a small transformer", transformer.run),
    "W6": ("a transformer of base size, random weights", transformer.run),
    "W7": ("compiling, loading, memory", footprint.run),
}
