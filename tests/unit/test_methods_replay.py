"""Continual learning (Efimov et al. 2022): Eq. 2, its samples, and fine-tuning with replay."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from test_training_adjustment import Lookup, _examples, two_sentences  # noqa: F401
from tiny_models import NLI_LABELS, finetuned, finetuning_job, nli_table
from toy_representations import WORDS, corrected_adjustment, toy_encoder, toy_pairs

from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.config.methods.replay import Replay
from mbert_atlas.config.training import Adjustment, Optimisation
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoding import encode
from mbert_atlas.errors import DataError
from mbert_atlas.training.adjustment import alignment_terms, sample_sentences
from mbert_atlas.training.aligned_sentences import AlignedSentences
from mbert_atlas.training.losses.squared_distance import squared_distance
from mbert_atlas.training.methods.replay import AlignmentReplay
from mbert_atlas.training.word_pairs import open_pairs

torch.set_num_threads(1)
TABLE = [[0.0, 0.0]] * 5 + [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [4.0, 0.0], [1.0, 3.0], [3.0, -1.0]]


def _by_hand(examples: Any, adjustment: Adjustment, replay: Replay) -> AlignmentReplay:
    """Return a replay of examples that no run has opened."""
    made = AlignmentReplay(replay, adjustment, Path(), Path())
    made.examples, made.seed = examples, 1
    return made


def _prepared(
    folder: Path,
    adjustment: Adjustment,
    replay: Replay | None = None,
    *,
    seed: int = 1,
    encoder: str = "encoder",
    state: str = "state",
) -> AlignmentReplay:
    """Return a replay of ``folder / "store"`` as a run opens it."""
    path = folder / encoder
    made = AlignmentReplay(replay or Replay(), adjustment, folder / "store", path)
    optimisation = Optimisation()
    job = SimpleNamespace(
        encoder=path, seed=seed, state_dir=folder / state, optimisation=optimisation
    )
    made.prepare(SimpleNamespace(job=job))
    return made


@pytest.mark.parametrize("protocol", ["published", "corrected"])
def test_equation_2_by_hand(two_sentences: Path, protocol: str) -> None:  # noqa: F811
    """As Eq. 1 by hand: A was moved to (2, 0) from (1, 0), its translation lies at (1, 3)."""
    is_published = protocol == "published"
    adjustment = (Adjustment if is_published else corrected_adjustment)(special_tokens="none")
    replay = Replay(sentences=5, alpha=0.1, scope="pull" if is_published else "both")
    model = Lookup(TABLE)
    examples = _examples(model, two_sentences, adjustment)
    model.table.data[5] = torch.tensor([2.0, 0.0])
    made = _by_hand(examples, adjustment, replay)
    seen = set()
    for step in range(8):
        rows_of_step = made.sample(step)
        first, second = (int((rows_of_step == row).sum()) for row in (0, 1))
        assert first + second == 5
        seen.add(first)
        pull, regulariser = 10 * first + 4 * second, 1 * first  # sums of squared norms
        if protocol == "published":  # means over pairs (or words and specials) and 2 dims
            expected = 0.1 * pull / (5 * 2) + regulariser / ((4 * first + 3 * second) * 2)
        else:
            expected = 0.1 * (pull + regulariser) / (5 * 2)  # Eq. 1 over 5 pairs and 2 dims
        assert made.loss(model, step).item() == pytest.approx(expected)
    assert len(seen) > 1


def test_groups_of_a_sample_are_added_up(two_sentences: Path) -> None:  # noqa: F811
    model = Lookup(np.random.default_rng(0).normal(size=(11, 2)).tolist())
    adjustment = Adjustment()
    examples = _examples(model, two_sentences, adjustment)
    model.table.data += 0.1
    losses = []
    for size in (2, 6):
        replay = Replay(sentences=6, group_size=size)
        made = _by_hand(examples, adjustment, replay)
        batch = made.collate(np.zeros(6, dtype=np.int64))  # equal sentences, equal groups
        losses.append(sum(alignment_terms(model, batch, "mean", squared_distance)).item())
    assert losses[0] == pytest.approx(3 * losses[1])


def test_samples_are_seeded_and_with_replacement(tmp_path: Path) -> None:
    path = toy_pairs(tmp_path / "store", sentences=20)
    toy_encoder(tmp_path / "encoder")
    adjustment = corrected_adjustment(sentences=12)
    one, again, other = (_prepared(tmp_path, adjustment, seed=seed) for seed in (1, 1, 2))
    assert one.fingerprint == again.fingerprint != other.fingerprint
    assert _prepared(tmp_path, adjustment, Replay(alpha=0.5)).fingerprint != one.fingerprint
    counts = np.zeros(12)
    for step in range(300):
        rows_of_step = one.sample(step)
        assert np.array_equal(rows_of_step, again.sample(step))
        assert len(rows_of_step) == 16 > len(set(rows_of_step.tolist()))
        counts += np.bincount(rows_of_step, minlength=12)
    assert any(not np.array_equal(one.sample(s), other.sample(s)) for s in range(3))
    assert not np.array_equal(one.sample(0), one.sample(1))
    # 4800 sentences from 12: 400 each, standard deviation 19
    assert np.abs(counts - 400).max() < 100
    # The sentences are those that the adjustment with this seed samples, in its order.
    store, pairs = open_pairs(path)
    rows = sample_sentences(pairs, 20, adjustment, 1)
    ids = store.ragged("source_ids").take(rows)
    assert np.array_equal(one.examples.source_ids.values, ids.values)


def test_reference_is_the_original_and_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = toy_encoder(tmp_path / "encoder")
    toy_encoder(tmp_path / "other", seed=5)
    toy_pairs(tmp_path / "store", sentences=10)
    adjustment = corrected_adjustment()
    made = _prepared(tmp_path, adjustment)
    batch = made.collate(made.sample(0))
    model = load_encoder(encoder).eval()
    terms = alignment_terms(model, batch, "mean", squared_distance)
    assert terms[1].item() < 1e-4  # at the original: zero
    monkeypatch.delattr(AlignedSentences, "compute_reference")
    assert isinstance(_prepared(tmp_path, adjustment).examples.reference, np.memmap)
    # Another encoder or another aggregation would need separate vectors.
    for name, changed in (
        ("encoder", corrected_adjustment(aggregation="last")),
        ("other", adjustment),
    ):
        with pytest.raises(AttributeError, match="compute_reference"):
            _prepared(tmp_path, changed, encoder=name)
    # Without a regulariser there is nothing to make.
    free = _prepared(tmp_path, corrected_adjustment(regulariser=False), state="elsewhere")
    assert free.examples.reference is None
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("dropout", [True, False])
def test_dropout_is_the_adjustments(tmp_path: Path, dropout: bool) -> None:
    encoder = toy_encoder(tmp_path / "encoder")
    toy_pairs(tmp_path / "store", sentences=10)
    adjustment = corrected_adjustment(dropout_in_training=dropout)
    made = _prepared(tmp_path, adjustment, Replay(scope="both"))
    model = load_encoder(encoder).train()
    model.pooler.eval()  # a part in another mode stays in it
    losses = {made.loss(model, 0).item() for _ in range(3)}
    assert (len(losses) > 1) is dropout
    assert model.training
    assert not model.pooler.training
    made.loss(model, 0).backward()
    assert model.embeddings.word_embeddings.weight.grad.abs().sum() > 0


def _finetune(folder: Path, name: str, *methods: AlignmentReplay) -> Any:
    settings = Optimisation(learning_rate=1e-3, batch_size=4, epochs=2, checkpoint_seconds=1e-9)
    job = finetuning_job(folder, "nli", "examples", name, seed=5, optimisation=settings)
    return finetuned(job, *methods)


def _replay(folder: Path) -> AlignmentReplay:
    files = folder / "pairs", folder / "original"
    return AlignmentReplay(Replay(sentences=4), Adjustment(sentences=20), *files)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy_encoder(tmp_path / "original")
    toy_encoder(tmp_path / "encoder", seed=3)  # "adjusted": the same vocabulary, other weights
    toy_pairs(tmp_path / "pairs", sentences=24)
    table = nli_table(24)
    random = np.random.default_rng(0)
    for column in ("premise", "hypothesis"):
        texts = [" ".join(f"en{k}" for k in random.integers(0, WORDS, 4)) for _ in range(24)]
        table = table.set_column(table.column_names.index(column), column, pa.array(texts))
    encode(
        "nli", table, tmp_path / "encoder", tmp_path / "examples", labels=NLI_LABELS, max_length=32
    )
    return tmp_path


def test_an_interrupted_run_goes_on_to_the_same_weights(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _finetune(folder, "whole", _replay(folder))
    sample, calls = AlignmentReplay.sample, []

    def dies(self: AlignmentReplay, step: int) -> Any:
        calls.append(step)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return sample(self, step)

    monkeypatch.setattr(AlignmentReplay, "sample", dies)
    with pytest.raises(KeyboardInterrupt):
        _finetune(folder, "resumed", _replay(folder))
    assert list((folder / "resumed/state").glob("reference-*.npy"))
    resumed = _finetune(folder, "resumed", _replay(folder))
    assert calls == [0, 1, 2, 3, 4, *range(4, 12)]
    assert (whole.steps, resumed.steps, resumed.resumptions) == (12, 12, 1)
    for file in ("predictions.parquet", "model/model.safetensors", "model/head.safetensors"):
        assert (folder / "resumed" / file).read_bytes() == (folder / "whole" / file).read_bytes()


def test_replay_rejects_what_does_not_fit(folder: Path) -> None:
    tokenizer = folder / "encoder/tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace("xx39", "yy39"), "utf-8")
    encode("nli", nli_table(8), folder / "encoder", folder / "examples", labels=NLI_LABELS)
    with pytest.raises(DataError, match="whose alignment is replayed"):
        _finetune(folder, "run", _replay(folder))
    tokenizer.write_text((folder / "original/tokenizer.json").read_text(), "utf-8")
    encode("nli", nli_table(8), folder / "encoder", folder / "examples", labels=NLI_LABELS)
    good = load_arrays(folder / "pairs")
    save_arrays(folder / "pairs", dict(good.arrays), {"tokenizer_sha256": "0"})
    with pytest.raises(DataError, match="not made with the tokenizer"):
        _finetune(folder, "run", _replay(folder))
