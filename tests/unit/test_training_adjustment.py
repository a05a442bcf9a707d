from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from toy_representations import CLS, SEP, corrected_adjustment, toy_encoder, toy_pairs

from mbert_atlas.alignment.pairs import encode_word_pairs
from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.batching import micro_batches
from mbert_atlas.config.training import Adjustment
from mbert_atlas.encoders.loading import load_encoder, load_tokenizer
from mbert_atlas.errors import DataError
from mbert_atlas.schemas import WORD_PAIRS
from mbert_atlas.training.adjustment import (
    AdjustmentObjective,
    adjust,
    alignment_terms,
    open_sample,
    sample_sentences,
    switch_off_dropout,
)
from mbert_atlas.training.aligned_sentences import AlignedSentences
from mbert_atlas.training.losses.squared_distance import squared_distance
from mbert_atlas.training.word_pairs import open_pairs

torch.set_num_threads(1)


class Lookup(torch.nn.Module):
    """An "encoder" whose hidden states are rows of a table: Eq. 1 can be done by hand."""

    def __init__(self, table: list[list[float]]) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.tensor(table))
        self.config = SimpleNamespace(
            model_type="bert", hidden_size=len(table[0]), pad_token_id=0, num_hidden_layers=1
        )

    def forward(self, input_ids: torch.Tensor, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(last_hidden_state=self.table[input_ids])


def _examples(
    model: Any, path: Path, specification: Adjustment, rows: list[int] | None = None
) -> AlignedSentences:
    store, pairs = open_pairs(path)
    chosen = np.arange(len(store.ragged("source_ids"))) if rows is None else np.array(rows)
    examples = AlignedSentences(
        store, pairs, chosen, specification, hidden_size=model.config.hidden_size, padding=0
    )
    reference = np.empty((len(examples.start.values), model.config.hidden_size), np.float32)
    examples.compute_reference(model, specification.aggregation, reference)
    examples.reference = reference
    return examples


@pytest.fixture
def two_sentences(tmp_path: Path) -> Path:
    """``A B`` - ``a`` (B unaligned) and ``C`` (two subwords) - ``c``; ids 5, 6, 7 8 and 9, 10."""
    rows = {
        "source_ids": [[CLS, 5, 6, SEP], [CLS, 7, 8, SEP]],
        "source_word_start": [[1, 2], [1]],
        "source_word_end": [[2, 3], [3]],
        "target_ids": [[CLS, 9, SEP], [CLS, 10, SEP]],
        "target_word_start": [[1], [1]],
        "target_word_end": [[2], [2]],
        "source_pairs": [[0], [0]],
        "target_pairs": [[0], [0]],
    }
    packed = {name: Ragged.from_rows(value, np.int32) for name, value in rows.items()}
    save_arrays(tmp_path / "store", packed, {})
    return tmp_path / "store"


def test_equation_1_by_hand(two_sentences: Path) -> None:
    table = [[0.0, 0.0]] * 5 + [[1, 0], [0, 1], [2, 2], [4, 0], [1, 3], [3, -1]]
    model = Lookup([[float(x) for x in row] for row in table])
    corrected = corrected_adjustment(special_tokens="none")
    published = Adjustment(special_tokens="none")
    # A - a: (1, 0) - (1, 3), squared norm 9; C - c: mean (3, 1) - (3, -1), squared norm 4.
    # After A moves to (2, 0): the pull of A is |(1, -3)|^2 = 10 and its regulariser 1.
    expected = {
        # (pull, regulariser) before and after, in the units of the loss of one step
        corrected: [((9 + 4) / 2, 0.0), ((10 + 4) / 2, 1 / 2)],
        # means over 2 pairs and over 3 words + 2 x ([CLS], [SEP]), in both over 2 dims
        published: [((9 + 4) / 4, 0.0), ((10 + 4) / 4, 1 / (7 * 2))],
    }
    for specification, values in expected.items():
        objective = AdjustmentObjective(specification)
        model.table.data[5] = torch.tensor([1.0, 0.0])
        examples = _examples(model, two_sentences, specification)
        batch = examples.collate(np.arange(2))
        step_weight = objective.weight(batch)
        assert step_weight == 2
        for pull, regulariser in values:
            terms = alignment_terms(model, batch, "mean", squared_distance)
            scale = 2 if specification is corrected else 1
            assert terms[0].item() / scale == pytest.approx(pull)
            assert terms[1].item() / scale == pytest.approx(regulariser)
            loss = objective.loss(model, batch, step_weight)
            assert loss.item() == pytest.approx(pull + regulariser)
            model.table.data[5] = torch.tensor([2.0, 0.0])


def _slow_terms(
    model: Any, path: Path, rows: list[int], specification: Adjustment, start: dict[str, Any]
) -> float:
    """Eq. 1 word by word, sentence by sentence, one forward pass each."""
    store = load_arrays(path)

    def vectors(side: str, row: int) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
        ids = torch.from_numpy(store.ragged(f"{side}_ids")[row].astype(np.int64))
        hidden = model(
            input_ids=ids[None], attention_mask=torch.ones_like(ids)[None]
        ).last_hidden_state[0]
        words = []
        for begin, end in zip(
            store.ragged(f"{side}_word_start")[row],
            store.ragged(f"{side}_word_end")[row],
            strict=True,
        ):
            subwords = [hidden[place] for place in range(begin, end)]
            words.append(
                {"first": subwords[0], "last": subwords[-1], "mean": sum(subwords) / len(subwords)}[
                    specification.aggregation
                ]
            )
        return words, hidden[0], hidden[-1]

    now = {name: value.clone() for name, value in model.state_dict().items()}
    anchors = {}
    model.load_state_dict(start)
    with torch.no_grad():
        for row in rows:
            words, cls, sep = vectors("source", row)
            anchors[row] = [*words, cls, sep]
    model.load_state_dict(now)
    total = 0.0
    for group in range(0, len(rows), specification.group_size):
        pulls: list[float] = []
        moves: list[float] = []
        for row in rows[group : group + specification.group_size]:
            source, source_cls, source_sep = vectors("source", row)
            target, target_cls, target_sep = vectors("target", row)
            links = zip(
                store.ragged("source_pairs")[row], store.ragged("target_pairs")[row], strict=True
            )
            linked = [(source[i], target[j]) for i, j in links] if specification.words else []
            if specification.special_tokens != "none":
                linked.append((source_cls, target_cls))
            if specification.special_tokens == "cls_sep":
                linked.append((source_sep, target_sep))
            pulls += [((s - t) ** 2).sum().item() for s, t in linked]
            english = [*source, source_cls, source_sep]
            moves += [
                ((s - a) ** 2).sum().item() for s, a in zip(english, anchors[row], strict=True)
            ]
        if specification.reduction == "sum":
            total += (sum(pulls) + sum(moves)) / len(rows)
        else:
            dims = model.config.hidden_size
            total += sum(pulls) / len(pulls) / dims + sum(moves) / len(moves) / dims
    return total


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"aggregation": "first", "special_tokens": "cls"},
        {"aggregation": "last", "special_tokens": "none"},
        {"words": False},
        {"words": False, "special_tokens": "cls", "group_size": 3},
    ],
)
@pytest.mark.parametrize("protocol", [Adjustment, corrected_adjustment])
def test_loss_equals_a_loop_over_words(tmp_path: Path, protocol: Any, changes: Any) -> None:
    specification = protocol(**changes)
    model = load_encoder(toy_encoder(tmp_path / "encoder"))
    switch_off_dropout(model)
    path = toy_pairs(tmp_path / "store", sentences=12)
    rows = [7, 2, 9, 0, 11, 4, 5]
    examples = _examples(model, path, specification, rows)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator()))
    objective = AdjustmentObjective(specification)
    # Micro-batches of any make-up add up to the step's loss.
    batches = [examples.collate(part) for part in micro_batches(np.arange(7), examples.lengths, 60)]
    assert len(batches) > 1
    step_weight = sum(objective.weight(batch) for batch in batches)
    loss = sum(objective.loss(model, batch, step_weight).item() for batch in batches)
    expected = _slow_terms(model, path, rows, specification, start)
    assert loss == pytest.approx(expected, rel=1e-4)


