"""What a fine-tuning does, and its data and model once they are open."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from mbert_atlas import tasks
from mbert_atlas.arrays import TokenStore, load_arrays
from mbert_atlas.batching import Indices
from mbert_atlas.config.training import HeadOptions, Optimisation
from mbert_atlas.encoders.families import positions_of
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoders.parts import parts_of, reinitialise
from mbert_atlas.encoding.lone_symbols import with_characters
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json, sha256_of
from mbert_atlas.randomness import derive_seed
from mbert_atlas.tasks.base import EncodedExamples, EncoderWithHead, Objective, Task
from mbert_atlas.tokenizer import require_tokenizer

TrainedLayers = Literal["all", "all_but_words", "none"] | Sequence[str]


@dataclass(frozen=True)
class FinetuningJob:
    """What is trained, on what, and where the results are written.

    The tokenizer of the ``encoder`` must be the one of the stores: training examples, whose labels
    are the model's, and those to predict, by the name that goes into ``dataset``. Without
    ``output_model`` encoder and head are not stored; ``output_curve`` is how the training went,
    see :func:`mbert_atlas.training.curve.curve_of`. The caller removes ``state_dir``, the
    resumable state, once the result is accepted. ``head`` are the classifier's options, by default
    the task's; for layers see :func:`train_only` and
    :func:`mbert_atlas.encoders.parts.reinitialise`, for ``labelled_subword``
    :func:`mbert_atlas.encoding.lone_symbols.with_characters`. ``train_languages`` are those to
    train on, by default all; ``languages`` those to predict, by evaluation set, all of a set that
    is not named.
    """

    task: str
    encoder: Path
    train: Path
    evaluate: Mapping[str, Path]
    optimisation: Optimisation
    seed: int
    output_model: Path | None
    output_predictions: Path
    state_dir: Path
    output_curve: Path | None = None
    head: HeadOptions | None = None
    trained_layers: TrainedLayers = "all"
    reinitialised_layers: Sequence[str] = ()
    labelled_subword: Literal["with_characters"] | None = None
    train_languages: Collection[str] | None = None
    languages: Mapping[str, Collection[str]] | None = None
    description: str = "fine-tuning"


class FinetuningRun:
    """A job whose data and model are open; methods may change them before training begins.

    ``tests`` are the examples to predict, by evaluation set; ``rows`` (int64, ``(n,)``) those of
    the training data ``store`` that are trained on. Raises a DataError if the stores do not fit the
    encoder or each other; an AtlasError if there is no such task or the encoder has no such layers.
    """

    def __init__(self, job: FinetuningJob) -> None:
        self.job, self.task = job, tasks.get(job.task)
        self.store = self._open(job.train)
        self.labels: list[str] = self.store.meta["labels"]
        self.tests = {
            name: self.open_test(path, (job.languages or {}).get(name))
            for name, path in job.evaluate.items()
        }
        self.rows = self._rows_of(self.store, job.train_languages, job.train)
        head = job.head or self.task.head_options()
        self.model = new_model(job.encoder, self.task, self.labels, head, job.seed)
        self._reinitialise(self.model.encoder)
        train_only(self.model.encoder, job.trained_layers)
        self.objective: Objective = self.task.objective()

    def initial_encoder(self) -> Any:
        """Open the encoder again as training begins with it."""
        encoder = load_encoder(self.job.encoder)
        self._reinitialise(encoder)
        return encoder

    def _reinitialise(self, encoder: Any) -> None:
        seed = derive_seed(self.job.seed, "reinitialised layers")
        reinitialise(encoder, self.job.reinitialised_layers, seed)

    def examples(self, rows: Indices, *, training: bool = False) -> EncodedExamples:
        """Return some of the training examples, to train on or to predict."""
        return self.task.examples(self.store, rows, **self.padding(training=training))

    @staticmethod
    def padding(*, training: bool) -> dict[str, Any]:
        """Return how batches are padded: on a GPU for tensor cores and, to train, for graphs."""
        is_gpu = torch.cuda.is_available()
        return {"pad_multiple": 8 if is_gpu else 1, "fixed_shapes": is_gpu and training}

    def open_test(self, path: Path, languages: Collection[str] | None) -> EncodedExamples:
        """Open encoded examples to predict, in some languages or in all.

        Raises a DataError if they do not fit the encoder or the training data, or a language has
        none.
        """
        store = self._open(path)
        # More labels at the end are tags that the model never predicts, such as CoNLL-2003's MISC.
        if store.meta["labels"][: len(self.labels)] != self.labels:
            problem = f"{store.meta['labels']} differ from the training data's {self.labels}"
            fix = "encode both with the same labels"
            raise DataError(path, "meta.json, key labels", problem, fix)
        rows = self._rows_of(store, languages, path)
        return self.task.examples(store, rows, **self.padding(training=False))

    def _open(self, path: Path) -> TokenStore:
        store = open_examples(path, self.job.task, self.job.encoder)
        return with_characters(store) if self.job.labelled_subword else store

    def _rows_of(self, store: TokenStore, languages: Collection[str] | None, path: Path) -> Indices:
        """Return the examples in some languages, or all."""
        targets = self.task.targets(store)
        if languages is None:
            return np.arange(len(targets), dtype=np.int64)
        missing = sorted(set(languages) - set(targets.tolist()))
        if missing:
            problem = "there are no examples of this language"
            fix = "add it to the dataset or drop it from the run"
            raise DataError(path, f"language {missing[0]}", problem, fix)
        return np.flatnonzero(np.isin(targets, list(languages)))


def new_model(
    encoder: Path, task: Task, labels: Sequence[str], head: HeadOptions, seed: int
) -> EncoderWithHead:
    """Put a new head on an encoder; its weights depend only on the run's seed."""
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, "head"))
        return EncoderWithHead(load_encoder(encoder), len(labels), task, head)


