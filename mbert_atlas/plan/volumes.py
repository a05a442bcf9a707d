"""How much a job has to do and what its files weigh, before they are there.

A file or folder that is there counts as it is, a corpus also where its upstream files lie in the
downloads or the mirror. Of others the config knows the limits and the sizes of models; how many
examples a corpus holds, and how long they are in pieces and bytes, is assumed, in
``resources/prediction/volumes.csv``. Operations are those of the matrices: two for each weight and
piece forwards, twice as many backwards, and the attention of each piece to its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mbert_atlas.config.model import Config
from mbert_atlas.files import read_json
from mbert_atlas.languages import Languages
from mbert_atlas.plan.dataset_volumes import DatasetVolumes, Volume
from mbert_atlas.plan.runs import Run, RunTable

_OTHER_BYTES = 50_000.0  # a table of measurements, a figure, a page
_PIECES_OF_SENTENCE = 25.0
_BYTES_OF_PIECE = 4.0  # of running text in a compressed table; an int32 in a token store


@dataclass(frozen=True)
class Shape:
    """The size of an encoder; the defaults are BERT-base's with multilingual BERT's vocabulary."""

    layers: int = 12
    width: int = 768
    inner: int = 3072
    vocabulary: int = 119_547
    positions: int = 512

    @property
    def layer_weights(self) -> float:
        """Weights of the matrices of all layers."""
        return self.layers * (4.0 * self.width**2 + 2.0 * self.width * self.inner)

    @property
    def bytes(self) -> float:
        """Size of its weights in single precision."""
        return 4 * (self.layer_weights + (self.vocabulary + self.positions) * self.width)

    def forwards(self, volume: Volume) -> float:
        """Return the operations of one pass over some examples."""
        length = volume.pieces / max(volume.examples, 1)
        return volume.pieces * (2 * self.layer_weights + 4 * self.layers * self.width * length)

    def heads(self, volume: Volume) -> float:
        """Return the operations of the language-model head at every piece."""
        return 2 * self.width * self.vocabulary * volume.pieces


class Volumes:
    """Volumes of what a workflow makes, by the paths of its files."""

    def __init__(
        self,
        config: Config,
        runs: RunTable,
        languages: Languages,
        results: Path | str,
        corpora: Path | str,
    ) -> None:
        """Read what is assumed of the corpora.

        Args:
            config: the config.
            runs: its runs.
            languages: the table of languages.
            results: folder of the run.
            corpora: ``resources/prediction/volumes.csv``.

        Raises:
            DataError: if a row of the table is no volume; names the line.
        """
        self._config, self._runs, self._results = config, runs, Path(results)
        self._datasets = DatasetVolumes(config, languages, self._results, corpora)
        self._known: dict[str, float] = {}
        self._made_from: dict[str, tuple[list[str], Any]] = {}

    def learn_makers(self, jobs: Iterable[tuple[Iterable[str], Iterable[str], Any]]) -> None:
        """Take the outputs, inputs and parameters of jobs: some of them make stores."""
        for outputs, inputs, params in jobs:
            self._made_from |= dict.fromkeys(outputs, (list(inputs), params))

    def dataset(self, name: str, languages: Iterable[str] | None = None) -> Volume:
        """Return the volume of a dataset in some of its languages, or in all."""
        return self._datasets.dataset(name, languages)

    def store(self, path: str) -> Volume:
        """Return the volume of a token store: what it holds if it is there, else an estimate."""
        found = [Path(path) / f"{side}.values.npy" for side in ("input_ids", "source_ids")]
        for values in found:
            if values.exists():
                rows = np.load(values.with_name(values.name.replace("values", "offsets")), "r")
                return Volume(len(rows) - 1, float(rows[-1]))
        parts = self._parts(path)
        if parts[0] != "tokens" or len(parts) < 3:
            return Volume(0, 0)
        if parts[2] == "examples":
            volume = self.dataset(parts[4])
            longest = getattr(self._config.encodings[parts[3]], "max_length", None) or 512
            return Volume(volume.examples, min(volume.pieces, volume.examples * longest))
        if parts[2] == "pairs":
            volume = self.dataset(parts[3], [parts[4]])
            held_out = self._config.alignment.held_out
            rest = max(volume.examples - held_out, 1)
            wanted = held_out if parts[5:] == ["heldout"] else rest
            return volume * (wanted / max(volume.examples, 1))
        if parts[2] == "pretraining":
            return self._pretraining_texts(parts[1])
        return self._store_of_texts(path, parts[2])

    def _store_of_texts(self, path: str, kind: str) -> Volume:
        """Return the volume of contexts of words, or of sentences that are parallel."""
        inputs, params = self._made_from.get(path, ([], {}))
        parts = [self._parts(item) for item in inputs]
        # data/<dataset>.parquet, or data/<dataset>/<language>.parquet
        tables = [[Path(name).stem for name in own[1:]] for own in parts if own[0] == "data"]
        if kind == "contexts" and tables:  # of dictionaries and, last, running texts
            *words, texts = [self.dataset(name, codes) for name, *codes in tables]
            most = sum(item.examples for item in words) * params["options"]["contexts"]
            length = min(
                self._datasets.assumed(tables[-1][0]).pieces, params["options"]["max_length"]
            )
            rows = min(texts.examples, most)
            return Volume(rows, rows * length)
        if kind == "parallel" and tables:  # half of a pair
            limit = params["sizes"]["limit"] or np.inf
            counts = {
                name: sum(
                    min(self._datasets.count(name, code), limit) for code in params["languages"]
                )
                for (name,) in tables
            }
            pieces = sum(
                rows * self._datasets.assumed(name).pieces / 2 for name, rows in counts.items()
            )
            return Volume(sum(counts.values()), pieces)
        return Volume(10_000, 10_000 * 30)

    def shape(self, path: str) -> Shape:
        """Return the size of the encoder in a folder."""
        parts = self._parts(path)
        if parts[0] == "runs":
            return self.encoder(self._runs[parts[1]].base)
        for name, item in self._config.encoders.items():
            if parts[:2] == ["encoders", name] or path in (name, item.folder):
                return self.encoder(name)
            if item.hub and path.endswith(item.hub.revision):
                return self.encoder(name)
        return Shape()

    def encoder(self, name: str) -> Shape:
        """Return the size of an encoder of the config; of one not yet fetched BERT-base's."""
        item = self._config.encoders[name]
        if item.scratch:
            own = item.scratch.pretraining
            return Shape(
                own.layers,
                own.hidden_size,
                own.intermediate_size,
                own.vocabulary_size,
                own.positions,
            )
        if item.changed:
            old, more = self.encoder(item.changed.encoder), item.changed.extension
            added = more.pieces or more.vocabulary_size
            return Shape(old.layers, old.width, old.inner, old.vocabulary + added, old.positions)
        folder = Path(item.folder or ".")
        if item.hub:
            folder = next(
                Path(self._config.downloads).glob(f"hf/**/*{item.hub.revision}"), Path("missing")
            )
        if not (folder / "config.json").exists():
            return Shape()
        found = read_json(folder / "config.json")
        keys = ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")
        return Shape(*(int(found[key]) for key in keys if key in found))

    def operations(
        self, rule: str, wildcards: Mapping[str, str], inputs: Iterable[str], params: Any
    ) -> float | None:
        """Return the operations of a job that runs a model; none of one that runs none.

        Args:
            rule: name of the rule.
            wildcards: of the job.
            inputs: paths of its inputs.
            params: of the job; `weights` are those of a shift at each of its `layers`, or, in
                `shift`, at one `layer`.
        """
        if rule in ("finetune", "adjust"):
            run = self._runs[wildcards["run"]]
            return self._finetuning(run) if rule == "finetune" else self._adjustment(run)
        if rule == "pretrain":
            return self._pretraining(wildcards["encoder"])
        paths, shift = list(inputs), params.get("shift")
        models = [path for path in paths if self._is_model(path)]
        volumes = [
            self.store(path) * (self._share(path, shift["languages"]) if shift else 1)
            for path in paths
            if self._parts(path)[0] == "tokens"
        ]
        if not models or not volumes:
            return None
        total = 0.0
        for shape in map(self.shape, models):
            for volume in volumes:
                once = shape.forwards(volume)
                total += once
                if weights := params.get("weights"):  # of the means of both protocols
                    above = sum(1 - layer / shape.layers for layer in params["layers"])
                    heads = shape.heads(volume) * len(params["layers"])
                    total += 2 * len(weights) * (once * above + heads)
                if shift:
                    total += len(shift["weights"]) * once * (1 - shift["layer"] / shape.layers)
        return total

    def kind(self, rule: str, wildcards: Mapping[str, str]) -> str:
        """Return what jobs of the same speed are called: their rule, and a method if it has two."""
        if rule == "train_static_vectors":
            return f"{rule}.{self._config.static_vectors[wildcards['static']].method}"
        return rule

    def products(self, rule: str, wildcards: Mapping[str, str], params: Any) -> float | None:
        """Return the operations of a job that runs no model but computes; of another none.

        Args:
            rule: name of the rule.
            wildcards: of the job.
            params: of the job.
        """
        if rule == "retrieve_words":  # cosines of all words with all, centred and not
            words = self.dataset(wildcards["dictionary"], [wildcards["language"]]).examples
            shape = self.shape_of_name(wildcards["vectors"])
            return 4 * words**2 * shape.width * (shape.layers + 1)
        if rule == "train_static_vectors":  # each piece with those of its window, backwards, too
            own = self._config.static_vectors[wildcards["static"]]
            texts = self.store(str(self._results / "tokens" / own.encoder / "pretraining"))
            return 6 * texts.pieces * own.epochs * own.window * own.dims
        if rule == "classify_with_static_vectors":
            static = self._config.static_vectors[wildcards["static"]]
            family: Any = self._config.runs[wildcards["family"]]
            own, pairs = params["network"], self.dataset(family.train).examples
            return float(6 * pairs * own["epochs"] * 4 * static.dims * own["hidden_size"])
        return None

    def size(self, path: str) -> float:
        """Return the bytes of a file or folder: what it has if it is there, else an estimate."""
        if path not in self._known:
            real, downloads = Path(path), Path(self._config.downloads)
            if downloads in real.parents:
                real = self._datasets.upstream(real.relative_to(downloads)) or real
            if real.is_dir():
                found = sum(item.stat().st_size for item in real.rglob("*") if item.is_file())
            else:
                found = real.stat().st_size if real.exists() else 0
            self._known[path] = float(found) or self._estimate(path)
        return self._known[path]

    def _estimate(self, path: str) -> float:
        parts = self._parts(path)
        if self._is_model(path):
            return self.shape(path).bytes
        if parts[0] == "tokens":
            # Beside the pieces: ids and languages of the examples; words and links of pairs.
            volume = self.store(path)
            return volume.pieces * _BYTES_OF_PIECE * (3 if "pairs" in parts else 1) + (
                volume.examples * 60
            )
        if parts[0] == "data" and path.endswith(".parquet"):
            name = parts[1].removesuffix(".parquet")
            codes = [parts[2].removesuffix(".parquet")] if len(parts) > 2 else None
            return self.dataset(name, codes).pieces * _BYTES_OF_PIECE
        if parts[0] == "words":
            shape = self.shape_of_name(parts[1])
            return self.dataset(parts[2]).examples * 4.0 * shape.width * (shape.layers + 1) / 2
        if parts[0] == "runs" and parts[-1] == "predictions.parquet":
            run = self._runs[parts[1]]
            tests = run.specification["evaluate"].items()
            return sum(self.dataset(name, codes).pieces for name, codes in tests) * 2
        return _OTHER_BYTES

    def features(self, path: str, stores: Iterable[str], pooling: str, layers: Any) -> float:
        """Return the bytes of vectors in half precision.

        Args:
            path: the model whose vectors they are, an encoder's name or the id of a run.
            stores: token stores that are encoded.
            pooling: ``mean`` for one vector per example, else one per piece.
            layers: ``last``, ``all`` or a list of layers.
        """
        shape = self.shape_of_name(path)
        count = (
            shape.layers + 1 if layers == "all" else len(layers) if isinstance(layers, list) else 1
        )
        volumes = [self.store(item) for item in stores]
        rows = sum(item.examples if pooling in ("mean", "cls") else item.pieces for item in volumes)
        return 2.0 * rows * count * shape.width

    def shape_of_name(self, name: str) -> Shape:
        """Return the size of an encoder by its name, or by the id of a run that starts from it."""
        if name in self._config.encoders:
            return self.encoder(name)
        if name in self._config.static_vectors:
            return Shape(layers=0, width=self._config.static_vectors[name].dims)
        return self.encoder(self._runs[name.split("/")[0]].base)

    def _finetuning(self, run: Run) -> float:
        item, own = run.specification, run.specification["hyperparameters"]
        shape = self.encoder(run.base)
        epochs = float(own["optimisation"]["epochs"])
        train = self._examples(run, item["train"], item.get("train_languages"))
        one = shape.forwards(train)
        passes = 1.0 if own["trained_layers"] == "none" else 3.0
        if own.get("confusion"):
            passes *= 2
        if own.get("language_subspace"):
            passes += 1  # the encoder that pieces are held to
        total = one * passes * epochs
        if own.get("replay"):
            steps = train.examples / float(own["optimisation"]["batch_size"]) * epochs
            pairs = self.dataset(item["replay"]["bitext"], [item["replay"]["language"]])
            drawn = pairs * (own["replay"]["sentences"] / max(pairs.examples, 1) * steps * 2)
            total += shape.forwards(drawn) * 3.5  # the original encodes the English side
        if own.get("selection"):
            total += one * float(own["selection"]["fraction"]) * epochs
        return total + sum(
            shape.forwards(self._examples(run, name, codes))
            for name, codes in item["evaluate"].items()
        )

    def _examples(self, run: Run, dataset: str, languages: Iterable[str] | None) -> Volume:
        scratch = self._config.encoders[run.base].scratch
        tokenizer = (scratch.tokenizer_of if scratch else None) or run.base
        encoding: Any = self._config.runs[run.family]
        path = self._results / "tokens" / tokenizer / "examples" / encoding.encoding / dataset
        share = 1.0 if languages is None else self._share(str(path), languages)
        return self.store(str(path)) * share

    def _share(self, path: str, languages: Iterable[str]) -> float:
        """Return the share of some languages in a store of examples."""
        known = self._config.datasets[self._parts(path)[4]].languages
        return len(set(languages) & set(known)) / len(known)

    def _adjustment(self, run: Run) -> float:
        item, own = run.specification, run.specification["hyperparameters"]
        folder = self._results / "tokens" / run.base / "pairs" / item["bitext"]
        pairs = self.store(str(folder / str(run.language) / "train"))
        share = min(own["sentences"], pairs.examples) / max(pairs.examples, 1)
        drawn = pairs * (share * 2 * own["optimisation"]["epochs"])  # two sides
        return self.encoder(run.base).forwards(drawn) * 3.5

    def _pretraining(self, name: str) -> float:
        item, shape = self._config.encoders[name], self.encoder(name)
        change, scratch = item.changed, item.scratch
        own: Any = change.training if change else scratch.pretraining if scratch else None
        texts = self.store(str(self._results / "tokens" / name / "pretraining"))
        if budget := getattr(own, "pieces", None):
            seen = texts * (budget / max(texts.pieces, 1))
        else:
            seen = texts * own.optimisation.epochs
        return 3 * (shape.forwards(seen) + shape.heads(seen * own.masking_probability))

    def _pretraining_texts(self, name: str) -> Volume:
        item = self._config.encoders[name]
        scratch, changed = item.scratch, item.changed
        if changed:
            texts, own = changed.texts, changed.training
        elif scratch:
            texts, own = scratch.texts, scratch.pretraining
        else:
            return Volume(0, 0)
        languages = changed.languages if changed else scratch.languages if scratch else None
        examples = pieces = 0.0
        codes = {
            code
            for text in texts
            for code in self._config.datasets[text].languages
            if languages is None or code in languages
        }
        for code in codes:
            volumes = [
                self.dataset(text, [code])
                for text in texts
                if code in self._config.datasets[text].languages
            ]
            count = sum(item.examples for item in volumes)
            long = sum(item.pieces for item in volumes)
            share = min(1.0, (own.texts_per_language or count) / max(count, 1))
            if sentences := getattr(own, "sentences_per_language", None):
                share = min(share, sentences * _PIECES_OF_SENTENCE / max(long, 1))
            examples += count * share
            pieces += long * share
        return Volume(examples, min(pieces, examples * own.max_length))

    def _is_model(self, path: str) -> bool:
        parts = self._parts(path)
        return bool(
            (parts[0] == "encoders" and parts[-1] in ("model", "shipped", "extended"))
            or (parts[0] == "runs" and parts[-1] == "model")
            or re.search(r"(^|/)hf/", path)
        )

    def _parts(self, path: str) -> list[str]:
        """Return the parts of a path below the run's folder; one empty part for another path."""
        place = Path(path)
        if self._results in place.parents:
            return list(place.relative_to(self._results).parts)
        return [""]