def test_without_a_regulariser_the_original_need_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(AlignedSentences, "compute_reference")
    assert adjusted(tmp_path, Adjustment(regulariser=False))["steps"] == 1


def adjusted(
    folder: Path, specification: Adjustment, output: str = "adjusted", sentences: int = 6
) -> dict[str, int]:
    """Adjust the toy encoder to toy pairs."""
    if not (folder / "store").exists():
        toy_encoder(folder / "encoder")
        toy_pairs(folder / "store", sentences=sentences)
    return adjust(
        encoder=folder / "encoder",
        store=folder / "store",
        specification=specification,
        seed=1,
        output=folder / output,
        state_dir=folder / "state",
    )


def test_nothing_to_align_is_rejected() -> None:
    with pytest.raises(ValueError, match="nothing to align"):
        Adjustment(words=False, special_tokens="none")


def test_sample_order_and_seeds(tmp_path: Path) -> None:
    store, pairs = open_pairs(toy_pairs(tmp_path / "store", sentences=60, without=20))
    total = len(store.ragged("source_ids"))
    published = Adjustment(sentences=30)
    corrected = corrected_adjustment(sentences=30)
    first = sample_sentences(pairs, total, published, 1)
    assert 10 <= len(first) < 30
    exact = sample_sentences(pairs, total, corrected, 1)
    assert len(exact) == len(set(exact.tolist())) == 30
    assert exact.max() < 40
    assert np.array_equal(exact, sample_sentences(pairs, total, corrected, 1))
    assert not np.array_equal(exact, sample_sentences(pairs, total, corrected, 2))
    assert not np.array_equal(exact, np.sort(exact))
    everything = sample_sentences(pairs, total, corrected_adjustment(sentences=500), 1)
    assert sorted(everything) == list(range(40))


