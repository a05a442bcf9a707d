"""The work of jobs, Snakemake's: operations of models and matrix products."""

from typing import Any

from mbert_atlas.config.methods import methods_in
from mbert_atlas.plan.volumes import Volumes

_STEP = 3.0  # a training step, in forward passes: the backward pass costs two
_ADJUSTMENT = 3.5  # the original encodes the English side as well


def operations(job: Any, volumes: Volumes) -> float | None:
    """Return the operations of a job that runs a model or multiplies matrices; else none."""
    config, wildcards = volumes.config, job.wildcards_dict
    match job.rule.name:
        case "finetune" | "finetune_unsaved":
            return _finetuning(job, volumes)
        case "adjust":
            return _adjustment(job, volumes)
        case "pretrain":
            return _pretraining(job, volumes)
        case "fit_head":  # the encoder runs once, and so do its output embeddings backwards
            options, shape = job.params["training"], volumes.shape(wildcards["encoder"])
            seen = volumes.store(str(job.input.tokens)) * options["optimisation"]["epochs"]
            heads = shape.heads(seen * options["masking_probability"])
            return shape.forward(seen) + 2 * heads
        case "retrieve_words":  # cosines of all words with all, centred and not
            words = volumes.table(str(job.input.dictionary)).examples
            shape = volumes.shape(wildcards["vectors"])
            return 4 * words**2 * shape.width * (shape.layers + 1)
        case "train_static_vectors":  # each subword with its window, forwards and backwards
            options, tokens = config.static_vectors[wildcards["static"]], str(job.input.tokens)
            subwords = volumes.store(tokens).subwords
            return 6 * subwords * options.epochs * options.window * options.dims
        case "classify_with_static_vectors":
            dims, network = config.static_vectors[wildcards["static"]].dims, job.params["network"]
            pairs = volumes.store(str(job.input.train)).examples
            return float(6 * pairs * network["epochs"] * 4 * dims * network["hidden_size"])
    return _encoding(job, volumes)


def training_steps(job: Any, volumes: Volumes) -> float:
    """Return the steps of an adjustment or a fine-tuning, with those of its method's data.

    Of pretraining none: the time of its large steps is that of their operations.
    """
    rule, passes = job.rule.name.removesuffix("_unsaved"), 1.0
    if rule not in ("adjust", "finetune"):
        return 0.0
    item = volumes.plan.runs[job.wildcards_dict["run"]].specification
    options = item["hyperparameters"]
    if rule == "adjust":
        examples = min(options["sentences"], volumes.store(str(job.input.pairs)).examples)
    else:
        examples = volumes.store(str(job.input.train), item.get("train_languages")).examples
        passes = _passes(options) / _STEP
    optimisation = options["optimisation"]
    return float(passes * examples * optimisation["epochs"] / optimisation["batch_size"])


def _encoding(job: Any, volumes: Volumes) -> float | None:
    """Return the operations of all models of a job on all its texts, if it has both."""
    # The folder of a tokenizer is no model that runs.
    read = [str(path) for path in job.input if path != job.input.get("tokenizer")]
    shapes = [shape for shape in map(volumes.model, read) if shape]
    stores = [path for path in read if volumes.is_store(path)]
    if not shapes or not stores:
        return None
    shift, weights = job.params.get("shift"), job.params.get("weights")
    total = 0.0
    for shape in shapes:
        for store in stores:
            volume = volumes.store(store)
            if shift:  # each weight runs the layers above the shifted one again
                volume = volumes.store(store, shift["languages"])
                # by the difference of means and, as a control, by a random vector
                above = 2 * len(shift["weights"]) * (1 - shift["layer"] / shape.layers)
                total += shape.forward(volume) * above
            if weights:  # at each of several layers, with the means of both protocols
                control = len(job.params["seeds"]) * [*job.params["random_layers"]]
                layers = [*job.params["layers"], *control]
                above = sum(1 - layer / shape.layers for layer in layers)
                heads = shape.heads(volume) * len(layers)
                total += 2 * len(weights) * (shape.forward(volume) * above + heads)
            total += shape.forward(volume)
    return total


def speed_class(job: Any, volumes: Volumes) -> str:
    """Return the name of jobs of the same speed: their rule, and the method or kind of corpus."""
    rule: str = job.rule.name
    if rule == "train_static_vectors":
        return f"{rule}.{volumes.config.static_vectors[job.wildcards_dict['static']].method}"
    if rule.startswith(("read_corpus", "derive_dataset")):
        return f"{rule}.{volumes.config.datasets[job.wildcards_dict['dataset']].corpus}"
    if rule == "measure_large":
        return volumes.plan.measurements[job.wildcards_dict["name"]].resources
    return rule.removesuffix("_unsaved")  # these train as others do


def _finetuning(job: Any, volumes: Volumes) -> float:
    run = volumes.plan.runs[job.wildcards_dict["run"]]
    item, own = run.specification, run.specification["hyperparameters"]
    shape, epochs = volumes.shape(run.base), float(own["optimisation"]["epochs"])
    train = volumes.store(str(job.input.train), item.get("train_languages"))
    tests = zip(map(str, job.input.evaluate), item["evaluate"].values(), strict=True)
    predicted = [shape.forward(volumes.store(path, codes)) for path, codes in tests]
    return shape.forward(train) * _passes(own) * epochs + sum(predicted)


def _passes(hyperparameters: Any) -> float:
    """Return the forward passes that a training example costs, those of the methods included."""
    passes = 1.0 if hyperparameters.get("trained_layers") == "none" else _STEP
    size = hyperparameters["optimisation"]["batch_size"]
    return passes + sum(method.passes(size) for method in methods_in(hyperparameters).values())


def _adjustment(job: Any, volumes: Volumes) -> float:
    run = volumes.plan.runs[job.wildcards_dict["run"]]
    options, pairs = run.specification["hyperparameters"], volumes.store(str(job.input.pairs))
    share = min(options["sentences"], pairs.examples) / max(pairs.examples, 1)
    sides = pairs * (share * 2 * options["optimisation"]["epochs"])
    return volumes.shape(run.base).forward(sides) * _ADJUSTMENT


def _pretraining(job: Any, volumes: Volumes) -> float:
    name = job.wildcards_dict["encoder"]
    options, shape = volumes.plan.pretraining(name), volumes.shape(name)
    texts, budget = volumes.store(str(job.input.tokens)), options.get("pieces")
    passes = budget / max(texts.subwords, 1) if budget else options["optimisation"]["epochs"]
    seen = texts * passes
    return _STEP * (shape.forward(seen) + shape.heads(seen * options["masking_probability"]))