def train_only(encoder: Any, layers: TrainedLayers) -> None:
    """Freeze an encoder of BERT's kind except for some layers; its dropout stays on in training.

    ``all_but_words`` are all but the word embeddings; for a list see
    :func:`mbert_atlas.encoders.parts.parts_of`. The pooler is trained unless nothing is. Raises an
    AtlasError if the encoder lacks a layer.
    """
    if layers == "all_but_words":
        encoder.get_input_embeddings().requires_grad_(False)
    elif layers != "all":
        encoder.requires_grad_(False)
        if layers != "none":
            for part in (
                getattr(encoder, "pooler", None),
                *parts_of(encoder, layers, "trained_layers"),
            ):
                if part is not None:
                    part.requires_grad_(True)


def open_examples(path: Path, task: str, encoder: Path) -> TokenStore:
    """Open encoded examples that an encoder can read.

    Raises a DataError if they are of another task or tokenizer, or too long.
    """
    store = load_arrays(path)
    if store.meta.get("task") != task:
        problem = f"encoded for {store.meta.get('task', 'no task')}, not for {task}"
        raise DataError(path, "meta.json, key task", problem, "encode it again")
    require_tokenizer(path, store.meta["tokenizer"], encoder)
    longest = int(store.ragged("input_ids").lengths.max())
    positions = positions_of(read_json(encoder / "config.json"))
    if positions is not None and longest > positions:
        problem = f"an example has {longest} subwords, but {encoder} takes {positions} at most"
        raise DataError(path, "max_length", problem, "encode with a smaller max_length")
    return store


def store_digest(path: Path) -> str:
    """Return a digest of a store's examples, labels and options."""
    parts = ("input_ids.", "labels.", "heads.", "segment_start.", "split.", "meta.")
    files = (file for file in sorted(path.iterdir()) if file.name.startswith(parts))
    return "".join(map(sha256_of, files))