def test_damaged_vectors_of_the_original_are_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    encoder, store = toy_encoder(tmp_path / "encoder"), toy_pairs(tmp_path / "store", sentences=9)
    arguments = (store, Adjustment(sentences=9), 3, encoder, tmp_path / "state")
    expected = np.array(open_sample(*arguments).examples.reference)
    (path,) = (tmp_path / "state").glob("reference-*.npy")
    flipped = path.read_bytes()[:-1] + b"?"
    for damage in (
        lambda: os.truncate(path, 100),
        lambda: path.write_bytes(flipped),
        path.unlink,
    ):
        damage()
        caplog.clear()
        assert np.array_equal(open_sample(*arguments).examples.reference, expected)
        assert ("is damaged and computed again" in caplog.text) == (damage != path.unlink)
        assert np.array_equal(np.load(path), expected)


@pytest.mark.parametrize("protocol", [Adjustment, corrected_adjustment])
def test_adjusting_brings_translations_together(tmp_path: Path, protocol: Any) -> None:
    own = {"learning_rate": 1e-3, "epochs": 4, "batch_size": 8, "checkpoint_seconds": 1e-9}
    optimisation = protocol().optimisation.model_copy(update=own)
    counts = adjusted(tmp_path, protocol(sentences=48, optimisation=optimisation), sentences=64)
    assert (counts["sentences_in_store"], counts["sentences_trained"]) == (64, 48)
    assert counts["steps"] == 4 * 6
    assert list((tmp_path / "state").glob("step-*"))
    held_out, distances = toy_pairs(tmp_path / "held_out", sentences=40, seed=9), []
    for name in ("encoder", "adjusted"):
        model = load_encoder(tmp_path / name)
        examples = _examples(model, held_out, corrected_adjustment(special_tokens="none"))
        with torch.no_grad():
            pull, _ = alignment_terms(
                model, examples.collate(np.arange(40)), "mean", squared_distance
            )
        distances.append(float(pull))
        assert load_tokenizer(tmp_path / name).vocab_size == model.config.vocab_size
        assert model.config.hidden_dropout_prob == pytest.approx(0.1)
    assert distances[1] < 0.8 * distances[0]


