"""Operations of jobs: what the time of models and of matrix products is proportional to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mbert_atlas.plan.paths import path
from mbert_atlas.plan.runs import Run
from mbert_atlas.plan.volumes import Volume, Volumes

_STEP = 3.0  # a training step, in forward passes: the backward pass costs two
_ADJUSTMENT = 3.5  # the original encodes the English side as well


@dataclass(frozen=True)
class JobInputs:
    """What is known of a job before it runs: rule, wildcards, inputs, parameters."""

    rule: str
    wildcards: Mapping[str, str]
    inputs: Sequence[str]
    params: Any


def model_operations(job: JobInputs, volumes: Volumes) -> float | None:
    """Return the operations of a job that runs a model; none for one that runs none."""
    plan = volumes.plan
    if job.rule == "finetune":
        return _finetuning(plan.runs[job.wildcards["run"]], volumes)
    if job.rule == "adjust":
        return _adjustment(plan.runs[job.wildcards["run"]], volumes)
    if job.rule == "pretrain":
        return _pretraining(job.wildcards["encoder"], volumes)
    shapes = [volumes.shape(model) for item in job.inputs if (model := volumes.model(item))]
    stores = [item for item in job.inputs if (volumes.parse(item) or ("", {}))[0] in _STORES]
    if not shapes or not stores:
        return None
    shift, weights = job.params.get("shift"), job.params.get("weights")
    total = 0.0
    for shape in shapes:
        for store in stores:
            volume = volumes.store(store)
            if shift:  # each weight runs the layers above the shifted one again
                volume *= _share(store, shift["languages"], volumes)
                above = len(shift["weights"]) * (1 - shift["layer"] / shape.layers)
                total += shape.forward(volume) * above
            if weights:  # at each of several layers, with the means of both protocols
                above = sum(1 - layer / shape.layers for layer in job.params["layers"])
                heads = shape.heads(volume) * len(job.params["layers"])
                total += 2 * len(weights) * (shape.forward(volume) * above + heads)
            total += shape.forward(volume)
    return total


_STORES = ("examples", "pairs", "pretraining_tokens", "parallel_tokens", "contexts")


def matrix_operations(job: JobInputs, volumes: Volumes) -> float | None:
    """Return the operations of a job that runs no model but multiplies matrices; else none."""
    config, wildcards = volumes.config, job.wildcards
    if job.rule == "retrieve_words":  # cosines of all words with all, centred and not
        words = volumes.dataset(wildcards["dictionary"], [wildcards["language"]]).examples
        shape = volumes.shape(wildcards["vectors"])
        return 4 * words**2 * shape.width * (shape.layers + 1)
    if job.rule == "train_static_vectors":  # each subword with its window, forwards and backwards
        options = config.static_vectors[wildcards["static"]]
        store = volumes.plan.resolved(path("pretraining_tokens", encoder=options.encoder))
        return 6 * volumes.store(store).subwords * options.epochs * options.window * options.dims
    if job.rule == "classify_with_static_vectors":
        static, options = config.static_vectors[wildcards["static"]], job.params["network"]
        family: Any = config.runs[wildcards["family"]]
        pairs = volumes.dataset(family.train).examples
        return float(6 * pairs * options["epochs"] * 4 * static.dims * options["hidden_size"])
    return None


def speed_class(job: JobInputs, volumes: Volumes) -> str:
    """Return the name of jobs of the same speed: their rule, and the method or kind of corpus."""
    if job.rule == "train_static_vectors":
        return f"{job.rule}.{volumes.config.static_vectors[job.wildcards['static']].method}"
    if job.rule.startswith(("read_corpus", "derive_dataset")):
        return f"{job.rule}.{volumes.config.datasets[job.wildcards['dataset']].corpus}"
    if job.rule == "measure_large":
        return volumes.plan.measurements[job.wildcards["measurement"]].resources
    return job.rule.removesuffix("_draw")  # draws of a search train as other runs do


def _finetuning(run: Run, volumes: Volumes) -> float:
    item, own = run.specification, run.specification["hyperparameters"]
    shape, epochs = volumes.shape(run.base), float(own["optimisation"]["epochs"])
    once = shape.forward(_examples(run, item["train"], item.get("train_languages"), volumes))
    is_frozen = own.get("trained_layers") == "none"
    passes = (1.0 if is_frozen else _STEP) + volumes.plan.method_passes(run)
    tests = [_examples(run, name, codes, volumes) for name, codes in item["evaluate"].items()]
    return once * passes * epochs + sum(map(shape.forward, tests))


def _examples(run: Run, dataset: str, languages: Any, volumes: Volumes) -> Volume:
    store = volumes.plan.resolved(volumes.plan.examples(run, dataset))
    share = 1.0 if languages is None else _share(store, languages, volumes)
    return volumes.store(store) * share


def _share(store: str, languages: Sequence[str], volumes: Volumes) -> float:
    """Return the fraction of a store's examples that is in some languages."""
    parsed = volumes.parse(store)
    codes = volumes.config.datasets[parsed[1]["dataset"]].languages if parsed else languages
    return len(set(languages) & set(codes)) / len(codes)


def _adjustment(run: Run, volumes: Volumes) -> float:
    options = run.specification["hyperparameters"]
    pairs = volumes.store(volumes.plan.resolved(volumes.plan.pairs(run)))
    share = min(options["sentences"], pairs.examples) / max(pairs.examples, 1)
    sides = pairs * (share * 2 * options["optimisation"]["epochs"])
    return volumes.shape(run.base).forward(sides) * _ADJUSTMENT


def _pretraining(name: str, volumes: Volumes) -> float:
    options, shape = volumes.plan.pretraining(name), volumes.shape(name)
    texts = volumes.store(volumes.plan.resolved(path("pretraining_tokens", encoder=name)))
    budget = options.get("pieces")
    passes = budget / max(texts.subwords, 1) if budget else options["optimisation"]["epochs"]
    seen = texts * passes
    return _STEP * (shape.forward(seen) + shape.heads(seen * options["masking_probability"]))
