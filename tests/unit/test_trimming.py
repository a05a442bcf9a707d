"""Runs that hold only the word embeddings of their subwords give the bytes of those that hold all.

The oracle is the same run without trimming.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file
from test_methods_confusion import language_table
from test_methods_language_subspace import directions as weighted_directions
from test_methods_language_subspace import settings as preservation
from test_methods_subspace import directions
from test_tasks_qa import qa_table
from tiny_models import NLI_LABELS, TAGS, finetuned, finetuning_job, nli_table, sentence_table
from torch import nn
from toy_representations import NAMES, toy_encoder, toy_pairs
from transformers import XLMRobertaConfig, XLMRobertaModel

from mbert_atlas import tasks
from mbert_atlas.config.methods.confusion import LanguageConfusion
from mbert_atlas.config.methods.replay import Replay
from mbert_atlas.config.methods.selection import Selection
from mbert_atlas.config.methods.subspace import Subspace
from mbert_atlas.config.training import Adjustment, Optimisation
from mbert_atlas.encoders.loading import load_encoder, save_encoder
from mbert_atlas.encoders.trimming import SomeWords, trim
from mbert_atlas.encoding import encode
from mbert_atlas.errors import AtlasError
from mbert_atlas.schemas import LID_EXAMPLES, TAGGED_SENTENCES
from mbert_atlas.tasks.base import CrossEntropy
from mbert_atlas.training import adjustment, finetune
from mbert_atlas.training.gradients import clip_gradients
from mbert_atlas.training.method import Method, TrainingLog
from mbert_atlas.training.methods.confusion import LanguageUnlearning
from mbert_atlas.training.methods.language_subspace import LanguagePreservation
from mbert_atlas.training.methods.replay import AlignmentReplay
from mbert_atlas.training.methods.selection import BestEpoch
from mbert_atlas.training.methods.subspace import Projection
from mbert_atlas.training.trimming import multiply, optimise

WORDS = "embeddings.word_embeddings.weight"
OPTIMISATION: dict[str, Any] = {
    **{"learning_rate": 5e-3, "weight_decay": 0.1, "clip_norm": 0.5, "warmup_fraction": 0.2},
    **{"batch_size": 4, "epochs": 3, "token_budget": 48},
}
METHODS: dict[str, Callable[[Path], Method]] = {
    "selection": lambda _: BestEpoch(Selection(metric="macro_f1", fraction=0.25)),
    "development": lambda at: BestEpoch(
        Selection(metric="macro_f1", development="d"), at / "development"
    ),
    "replay": lambda at: AlignmentReplay(
        Replay(sentences=4), Adjustment(sentences=3), at / "pairs", at / "encoder"
    ),
    "reversal": lambda at: LanguageUnlearning(
        LanguageConfusion(method="gradient_reversal"), at / "languages"
    ),
    "entropy": lambda at: LanguageUnlearning(
        LanguageConfusion(method="entropy_maximisation"), at / "languages"
    ),
    "preservation": lambda at: LanguagePreservation(preservation(), weighted_directions(at)),
    "projection": lambda at: Projection(Subspace(method="lda", first=5), directions(at)),
}


def words(random: np.random.Generator, first: int = 0) -> list[str]:
    return [f"en{number}" for number in random.integers(first, first + 12, random.integers(2, 6))]


def write_examples(task: str, folder: Path, *, seed: int = 0, first: int = 0) -> None:
    """Write two dozen examples of a task to the store of its name; words from en<first> on."""
    random, count = np.random.default_rng(seed), 24
    texts = [words(random, first) for _ in range(count)]
    joined, labels = [" ".join(text) for text in texts], TAGS
    tags = [list(random.choice(TAGS, len(text))) for text in texts]
    table, options = sentence_table(texts, tags), {}
    if task == "nli":
        table, labels = nli_table(count), NLI_LABELS
        for column in ("premise", "hypothesis"):
            texts = [" ".join(words(random, first)) for _ in range(count)]
            table = table.set_column(table.column_names.index(column), column, pa.array(texts))
    elif task == "ner":
        columns = [table[name] for name in ("id", "language", "split", "forms", "upos")]
        table = pa.table(columns, schema=TAGGED_SENTENCES)
    elif task == "parsing":
        labels = ["root"]
    elif task == "qa":
        table, labels = qa_table([(text, text[:4], [text[-4:]]) for text in joined]), None
        options = {"max_length": 48, "doc_stride": 8}
    elif task == "language_identification":
        languages = ["de" if number % 3 else "en" for number in range(count)]
        ids = [str(number) for number in range(count)]
        table = pa.table([ids, languages, ["train"] * count, joined], schema=LID_EXAMPLES)
        labels, options = ["de", "en"], {"unit": "text"}
    encode(task, table, folder / "encoder", folder / task, labels=labels, **options)


def write_inputs(methods: tuple[str, ...], folder: Path) -> str:
    """Write the examples of a task that the methods fit, and their data; return the task."""
    task = "tagging" if "preservation" in methods else "nli"
    write_examples("nli", folder, first=20)  # for the choice of an epoch, with other words
    (folder / "nli").rename(folder / "development")
    write_examples(task, folder)
    toy_pairs(folder / "pairs", sentences=3)
    texts = language_table()
    column = pa.array([" ".join(words(np.random.default_rng(n), 28)) for n in range(len(texts))])
    texts = texts.set_column(texts.column_names.index("text"), "text", column)
    labels, own = ["de", "en", "zh"], {"unit": "text"}
    task_of = "language_identification"
    encode(task_of, texts, folder / "encoder", folder / "languages", labels=labels, **own)
    return task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy_encoder(tmp_path / "encoder")
    return tmp_path


def without_trimming(patch: pytest.MonkeyPatch) -> None:
    for module in (finetune, adjustment):
        patch.setattr(module, "trim", lambda *_: None)


def trained_both_ways(
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    task: str = "nli",
    methods: tuple[str, ...] = (),
    **own: Any,
) -> dict[str, torch.Tensor]:
    """Compare two runs byte by byte; return the weights of the encoder."""
    optimisation = Optimisation(**OPTIMISATION | own.pop("optimisation", {}))
    logs, contents = [], []
    for name in ("some", "all"):
        with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.INFO):
            if name == "all":
                without_trimming(patch)
            job = finetuning_job(folder, task, task, name, optimisation=optimisation, **own)
            logs.append(finetuned(job, *(METHODS[method](folder) for method in methods)))
        files = [path for path in sorted((folder / name).rglob("*")) if path.is_file()]
        contents.append({path.relative_to(folder / name): path.read_bytes() for path in files})
        assert ("word embeddings" in caplog.text) == (name == "some")
        caplog.clear()
    assert contents[0] == contents[1]
    assert logs[0].epoch_losses == logs[1].epoch_losses
    assert {"predictions.parquet", "head.safetensors"} < {path.name for path in contents[0]}
    return load_file(folder / "some/model/model.safetensors")


@pytest.mark.parametrize("task", tasks.TASKS)
def test_every_task(folder: Path, task: str, caplog: pytest.LogCaptureFixture) -> None:
    write_examples(task, folder)
    before = load_file(folder / "encoder/model.safetensors")[WORDS]
    after = trained_both_ways(folder, caplog, task)[WORDS]
    absent = after[NAMES.index("xx3")]
    # By 0.1 times the mean of the rates, 2.5e-3 and 2.5e-3, in 18 steps.
    factor = (absent / before[NAMES.index("xx3")]).numpy()
    assert factor == pytest.approx(1 - 0.1 * 2.5e-3 * 18, abs=5e-4)


@pytest.mark.parametrize(
    "methods",
    [*((method,) for method in METHODS), ("selection", "replay", "entropy", "projection")],
    ids="-".join,
)
def test_every_method(
    folder: Path, methods: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    trained_both_ways(folder, caplog, write_inputs(methods, folder), methods)


CHANGES: dict[str, dict[str, Any]] = {
    "the whole encoder is re-initialised": {"reinitialised_layers": ["embeddings", "2-2"]},
    "words stay fixed": {"trained_layers": "all_but_words"},
    "layers stay fixed": {"trained_layers": ["2-2"]},
    "nothing is trained": {"trained_layers": "none"},
    "adam": {"optimisation": {"optimiser": "adam", "weight_decay": 0.0, "clip_norm": None}},
    "no schedule": {"optimisation": {"schedule": "constant", "epochs": 1}},
}


@pytest.mark.parametrize("change", CHANGES)
def test_layers_and_optimisers(folder: Path, change: str, caplog: pytest.LogCaptureFixture) -> None:
    write_examples("nli", folder)
    trained_both_ways(folder, caplog, **CHANGES[change])


def test_other_encoders_and_subwords_of_tests(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """XLM-R counts positions from the id of the padding; the test set has other words."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = XLMRobertaConfig(vocab_size=len(NAMES), pad_token_id=0, type_vocab_size=1, **sizes)
    torch.manual_seed(0)
    save_encoder(XLMRobertaModel(config), folder / "encoder", folder / "roberta")
    write_examples("tagging", folder, first=20)
    (folder / "tagging").rename(folder / "others")
    write_examples("tagging", folder)
    tests = {"test": folder / "others"}
    trained_both_ways(folder, caplog, "tagging", encoder=folder / "roberta", evaluate=tests)