def test_unusable_stores_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no aligned word pair is left"):
        open_pairs(toy_pairs(tmp_path / "none", sentences=3, without=3))
    good = load_arrays(toy_pairs(tmp_path / "good", sentences=3))
    save_arrays(tmp_path / "foreign", good.arrays, {"tokenizer_sha256": "0"})
    encoder = toy_encoder(tmp_path / "encoder")
    with pytest.raises(DataError, match="not made with the tokenizer of"):
        open_sample(tmp_path / "foreign", Adjustment(), 1, encoder, tmp_path / "state")


def test_words_cut_off_are_left_out(tmp_path: Path) -> None:
    good = load_arrays(toy_pairs(tmp_path / "good", sentences=4))
    arrays = dict(good.arrays)
    ends = good.ragged("source_word_end").values.copy()
    starts = good.ragged("source_word_start")
    first_pair = good.ragged("source_pairs")[0][0]
    ends[starts.offsets[0] + first_pair] = starts[0][first_pair]
    arrays["source_word_end"] = Ragged(ends, starts.offsets)
    save_arrays(tmp_path / "cut", arrays, {})
    _, whole = open_pairs(tmp_path / "good")
    _, cut = open_pairs(tmp_path / "cut")
    assert len(cut) == len(whole) - 1
    model = load_encoder(toy_encoder(tmp_path / "encoder"))
    specification = corrected_adjustment()
    examples = _examples(model, tmp_path / "cut", specification)
    assert examples.pairs == len(cut) + 2 * 4
    assert len(examples.start.values) == len(starts.values) - 1 + 2 * 4
    assert np.isfinite(examples.reference).all()  # type: ignore[arg-type]


def test_an_interrupted_run_goes_on_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    often, seldom = (
        Adjustment().optimisation.model_copy(update={"batch_size": 4, "checkpoint_seconds": each})
        for each in (1e-6, 100.0)
    )
    adjusted(tmp_path, Adjustment(sentences=24, optimisation=often), "whole", sentences=24)
    shutil.rmtree(tmp_path / "state")
    loss, calls = AdjustmentObjective.loss, []

    def dies(self: AdjustmentObjective, *rest: Any) -> torch.Tensor:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return loss(self, *rest)

    monkeypatch.setattr(AdjustmentObjective, "loss", dies)
    with pytest.raises(KeyboardInterrupt):
        adjusted(tmp_path, Adjustment(sentences=24, optimisation=often), "resumed")
    assert not (tmp_path / "resumed").exists()
    assert list((tmp_path / "state").glob("reference-*.npy"))
    # How often a state is saved may be changed meanwhile; the original's vectors are kept.
    monkeypatch.delattr(AlignedSentences, "compute_reference")
    adjusted(tmp_path, Adjustment(sentences=24, optimisation=seldom), "resumed")
    assert len(calls) == 4 + 3  # six steps: three were saved
    whole, resumed = (
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "resumed")
    )
    assert whole == resumed


def test_stores_of_the_alignment_room(tmp_path: Path) -> None:
    """What `encode_word_pairs` writes, adjustment reads."""
    table = pa.table(
        {
            "id": ["1", "2", "3"],
            "source_tokens": [["en1s", "en2"], ["en3", "en4", "en5"], ["en6"]],
            "target_tokens": [["xx2", "xx1"], ["xx5ss", "xx4", "xx3"], ["xx7"]],
            "source_index": [[0, 1], [2], []],
            "target_index": [[1, 0], [0], []],
        },
        schema=WORD_PAIRS,
    )
    encoder = toy_encoder(tmp_path / "encoder")
    encode_word_pairs(table, encoder, tmp_path / "store")
    optimisation = Adjustment().optimisation.model_copy(update={"batch_size": 1})
    assert adjusted(tmp_path, corrected_adjustment(optimisation=optimisation)) == {
        "sentences_in_store": 3,
        "sentences_requested": 30_000,
        "sentences_trained": 2,
        "pairs": 3 + 2 * 2,
        "english_tokens": 5 + 2 * 2,
        "steps": 2,
    }
