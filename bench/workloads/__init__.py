"""The workloads by name: a title, and a function that answers with rows."""

from bench.workloads import rnn

WORKLOADS = {
    "W3": ("m30k, German to English", rnn.run),
    "W4": ("g2p, spelling to phonemes", rnn.run),
}
