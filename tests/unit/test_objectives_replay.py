"""Continual learning: Eq. 2, its draws, and fine-tuning with replay."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from test_objectives_adjustment import Lookup, _examples, two_sentences  # noqa: F401
from tiny_models import NLI_LABELS, nli_table
from toy_representations import WORDS, toy_encoder, toy_pairs

from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.config.training import Adjustment, Optimisation, Replay
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoding import encode
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.objectives.adjustment import AlignedSentences, alignment_terms, sample_sentences
from mbert_atlas.objectives.pairs import open_pairs
from mbert_atlas.objectives.replay import AlignmentReplay, ReplaySource, open_replay
from mbert_atlas.training.finetune import finetune

torch.set_num_threads(1)
TABLE = [[0.0, 0.0]] * 5 + [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [4.0, 0.0], [1.0, 3.0], [3.0, -1.0]]


def _source(adjustment: Adjustment, replay: Replay, path: Path, seed: int = 1) -> ReplaySource:
    return ReplaySource(replay, adjustment, path, path, seed)


@pytest.mark.parametrize("protocol", ["published", "corrected"])
def test_equation_2_by_hand(two_sentences: Path, protocol: str) -> None:  # noqa: F811
    """As Eq. 1 by hand: A was moved to (2, 0) from (1, 0), its translation lies at (1, 3)."""
    adjustment = getattr(Adjustment, protocol)(special_tokens="none")
    replay = getattr(Replay, protocol)(sentences=5, alpha=0.1)
    model = Lookup(TABLE)
    examples = _examples(model, two_sentences, adjustment)
    model.table.data[5] = torch.tensor([2.0, 0.0])
    source = _source(adjustment, replay, two_sentences)
    made = AlignmentReplay(examples, source, hidden_size=2)
    seen = set()
    for step in range(8):
        drawn = made.draw(step)
        first, second = (int((drawn == row).sum()) for row in (0, 1))
        assert first + second == 5
        seen.add(first)
        pull, regulariser = 10 * first + 4 * second, 1 * first  # sums of squared norms
        if protocol == "published":  # means over pairs (or words and specials) and 2 dims
            expected = 0.1 * pull / (5 * 2) + regulariser / ((4 * first + 3 * second) * 2)
        else:
            expected = 0.1 * (pull / 5 + regulariser / 5)
        assert made(SimpleNamespace(encoder=model), step).item() == pytest.approx(expected)
    assert len(seen) > 1


def test_groups_of_a_draw_are_added_up(two_sentences: Path) -> None:  # noqa: F811
    model = Lookup(np.random.default_rng(0).normal(size=(11, 2)).tolist())
    adjustment = Adjustment.published()
    examples = _examples(model, two_sentences, adjustment)
    model.table.data += 0.1
    losses = []
    for size in (2, 6):
        replay = Replay.published(sentences=6, group_size=size)
        made = AlignmentReplay(examples, _source(adjustment, replay, two_sentences), hidden_size=2)
        batch = made.collate(np.zeros(6, dtype=np.int64))  # equal sentences, equal groups
        losses.append(sum(alignment_terms(model, batch, "mean")).item())
    assert losses[0] == pytest.approx(3 * losses[1])


def test_draws_are_seeded_and_with_replacement(tmp_path: Path) -> None:
    path = toy_pairs(tmp_path / "store", sentences=20)
    encoder = toy_encoder(tmp_path / "encoder")
    adjustment = Adjustment.corrected(sentences=12)

    def replay(seed: int) -> AlignmentReplay:
        source = ReplaySource(Replay(), adjustment, path, encoder, seed)
        return open_replay(source, tmp_path / "state")

    one, again, other = replay(1), replay(1), replay(2)
    assert one.fingerprint == again.fingerprint != other.fingerprint
    counts = np.zeros(12)
    for step in range(300):
        drawn = one.draw(step)
        assert np.array_equal(drawn, again.draw(step))
        assert len(drawn) == 16 > len(set(drawn.tolist()))
        counts += np.bincount(drawn, minlength=12)
    assert any(not np.array_equal(one.draw(s), other.draw(s)) for s in range(3))
    assert not np.array_equal(one.draw(0), one.draw(1))
    # 4800 draws from 12: 400 each, standard deviation 19
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
    path = toy_pairs(tmp_path / "store", sentences=10)
    source = ReplaySource(Replay(), Adjustment.corrected(), path, encoder, 1)
    made = open_replay(source, tmp_path / "state")
    model = SimpleNamespace(encoder=load_encoder(encoder).train())
    batch = made.collate(made.draw(0))
    model.encoder.eval()
    assert alignment_terms(model.encoder, batch, "mean")[1].item() < 1e-4  # at the original: zero
    monkeypatch.delattr(AlignedSentences, "compute_reference")
    again = open_replay(source, tmp_path / "state")
    assert isinstance(again.examples.reference, np.memmap)
    # Another encoder or another aggregation would need vectors of its own.
    for changed in (
        ReplaySource(Replay(), Adjustment.corrected(aggregation="last"), path, encoder, 1),
        ReplaySource(
            Replay(), Adjustment.corrected(), path, toy_encoder(tmp_path / "other", seed=5), 1
        ),
    ):
        with pytest.raises(AttributeError, match="compute_reference"):
            open_replay(changed, tmp_path / "state")
    # Without a regulariser there is nothing to make.
    free = ReplaySource(Replay(), Adjustment.corrected(regulariser=False), path, encoder, 1)
    assert open_replay(free, tmp_path / "elsewhere").examples.reference is None
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("dropout", [True, False])
def test_dropout_is_the_adjustments(tmp_path: Path, dropout: bool) -> None:
    encoder = toy_encoder(tmp_path / "encoder")
    path = toy_pairs(tmp_path / "store", sentences=10)
    adjustment = Adjustment.corrected(dropout_in_training=dropout)
    made = open_replay(
        ReplaySource(Replay.corrected(), adjustment, path, encoder, 1), tmp_path / "state"
    )
    model = SimpleNamespace(encoder=load_encoder(encoder).train())
    model.encoder.pooler.eval()  # a part in another mode stays in it
    losses = {made(model, 0).item() for _ in range(3)}
    assert (len(losses) > 1) is dropout
    assert model.encoder.training
    assert not model.encoder.pooler.training
    made(model, 0).backward()
    assert model.encoder.embeddings.word_embeddings.weight.grad.abs().sum() > 0


def _finetune(folder: Path, name: str, **changes: Any) -> Any:
    arguments: dict[str, Any] = {
        "task": "inference",
        "encoder": folder / "encoder",
        "train": folder / "examples",
        "evaluate": {"test": folder / "examples"},
        "optimisation": Optimisation(
            learning_rate=1e-3, batch_size=4, epochs=2, checkpoint_seconds=1e-9
        ),
        "seed": 5,
        "output_model": folder / name / "model",
        "output_predictions": folder / name / "predictions.parquet",
        "state_dir": folder / name / "state",
        "replay": _replay(folder),
    }
    return finetune(**(arguments | changes))


def _replay(folder: Path, **changes: Any) -> ReplaySource:
    return ReplaySource(
        Replay.published(sentences=4, **changes),
        Adjustment.published(sentences=20),
        folder / "pairs",
        folder / "original",
        5,
    )


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
        "inference",
        table,
        tmp_path / "encoder",
        tmp_path / "examples",
        labels=NLI_LABELS,
        max_length=32,
    )
    return tmp_path


def test_an_interrupted_run_goes_on_to_the_same_weights(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _finetune(folder, "whole")
    call, calls = AlignmentReplay.__call__, []

    def dies(self: AlignmentReplay, model: Any, step: int) -> torch.Tensor:
        calls.append(step)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return call(self, model, step)

    monkeypatch.setattr(AlignmentReplay, "__call__", dies)
    with pytest.raises(KeyboardInterrupt):
        _finetune(folder, "resumed")
    assert list((folder / "resumed/state").glob("reference-*.npy"))
    resumed = _finetune(folder, "resumed")
    assert calls == [0, 1, 2, 3, 4, *range(4, 12)]
    assert (whole.steps, resumed.steps, resumed.resumptions) == (12, 12, 1)
    assert not (folder / "resumed/state").exists()
    for file in ("predictions.parquet", "model/model.safetensors", "model/head.safetensors"):
        assert (folder / "resumed" / file).read_bytes() == (folder / "whole" / file).read_bytes()


def test_a_state_of_another_replay_is_not_continued(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(self: AlignmentReplay, model: Any, step: int) -> torch.Tensor:
        if step == 3:
            raise KeyboardInterrupt
        return torch.zeros((), requires_grad=True)

    for change in (_replay(folder, alpha=0.5), None):
        with monkeypatch.context() as patch:
            patch.setattr(AlignmentReplay, "__call__", dies)
            with pytest.raises(KeyboardInterrupt):
                _finetune(folder, "run")
        assert _finetune(folder, "run", replay=change).resumptions == 0


def test_replay_keeps_translations_together(folder: Path) -> None:
    """What Eq. 2 is for, with a weight that shows in twelve steps."""
    store, pairs = open_pairs(folder / "pairs")
    adjustment = Adjustment.corrected(special_tokens="none")

    def distance(encoder: Path) -> float:
        model = load_encoder(encoder).eval()
        examples = AlignedSentences(
            store, pairs, np.arange(24), adjustment, hidden_size=16, padding=0
        )
        with torch.no_grad():
            pull, _ = alignment_terms(model, examples.collate(np.arange(24)), "mean")
        return pull.item() / examples.pairs

    _finetune(folder, "alone", replay=None)
    source = ReplaySource(
        Replay.corrected(sentences=8, alpha=1.0),
        Adjustment.corrected(regulariser=False),
        folder / "pairs",
        folder / "original",
        5,
    )
    _finetune(folder, "replayed", replay=source)
    assert distance(folder / "replayed/model") < 0.9 * distance(folder / "alone/model")


def test_replay_refuses_what_does_not_fit(folder: Path) -> None:
    tokenizer = folder / "encoder/tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace("xx39", "yy39"), "utf-8")
    encode("inference", nli_table(8), folder / "encoder", folder / "examples", labels=NLI_LABELS)
    with pytest.raises(DataError, match="whose alignment is to be replayed"):
        _finetune(folder, "run")
    good = load_arrays(folder / "pairs")
    save_arrays(folder / "pairs", dict(good.arrays), {"tokenizer_sha256": "0"})
    with pytest.raises(AtlasError, match="not made with the tokenizer"):
        open_replay(_replay(folder), folder / "state")


def test_protocols() -> None:
    published, corrected = Replay.published(), Replay.corrected()
    assert (published.sentences, published.alpha) == (16, 0.01)
    assert (published.scope, corrected.scope) == ("pull", "both")
    with pytest.raises(ValueError, match="extra"):
        Replay.published(batch=3)