@pytest.mark.parametrize("protocol", ["published", "corrected"])
def test_adjustment(folder: Path, protocol: str) -> None:
    toy_pairs(folder / "pairs", sentences=5)
    optimisation = Optimisation(**OPTIMISATION | {"checkpoint_seconds": 1e-9})
    changes = {"reduction": "sum", "dropout_in_training": False} if protocol == "corrected" else {}
    specification = Adjustment(sentences=3, optimisation=optimisation, **changes)
    for name in ("some", "all"):
        with pytest.MonkeyPatch.context() as patch:
            if name == "all":
                without_trimming(patch)
            adjustment.adjust(
                encoder=folder / "encoder",
                store=folder / "pairs",
                specification=specification,
                seed=1,
                output=folder / name,
                state_dir=folder / f"{name} state",
            )
    one, other = ((folder / name / "model.safetensors").read_bytes() for name in ("some", "all"))
    assert one == other
    states = [next((folder / f"{name} state").glob("step-*/states.pt")) for name in ("some", "all")]
    assert states[0].stat().st_size < states[1].stat().st_size


def test_a_run_that_was_stopped_goes_on_with_the_same_words(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_examples("nli", folder)
    job = {"optimisation": Optimisation(**OPTIMISATION)}
    methods = METHODS["selection"]
    with pytest.MonkeyPatch.context() as patch:
        without_trimming(patch)
        finetuned(finetuning_job(folder, "nli", "nli", "all", **job), methods(folder))

    class StoppedAt(CrossEntropy):
        losses = 0

        def loss(self, model: Any, batch: Any, step_weight: float) -> torch.Tensor:
            StoppedAt.losses += 1
            if StoppedAt.losses == 9:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().loss(model, batch, step_weight)

    monkeypatch.setattr("mbert_atlas.tasks.base.Task.objective", StoppedAt)
    stopped = finetuning_job(folder, "nli", "nli", "some", **job)
    with pytest.raises(AtlasError, match="stopped by SIGTERM"):
        finetuned(stopped, methods(folder))
    assert finetuned(stopped, methods(folder)).resumptions == 1
    for file in ("predictions.parquet", "model/model.safetensors", "model/head.safetensors"):
        assert (folder / "some" / file).read_bytes() == (folder / "all" / file).read_bytes()


def test_an_encoder_knows_only_the_words_it_was_given(folder: Path) -> None:
    encoder, whole = (load_encoder(folder / "encoder").eval() for _ in range(2))
    trim(encoder, [np.array([7, 50, 7]), np.array([9])])
    some = encoder.get_input_embeddings()
    assert isinstance(some, SomeWords)
    assert some.kept.tolist() == [0, 7, 9, 50]  # 0 is the padding
    ids = torch.tensor([[50, 9, 7, 0]])
    assert torch.equal(encoder(ids).last_hidden_state, whole(ids).last_hidden_state)
    with pytest.raises(IndexError):
        encoder(torch.tensor([[8]]))


def test_vectors_of_an_odd_length_are_not_trimmed(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The optimiser and the norm take 16 numbers at a time; the last ones are another code."""
    encoder = load_encoder(toy_encoder(folder / "odd", dims=20))
    with caplog.at_level(logging.INFO):
        trim(encoder, [np.array([7])])
    assert "vectors of length 20" in caplog.text
    assert len(encoder.get_input_embeddings().weight) == len(NAMES)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU's optimiser rounds otherwise")
def test_products_are_what_the_optimiser_does() -> None:
    rows = torch.randn(64, 16, generator=torch.Generator().manual_seed(0))
    settings = Optimisation(**OPTIMISATION)
    for log in (TrainingLog(steps=300), TrainingLog(steps=300, epoch=2)):
        products, optimised = (by(rows.clone(), settings, log) for by in (multiply, optimise))
        assert torch.equal(products, optimised)
        # Rates rise from 0 to 5e-3 in 60 steps, then fall to 0 in 240.
        falling = 240 if log.epoch is None else 140
        area = 60 / 2 + falling * (1 + (1 - falling / 240)) / 2
        factor = (products / rows).numpy()
        assert factor == pytest.approx(np.exp(-0.1 * 5e-3 * area), rel=2e-3)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [16, 48, 384])
def test_the_norm_of_the_gradient_keeps_its_bits(size: int, threads: int) -> None:
    random = torch.Generator().manual_seed(0)
    words = nn.Embedding(4000, size)
    kept = torch.randperm(4000, generator=random)[:900].sort().values
    some, ids = SomeWords(words, kept), kept[torch.randint(900, (500,), generator=random)]
    factor = torch.randn(500, size, generator=random)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for module in (words, some):
            (module(ids) * factor).sum().backward()
            clip_gradients(module, 1.0)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(words.weight.grad[kept], some.weight.grad)
    assert words.weight.grad.norm() == pytest.approx(1, abs=1e-5)
