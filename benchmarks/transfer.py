"""How far does a preset's encoder transfer, by language, and what does each ingredient add?

Pretrains encoders as in the preset (the demo's first seed is the one that ships), fine-tunes each
with two seeds on four tasks in English, and prints the mean over these seeds by language: accuracy
of POS tagging and NLI, span F1 of NER, F1 of QA. Then, as multilinguality.py, each in its best
layer: word and sentence retrieval, language identification. Last the core-minutes of pretraining.
Settings are chosen on another sample of the synthetic data (same languages, other texts), so that
the measured one stays unseen.

    python benchmarks/transfer.py                  # the demo, three pretraining seeds
    python benchmarks/transfer.py --compare ingredients  # the demo, one epoch, without each
    python benchmarks/transfer.py --compare epochs  # the demo, by the number of epochs
    python benchmarks/transfer.py --preset small-scratch --mirror DIR

Results are in results/transfer-PRESET and are reused.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import common
import pandas as pd
import yaml
from multilinguality import FRACTIONS, measure_multilinguality, read_dictionary

from mbert_atlas.analysis.transfer import measure_transfer
from mbert_atlas.cells import Cell
from mbert_atlas.config.merging import merge
from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
from mbert_atlas.miniature.texts import dictionary
from mbert_atlas.papers import names

SEEDS = (1, 2)
OPTIMISATION = {"schedule": "linear", "warmup_fraction": 0.1, "batch_size": 16}
# name: kind of task, encoding, training set, test set, metric, learning rate and epochs
TASKS = {
    "POS": ("tagging", "udpos", "udpos-train", "udpos-test", "accuracy", 5e-4, 2),
    "NLI": ("nli", "inference", "multinli", "xnli", "accuracy", 5e-4, 2),
    "NER": ("ner", "entities", "wikiann-train", "wikiann-test", "entity_f1", 5e-4, 3),
    "QA": ("qa", "questions", "squad-train", "xquad", "f1", 1e-3, 2),
}
SYNTHETIC = ["en", "de", "fr", "ru", "bg", "hi", "ar", "zh", "tr"]
REAL = ["en", "de", "es", "fr", "ru", "bg", "hi", "tr", "vi"]
# The config files of each preset; the last one has its encoder.
CONFIGS = {
    "demo": ["config/demo.yaml"],
    "small-scratch": ["config/small.yaml", "config/small-scratch.yaml"],
}
# preset -> test set -> languages; those of `gold` have gold alignments
LANGUAGES = {
    "demo": dict.fromkeys(("udpos-test", "xnli", "wikiann-test", "xquad"), SYNTHETIC)
    | {"gold": SYNTHETIC[1:]},
    "small-scratch": dict.fromkeys(("udpos-test", "xnli", "wikiann-test"), REAL)
    | {"gold": ["es", "ru", "bg"]},
    "smallest": {"xnli": ["en", "ru"], "gold": ["ru"]},
}
TINY = {"vocabulary_size": 600, "alphabet_size": 150, "hidden_size": 16, "layers": 1, "heads": 2}
# For --smallest: an encoder too small to learn anything, of two languages
SMALLEST: dict[str, dict[str, Any]] = {
    "smallest": {
        "languages": ["en", "ru"],
        "aligned_start": None,
        "shipped": None,
        "pretraining": TINY | {"intermediate_size": 16, "optimisation": {"epochs": 1}},
    }
}
ONE_EPOCH: dict[str, Any] = {"pretraining": {"optimisation": {"epochs": 1}}}
# comparison -> encoder -> how its training differs from the preset's
COMPARED: dict[str, dict[str, dict[str, Any]]] = {
    "seeds": {f"seed{seed}": {"seed": seed} for seed in (1, 2, 3)},
    "ingredients": {
        "all": ONE_EPOCH,
        "no-aligned-start": ONE_EPOCH | {"aligned_start": None},
        "no-foreign-words": ONE_EPOCH,
        "masked-15": merge(ONE_EPOCH, {"pretraining": {"masking_probability": 0.15}}),
        "no-output-bias": merge(ONE_EPOCH, {"pretraining": {"output_bias": "zero"}}),
    },
    "epochs": {f"epochs{n}": {"pretraining": {"optimisation": {"epochs": n}}} for n in (1, 2, 3)},
}
# encoder, or comparison -> other synthetic data: suffix of the run's name, changes of the config
WORLDS = {
    "no-foreign-words": ("-plain", {"sizes": {"foreign_words": 0.0}}),
    "epochs": ("-development", {"seed": 2}),
    "smallest": (
        "-smallest",
        {"sizes": dict.fromkeys(MiniatureSizes.model_fields, 30) | FRACTIONS},
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", choices=tuple(CONFIGS), default="demo")
    parser.add_argument("--compare", choices=tuple(COMPARED), default="seeds")
    parser.add_argument("--only", nargs="+", help="some of the encoders")
    parser.add_argument("--mirror", type=Path, help="folder with upstream files, for small-scratch")
    parser.add_argument("--cores", default="2")
    options = common.parse(parser, only=["smallest"])
    preset = yaml.safe_load(Path(CONFIGS[options.preset][-1]).read_text())
    scratch = preset["encoders"]["mbert"]["scratch"]
    changes = COMPARED[options.compare] | SMALLEST
    default = ["seed1"] if options.preset == "small-scratch" else list(COMPARED[options.compare])
    frame = pd.concat(
        measured(name, merge(scratch, changes[name]), options) for name in options.only or default
    )
    order = languages_of(options)["xnli"]
    index = ["encoder", "measure"]
    table = frame.pivot_table(index=index, columns="language", values="value", sort=False)[order]
    table["others"] = table[order[1:]].mean(axis=1)
    print(table.round(1).to_string(na_rep=""))
    if len(table.index.unique("encoder")) > 1 and options.compare == "seeds":
        print("\nmean over pretraining seeds")
        print(table.groupby("measure", sort=False).mean().round(1).to_string(na_rep=""))


def languages_of(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the languages of every test set that is measured."""
    return LANGUAGES["smallest" if options.smallest else options.preset]


