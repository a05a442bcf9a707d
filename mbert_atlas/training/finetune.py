"""Fine-tune an encoder on a task and write its model folder and its predictions."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from mbert_atlas import tasks
from mbert_atlas.arrays import TokenStore
from mbert_atlas.config.training import HeadOptions, Selection
from mbert_atlas.corpora.samples import held_out
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoding.stores import open_store
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import sha256_of, write_parquet
from mbert_atlas.objectives.confusion import ConfusionSource, LanguageUnlearning, open_unlearning
from mbert_atlas.objectives.replay import AlignmentReplay, ReplaySource, open_replay
from mbert_atlas.randomness import derive_seed
from mbert_atlas.tasks.base import (
    EncoderWithHead,
    Task,
    save_model,
)
from mbert_atlas.tokenizer import tokenizer_digest
from mbert_atlas.training import loop
from mbert_atlas.training.interfaces import Objective, Optimisation
from mbert_atlas.training.loop import TrainingLog
from mbert_atlas.training.selection import BestEpoch, require_metric

_logger = logging.getLogger(__name__)


def finetune(
    *,
    task: str,
    encoder: Path,
    train: Path,
    evaluate: Mapping[str, Path],
    optimisation: Optimisation,
    seed: int,
    output_model: Path,
    output_predictions: Path,
    state_dir: Path,
    head: HeadOptions | None = None,
    train_languages: Collection[str] | None = None,
    languages: Mapping[str, Collection[str]] | None = None,
    replay: ReplaySource | None = None,
    frozen: bool = False,
    selection: Selection | None = None,
    confusion: ConfusionSource | None = None,
    description: str | None = None,
) -> TrainingLog:
    """Fine-tune, predict, write; an interrupted run goes on from its state.

    Args:
        task: name of the task.
        encoder: encoder folder; its tokenizer must be the one of the stores.
        train: encoded training examples; their labels are the model's.
        evaluate: encoded examples to predict, by the name that goes into ``dataset``.
        optimisation: hyperparameters.
        seed: the run's seed.
        output_model: gets the encoder in the usual layout and, beside it, the head.
        output_predictions: Parquet file with the predictions of all evaluation sets.
        state_dir: folder of the resumable state; removed at the end.
        head: the classifier; none for the encoder's dropout and initialisation.
        train_languages: languages to train on; none for all that ``train`` holds.
        languages: languages to predict, by evaluation set; all where a set is not named.
        replay: alignment to replay at each step (efimov2022, Eq. 2); none for the task alone.
        frozen: train the head alone; the encoder's dropout stays on, as in tanti2021's code.
        selection: hold out part of the training data and keep the epoch that is best on it; none
            to train on all and keep the last.
        confusion: unlearn language beside the task (tanti2021, section 3.1).
        description: for progress lines.

    Returns:
        What happened; with ``selection``, also the score by epoch and the epoch that was kept.

    Raises:
        DataError: if the stores do not fit the encoder or each other, or nothing can be held out.
        AtlasError: if training is stopped or fails, see :func:`training.loop.train`; if a frozen
            encoder is to learn beside the task; if the task lacks the metric of ``selection``.
    """
    chosen = tasks.get(task)
    if selection is not None:
        require_metric(selection, chosen)
    if frozen and (replay or confusion):
        raise AtlasError(
            f"{task}: a frozen encoder learns nothing beside the task; drop `frozen`, or else "
            "`replay` and `confusion`."
        )
    title = description or f"{task}, seed {seed}"
    training = _open(train, chosen, encoder)
    labels: list[str] = training.meta["labels"]
    testing = {name: _open(path, chosen, encoder) for name, path in evaluate.items()}
    for name, store in testing.items():
        if store.meta["labels"] != labels:
            raise DataError(
                evaluate[name],
                "meta.json, key labels",
                f"{store.meta['labels']} differ from the training data's {labels}",
                "encode both with the same labels",
            )
    pad_multiple = 8 if torch.cuda.is_available() else 1  # what tensor cores like
    model = new_model(encoder, chosen, labels, head or HeadOptions(), seed)
    positions: int = model.encoder.config.max_position_embeddings
    for path, store in [(train, training), *((evaluate[name], testing[name]) for name in testing)]:
        _require_positions(store, path, positions, encoder)
    languages_of = chosen.targets(training)
    rows = _rows_of(languages_of, train_languages, train)
    fingerprint = f"{store_digest(train)} {model.dropout.p}"  # no weight shows the dropout
    if train_languages is not None:
        fingerprint += f" {sorted(train_languages)}"
    if frozen:
        model.encoder.requires_grad_(False)
        fingerprint += " frozen"
    best: BestEpoch | None = None
    if selection is not None:
        held = _held_out_rows(selection, languages_of, rows, train)
        rows = np.setdiff1d(rows, held)
        best = BestEpoch(
            selection,
            chosen.examples(training, held, pad_multiple=pad_multiple),
            labels,
            folder=state_dir / "epochs",
            precision=optimisation.precision,
            description=title,
        )
        fingerprint += f" {selection.model_dump_json()}"
    objective: Objective = chosen.objective()
    unlearning: LanguageUnlearning | None = None
    if confusion is not None:
        unlearning = open_unlearning(
            confusion,
            encoder,
            chosen.unit,
            optimisation,
            seed=seed,
            task_examples=len(rows),
            pad_multiple=pad_multiple,
            description=title,
        )
        paragraphs = unlearning.examples.store
        _require_positions(paragraphs, confusion.store, positions, encoder)
        unlearning.give_head(model, head or HeadOptions())
        objective = unlearning.beside(objective)
        specification = confusion.specification.model_dump_json()
        fingerprint += f" {store_digest(confusion.store)} {specification}"
    auxiliary = _open_replay(replay, encoder, state_dir) if replay else None
    if auxiliary is not None:
        fingerprint += f" {auxiliary.fingerprint}"
    log = loop.train(
        model,
        chosen.examples(training, rows, pad_multiple=pad_multiple),
        objective,
        optimisation,
        seed=seed,
        state_dir=state_dir,
        description=title,
        on_start=best.before if best else None,
        on_epoch_start=unlearning.begin_epoch if unlearning else None,
        on_epoch_end=best.after if best else None,
        auxiliary=auxiliary,
        companion=unlearning,
        fingerprint=fingerprint,
    )
    if best is not None:
        log.scores, log.epoch = best.scores, best.restore(model)
    predictions = []
    for name, store in testing.items():
        rows = _rows_of(chosen.targets(store), (languages or {}).get(name), evaluate[name])
        examples = chosen.examples(store, rows, pad_multiple=pad_multiple)
        outputs = loop.predict(
            model,
            examples,
            chosen.forward,
            description=f"{title}, predicting {name}",
            rows=examples.label_counts,
            precision=optimisation.precision,
        )
        predictions.append(chosen.decode(examples, outputs, labels, name))
    table = pa.concat_tables(predictions or [chosen.prediction_schema.empty_table()])
    save_model(model.cpu(), labels, task, encoder, output_model)
    write_parquet(table, output_predictions)
    if auxiliary is not None:
        auxiliary.examples.reference = None  # closes the file
    shutil.rmtree(state_dir, ignore_errors=True)
    return log


def new_model(
    encoder: Path, task: Task, labels: Sequence[str], head: HeadOptions, seed: int
) -> EncoderWithHead:
    """Put a new head on an encoder; its weights depend on the run's seed alone."""
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, "head"))
        return EncoderWithHead(load_encoder(encoder), len(labels), task.unit, head)


