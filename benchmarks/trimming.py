"""Fine-tuning with the word embeddings of a run's subwords against all of the vocabulary.

Two random encoders: 12 layers of 384 with 250,037 subwords (multilingual-e5-small), of which the
treebanks of a run on 17 languages have 72,592, and mBERT. Each job is a separate process: it
opens the encoder, takes steps of 1,024 subwords with AdamW, weight decay and clipping, saves the
state, and writes the whole encoder. Both take turns; their encoders have to be the same, byte by
byte. Printed are medians of the processor time of a step, of the peak memory of the process from
start to end and of the size of a saved state, and how long restoring absent rows takes.

    python benchmarks/trimming.py [--steps 10] [--encoders mBERT]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import common
import numpy as np
import torch
from transformers import BertModel

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.config.training import HeadOptions, Optimisation
from mbert_atlas.encoders.loading import load_encoder, save_encoder
from mbert_atlas.encoders.trimming import trim
from mbert_atlas.files import sha256_of
from mbert_atlas.tasks.base import CrossEntropy, EncoderWithHead
from mbert_atlas.tasks.text_classification import TextClassification, TextExamples
from mbert_atlas.training.loop import train
from mbert_atlas.training.method import Method
from mbert_atlas.training.trimming import restore_words

# Layers, dims, subwords of the vocabulary and of the data (mBERT's: a guess).
ENCODERS = {"12 x 384": (12, 384, 250_037, 72_592), "mBERT": (12, 768, 119_547, 40_000)}
ROWS, LENGTH = 16, 64
SHOWN = {"step": "CPU s a step", "memory": "MB of memory", "state": "MB of state"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=list(ENCODERS))
    parser.add_argument("--job", nargs=3, metavar=("FOLDER", "SUBWORDS", "WHICH"))
    options = common.parse(parser, steps=2, repeats=1, encoders=["12 x 384"])
    if options.job:
        folder, subwords, which = options.job
        print(json.dumps(run_job(Path(folder), int(subwords), which == "some", options.steps)))
        return
    for name in options.encoders:
        layers, hidden, vocabulary, needed = ENCODERS[name]
        if options.smallest:
            layers, hidden, vocabulary, needed = 1, 32, 3_000, 1_000
        print(f"{name}, {needed} of {vocabulary} subwords; threads: {torch.get_num_threads()}")
        with tempfile.TemporaryDirectory() as folder:
            model = BertModel(common.bert_config(layers, hidden, vocabulary))
            save_encoder(model, folder, Path(folder) / "encoder")
            del model
            compare(Path(folder), needed, options)


def compare(folder: Path, needed: int, options: argparse.Namespace) -> None:
    """Run both kinds of jobs in turns; print medians and their ratio."""
    measured: dict[str, list[dict[str, Any]]] = {"all": [], "some": []}
    for _ in range(options.repeats):
        for which, facts in measured.items():
            job = ["--job", str(folder), str(needed), which, "--steps", str(options.steps)]
            cost = common.watch([sys.executable, __file__, *job], folder, folder / "printed")
            printed = (folder / "printed").read_text()
            if cost.status:
                sys.exit(printed)
            facts.append({**json.loads(printed.splitlines()[-1]), "memory": cost.memory})
    if len({facts["sha256"] for each in measured.values() for facts in each}) > 1:
        sys.exit("the encoders differ")
    for key, title in SHOWN.items():
        whole, some = (median(facts[key] for facts in measured[which]) for which in ("all", "some"))
        print(f"{title:14}{whole:10.3f}{some:10.3f}   ratio {whole / some:.2f}")
    restoring = median(facts["restoring"] for facts in measured["some"])
    print(f"restoring the other rows after 1,000 steps: {restoring:.1f} CPU s\n", flush=True)


class Clock(Method):
    """Notes the time in every step."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def add_gradients(self, model: Any, step: int) -> None:
        """Note the processor time; add nothing."""
        self.times.append(time.process_time())


def run_job(folder: Path, needed: int, is_trimmed: bool, steps: int) -> dict[str, Any]:
    """Train and write an encoder; return what it took, and the digest of its weights."""
    random, state = np.random.default_rng(0), folder / "state"
    vocabulary = load_encoder(folder / "encoder").config.vocab_size
    subwords = random.choice(vocabulary, needed, replace=False)
    rows = Ragged.from_rows(random.choice(subwords, (steps * ROWS, LENGTH)), np.int32)
    labels = random.integers(0, 3, len(rows))
    store = TokenStore({"input_ids": rows, "labels": labels}, {"pad_id": 0})

    def trained(count: int, **changes: Any) -> tuple[Any, Clock, Any]:
        """Train on the first rows, saving a state if that is due."""
        encoder, clock = load_encoder(folder / "encoder"), Clock()
        torch.manual_seed(0)
        model = EncoderWithHead(encoder, 3, TextClassification(), HeadOptions())
        if is_trimmed:
            trim(encoder, [subwords])
        examples = TextExamples(store, np.arange(count))
        options = {"seed": 1, "state_dir": state, "description": "benchmark", "methods": [clock]}
        settings = optimisation.model_copy(update=changes)
        return encoder, clock, train(model, examples, CrossEntropy(), settings, **options)

    optimisation = Optimisation(weight_decay=0.01, clip_norm=1.0, batch_size=ROWS, epochs=1)
    trained(ROWS, checkpoint_seconds=1e-9)  # one step, which saves its state
    size = next(state.glob("step-*/states.pt")).stat().st_size / 1e6
    shutil.rmtree(state)
    encoder, clock, log = trained(len(rows), checkpoint_seconds=1e9)
    words = encoder.get_input_embeddings()
    seconds = []
    for of_run in (replace(log, steps=1_000), log):
        encoder.set_input_embeddings(words)
        initial = load_encoder(folder / "encoder")
        start = common.now()
        restore_words(encoder, initial, optimisation, of_run)
        seconds.append(common.now().since(start).processor)
        del initial  # else the peak would have both
    save_encoder(encoder, folder, folder / "written")
    return {
        "step": median(np.diff(clock.times)),
        "state": size,
        "restoring": seconds[0],
        "sha256": sha256_of(folder / "written/model.safetensors"),
    }


if __name__ == "__main__":
    main()