def measured(name: str, scratch: dict[str, Any], options: argparse.Namespace) -> pd.DataFrame:
    """Train an encoder if need be, fine-tune it, and return all scores in percent."""
    languages = languages_of(options)
    tasks = [task for task in TASKS if TASKS[task][3] in languages]
    seeds = SEEDS[:1] if options.smallest else SEEDS
    suffix, miniature = WORLDS.get(name) or WORLDS.get(options.compare) or ("", {})
    run = f"transfer-{options.preset}{suffix}"
    restricted = [test for test in ("wikiann-test", "xquad") if test in languages]
    changes: dict[str, Any] = {
        "run": run,
        "encoders": {name: {"scratch": scratch, "allow_unknown": options.smallest}},
        "datasets": {test: {"languages": languages[test]} for test in restricted},
        "runs": {f"{task.lower()}-{name}": family(name, task, languages, seeds) for task in tasks},
    }
    if options.preset == "demo":
        changes["miniature"] = miniature
        if not options.smallest:
            changes["datasets"]["xnli"] = {"languages": languages["xnli"]}
    results = Path("results") / run
    overlay = Path(f"{results}-{name}.yaml")
    overlay.parent.mkdir(exist_ok=True)
    overlay.write_text(yaml.safe_dump(changes))
    predictions = {
        (task, seed): results / f"runs/{task.lower()}-{name}/seed{seed}/predictions.parquet"
        for task in tasks
        for seed in seeds
    }
    command = [sys.executable, "-m", "snakemake", "--profile", "local", "--cores", options.cores]
    command += ["--quiet", "rules"]
    command += ["--configfile", *CONFIGS[options.preset], str(overlay)]
    command += ["--config", f"mirror={options.mirror.absolute()}"] if options.mirror else []
    subprocess.run([*command, "--", *map(str, predictions.values())], check=True)
    folder = results / "encoders" / name
    encoder = next(path for path in (folder / "shipped", folder / "model") if path.is_dir())
    rows = [
        *task_scores(predictions, languages),
        *inner_scores(encoder, languages["gold"], options.mirror or results / "miniature"),
        *costs(results / f"benchmarks/pretrain/{name}.tsv"),
    ]
    return pd.DataFrame(rows, columns=["measure", "language", "value"]).assign(encoder=name)


def family(
    encoder: str, task: str, languages: Mapping[str, list[str]], seeds: Sequence[int]
) -> dict[str, Any]:
    """Return the runs of one encoder on one task."""
    _, encoding, train, test, _, rate, epochs = TASKS[task]
    return {
        "paper": names()[0],  # whichever: it decides only to which paper the cost is attributed
        "encoder": encoder,
        "kind": "finetuning",
        "encoding": encoding,
        "train": train,
        "evaluate": {test: languages[test]},
        "seeds": list(seeds),
        "published": {"optimisation": OPTIMISATION | {"learning_rate": rate, "epochs": epochs}},
    }


def task_scores(
    predictions: Mapping[tuple[str, int], Path], languages: Mapping[str, list[str]]
) -> Iterator[tuple[str, str, float]]:
    """Yield the scores of the tasks by language, means over the seeds."""
    cells = [
        Cell(
            task=task,
            kind=TASKS[task][0],
            dataset=TASKS[task][3],
            source="en",
            language=language,
            protocol="published",
            seed=seed,
            path=str(path),
        )
        for (task, seed), path in predictions.items()
        for language in languages[TASKS[task][3]]
    ]
    frame = pd.DataFrame(measure_transfer(cells))
    for task in dict.fromkeys(task for task, _ in predictions):
        some = frame[(frame.task == task) & (frame.metric == TASKS[task][4])]
        means = some.groupby("target").value.mean()
        yield from ((task, str(language), value) for language, value in means.items())


def inner_scores(
    encoder: Path, languages: Iterable[str], upstream: Path
) -> Iterator[tuple[str, str, float]]:
    """Yield what multilinguality.py measures, each in its best layer, in percent."""
    folder = upstream / "gold-alignments/XL-WA/data"
    gold = {name: read_gold(folder / name / "test.tsv", "xlwa") for name in languages}
    words = {name: pairs_of(name, upstream) for name in gold}
    scores = pd.DataFrame(measure_multilinguality(encoder, gold, words))
    for measure, some in scores.groupby("measure", sort=False):
        best = some.groupby("layer").value.mean().idxmax()
        best_rows = some[some.layer == best]
        yield from (
            (str(measure), language, 100 * value)
            for language, value in zip(best_rows.language, best_rows.value, strict=True)
        )


def pairs_of(language: str, upstream: Path) -> set[tuple[str, str]]:
    """Return pairs of an English word and its translation, from MUSE or the synthetic data."""
    path = upstream / f"muse/dictionaries/en-{language}.txt.xz"
    if path.is_file():
        return read_dictionary(path)
    rows = dictionary(MINIATURE_LANGUAGES["en"], MINIATURE_LANGUAGES[language])
    return {(row.split()[0], row.split()[1]) for row in rows}


def costs(file: Path) -> Iterator[tuple[str, str, float]]:
    """Yield the CPU minutes of pretraining, if it was trained here."""
    if file.is_file():
        with file.open() as stream:
            for row in csv.DictReader(stream, delimiter="\t"):
                yield "core-minutes", "en", float(row["cpu_time"]) / 60


if __name__ == "__main__":
    main()