def store_digest(path: Path) -> str:
    """Return what tells a store's examples, labels and options from others'."""
    return "".join(
        sha256_of(file)
        for file in sorted(path.iterdir())
        if file.name.startswith(("input_ids.", "labels.", "segment_start.", "split.", "meta."))
    )


def _open_replay(source: ReplaySource, encoder: Path, folder: Path) -> AlignmentReplay:
    if tokenizer_digest(source.encoder) != tokenizer_digest(encoder):
        raise DataError(
            encoder,
            "tokenizer.json",
            f"not the tokenizer of {source.encoder}, whose alignment is to be replayed",
            "fine-tune the encoder that was adjusted, or replay its own adjustment",
        )
    return open_replay(source, folder)


def _open(path: Path, task: Task, encoder: Path) -> TokenStore:
    store = open_store(path, task.name)
    if store.meta["tokenizer"] != tokenizer_digest(encoder):
        raise DataError(
            path,
            "meta.json, key tokenizer",
            f"the examples were not encoded by the tokenizer of {encoder}",
            "encode them anew",
        )
    return store


def _require_positions(store: TokenStore, path: Path, positions: int, encoder: Path) -> None:
    longest = int(store.ragged("input_ids").lengths.max())
    if longest > positions:
        raise DataError(
            path,
            "max_length",
            f"an example has {longest} pieces, but {encoder} takes {positions} at most",
            "encode with a smaller max_length",
        )


def _rows_of(
    found: np.ndarray[tuple[int], np.dtype[np.str_]],
    languages: Collection[str] | None,
    path: Path,
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if languages is None:
        return np.arange(len(found), dtype=np.int64)
    missing = sorted(set(languages) - set(found.tolist()))
    if missing:
        raise DataError(
            path,
            f"language {missing[0]}",
            "there are no examples of this language",
            "add it to the dataset or drop it from the run",
        )
    return np.flatnonzero(np.isin(found, list(languages)))


def _held_out_rows(
    selection: Selection,
    languages: np.ndarray[tuple[int], np.dtype[np.str_]],
    rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    path: Path,
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    held = rows[held_out(languages[rows], selection.fraction, selection.seed)]
    if len(held) == 0:
        raise DataError(
            path,
            "",
            f"{len(rows)} examples are too few to hold out {selection.fraction:.0%} of a language",
            "add examples or raise the fraction of the selection",
        )
    return held
