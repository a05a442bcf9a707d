"""Several processes of one job: the same training, one word of a mistake, one stop."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_models import make_tokenizer

from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.errors import AtlasError
from mbert_atlas.training.loop import _Run
from mbert_atlas.training.pretraining import make_encoder
from mbert_atlas.training.processes import in_processes


def job(folder: Path, name: str, epochs: int = 3) -> dict[str, Any]:
    """An encoder with dropout, steps of eight rows in several micro-batches."""
    optimisation = {"learning_rate": 1e-3, "batch_size": 8, "token_budget": 16, "epochs": epochs}
    optimisation |= {"weight_decay": 0.1, "clip_norm": 1.0, "warmup_fraction": 0.2}
    sizes = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "positions": 32}
    sizes["max_length"] = 32
    return {
        "scratch": {
            "pretraining": {**sizes, "optimisation": optimisation, "seeded_by": "micro_batch"},
            "seed": 1,
        },
        "changed": None,
        "tokenizer": str(folder / "tokenizer"),
        "tokens": str(folder / "store"),
        "output": str(folder / name),
        "state": str(folder / f"{name}-state"),
        "start": None,
    }


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    tokenizer = make_tokenizer(tmp_path)
    texts = ["the cat sees a dog", "a b", "the dog , the cat", "dog", "你 好 - 你"] * 8
    encode_texts({"en": texts}, tokenizer, tmp_path / "store", max_length=8)
    return tmp_path


def make_slowly(**arguments: Any) -> None:
    """Make an encoder where saving a state takes longer than a failed process is waited for."""
    save = _Run.save

    def slow(run: _Run) -> str:
        time.sleep(4 * run.accelerator.is_main_process)
        return save(run)

    _Run.save = slow  # type: ignore[method-assign]
    make_encoder(**arguments)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def test_two_processes_train_as_one_does(
    texts: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    in_processes(2, make_encoder, on_cpu=True, **job(texts, "two"))
    with caplog.at_level(logging.INFO):
        in_processes(1, make_encoder, **job(texts, "one"))
    losses = [
        [line.partition("mean loss ")[2][:6] for line in said.splitlines() if "mean loss" in line]
        for said in (capfd.readouterr().err, caplog.text)
    ]
    assert len(losses[1]) == 3
    assert losses[0] == losses[1]
    one, two = weights(texts / "one"), weights(texts / "two")
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-4, atol=1e-5)


def test_a_mistake_is_one_sentence(texts: Path) -> None:
    wrong = job(texts, "wrong")
    encode_texts({"en": ["a b"]}, texts / "tokenizer", texts / "long", max_length=64)
    wrong["tokens"] = str(texts / "long")
    with pytest.raises(AtlasError, match="rows of 64 tokens exceed the 32 positions"):
        in_processes(2, make_encoder, on_cpu=True, **wrong)
    assert not (texts / "wrong").exists()


def test_a_stop_loses_nothing(texts: Path) -> None:
    long = job(texts, "stopped", epochs=30)
    program = (
        "import json, pkgutil, sys\n"
        "from mbert_atlas.errors import AtlasError\n"
        "from mbert_atlas.training import processes\n"
        "processes._PATIENCE = 1\n"
        "try:\n"
        "    function = pkgutil.resolve_name(sys.argv[1])\n"
        "    processes.in_processes(2, function, on_cpu=True, **json.loads(sys.argv[2]))\n"
        "except AtlasError as error:\n"
        "    print('stopped:', error)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, f"{__name__}:make_slowly", json.dumps(long)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stderr is not None
    for line in parent.stderr:
        if "epoch 2 of 30: mean loss" in line:
            break
    parent.send_signal(signal.SIGTERM)
    said, _ = parent.communicate(timeout=60)
    assert "stopped: pretraining: stopped by SIGTERM after step" in said
    assert "resumes from it" in said
    (state,) = (texts / "stopped-state").glob("step-*")
    assert 10 <= int(state.name.removeprefix("step-")) < 150
    in_processes(2, make_encoder, on_cpu=True, **long)
    in_processes(1, make_encoder, **job(texts, "undisturbed", epochs=30))
    one, two = weights(texts / "undisturbed"), weights(texts / "stopped")
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-3, atol=1e-3)
