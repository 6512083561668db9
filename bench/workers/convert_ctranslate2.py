"""Writes a transformer in CTranslate2's format, from the file that we compile.

usage: convert_ctranslate2.py WEIGHTS SOURCE_VOCAB TARGET_VOCAB LAYERS HEADS
                              QUANTIZATION FOLDER

The tensors have CTranslate2's names already. QUANTIZATION is float32 or int8.
"""

import pathlib
import sys

import ctranslate2
from ctranslate2.specs.model_spec import index_spec
from safetensors.numpy import load_file


def vocabulary(path):
    return pathlib.Path(path).read_text(encoding="utf-8").splitlines() + ["<unk>"]


def main():
    weights, source, target, layers, heads, quantization, folder = sys.argv[1:]
    spec = ctranslate2.specs.TransformerSpec.from_config(
        num_layers=int(layers), num_heads=int(heads), pre_norm=True)
    for name, array in load_file(weights).items():
        path, attribute = name.rsplit("/", 1)
        if path == "encoder/embeddings":
            path = "encoder/embeddings_0"
        setattr(index_spec(spec, path), attribute, array)
    spec.register_source_vocabulary(vocabulary(source))
    spec.register_target_vocabulary(vocabulary(target))
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.validate()
    spec.optimize(quantization=None if quantization == "float32" else quantization)
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    spec.save(folder)


if __name__ == "__main__":
    main()
