"""The models that are measured, and what the workers have to know of them."""


class Model:
    """A spec with its weights, vocabularies and sentences."""

    def __init__(self, environment, name, spec, weights, vocabularies, sentences, dims=(),
                 source_end=True, start="<bos>", end="<eos>"):
        self.environment, self.name, self.spec, self.weights = environment, name, spec, weights
        self.vocabularies, self.dims = vocabularies, dims
        source = read_lines(vocabularies["source"])
        self.target = read_lines(vocabularies["target"])
        source_ids = {word: number for number, word in enumerate(source)}
        unknown = source_ids.get("<unk>")
        lines = [[source_ids.get(word, unknown) for word in line.split()]
                 for line in sentences]
        self.count = len(lines)
        self.sources = environment.output / "inputs" / f"{name}.ids"
        self.sources.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))
        self.start, self.end = self.target.index(start), self.target.index(end)
        self.source_end = source_ids[end] if source_end else None
        self.model_name = spec_name(spec)

    def arguments(self):
        """Of attnc."""
        arguments = [self.spec, "--weights", self.weights]
        for name, file in self.vocabularies.items():
            arguments += ["--vocab", f"{name}={file}"]
        for dim in self.dims:
            arguments += ["--dim", dim]
        return arguments

    def library(self, *options, suffix=""):
        return self.environment.compile(self.name + suffix, [*self.arguments(), *options])

    def worker(self, library, threads):
        """The command line of our worker."""
        return [self.environment.decode_worker, library, self.model_name, self.sources,
                str(threads)]

    def peer(self, module, threads, **config):
        """The command line of a worker in Python."""
        config.update(weights=str(self.weights), sources=str(self.sources), start=self.start,
                      end=self.end, vocabulary=len(self.target), threads=threads)
        if self.source_end is not None:
            config["source_end"] = self.source_end
        return self.environment.python_worker(module, **config)

    def target_ids(self, text):
        ids = {word: number for number, word in enumerate(self.target)}
        return [ids[word] for word in text.split()]


def read_lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def spec_name(spec):
    for line in read_lines(spec):
        if line.startswith("model "):
            return line.split()[1]
    raise ValueError(f"expected a line 'model NAME' in {spec}")
