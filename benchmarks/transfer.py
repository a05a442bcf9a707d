"""How far does the little world's encoder transfer, by language, and what does each ingredient add?

Trains encoders as config/demo.yaml has it (the first seed is the one that ships), fine-tunes each
with two seeds on four tasks in English, and prints the mean over seeds by language: accuracy of
parts of speech and inference, F1 of entities (spans) and answers. Then, as multilinguality.py:
words (those of the dictionaries) and sentences found, languages told apart. Last the core-minutes
that pretraining took.

    python benchmarks/transfer.py             # three pretraining seeds
    python benchmarks/transfer.py ingredients # one epoch with everything, and without each

Everything lies in results/transfer; what is there is used again.
"""

from __future__ import annotations

import argparse
import copy
import csv
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mbert_atlas.analysis.multilinguality import measure_multilinguality
from mbert_atlas.analysis.transfer import Cell, measure_transfer
from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.miniature.languages import MINIATURE_LANGUAGES
from mbert_atlas.miniature.reference import dictionary

TARGETS = ("de", "fr", "ru", "bg", "hi", "ar", "zh", "tr")
LANGUAGES = ("en", *TARGETS)
SEEDS = (1, 2)
OPTIMISATION = {
    "optimiser": "adamw",
    "schedule": "linear",
    "warmup_fraction": 0.1,
    "batch_size": 16,
}
# name: kind of task, encoding, training set, test set, learning rate and epochs
TASKS = {
    "POS": ("tagging", "udpos", "udpos-train", "udpos-test", 5e-4, 2),
    "NLI": ("inference", "inference", "multinli", "xnli", 5e-4, 2),
    "NER": ("named_entities", "entities", "wikiann-train", "wikiann-test", 5e-4, 3),
    "QA": ("question_answering", "questions", "squad-train", "xquad", 1e-3, 2),
}
METRICS = {"POS": "accuracy", "NLI": "accuracy", "NER": "entity_f1", "QA": "f1"}
SHORT = {"pretraining": {"optimisation": {"epochs": 1}}}
SEEDED = {f"seed{seed}": {"seed": seed} for seed in (1, 2, 3)}
INGREDIENTS: dict[str, dict[str, Any]] = {
    "all": {},
    "no-aligned-start": {"aligned_start": None},
    "no-foreign-words": {},
    "masked-15": {"pretraining": {"masking_probability": 0.15}},
    "no-output-bias": {"pretraining": {"output_bias": "zero"}},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("seeds", "ingredients"), default="seeds")
    parser.add_argument("--only", nargs="+", help="some of the encoders")
    parser.add_argument("--cores", default="2")
    options = parser.parse_args()
    scratch = yaml.safe_load(Path("config/demo.yaml").read_text())["encoders"]["mbert"]["scratch"]
    changes = SEEDED if options.what == "seeds" else INGREDIENTS
    chosen = {name: changes[name] for name in options.only or changes}
    if options.what == "ingredients":
        scratch = merged(scratch, SHORT)
    scores = []
    for name, change in chosen.items():
        plain = name == "no-foreign-words"
        scores.append(measured(name, merged(scratch, change), plain, options.cores))
    frame = pd.concat(scores)
    table = frame.pivot_table(
        index=["encoder", "measure"], columns="language", values="value", sort=False
    )
    table = table[[language for language in LANGUAGES if language in table]]
    table["others"] = table[list(TARGETS)].mean(axis=1)
    print(table.round(1).to_string(na_rep=""))
    if options.what == "seeds":
        print("\nmean over pretraining seeds")
        print(table.groupby("measure", sort=False).mean().round(1).to_string(na_rep=""))


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a nested mapping with some values replaced."""
    whole = copy.deepcopy(dict(base))
    for key, value in change.items():
        inner = isinstance(value, dict) and isinstance(whole.get(key), dict)
        whole[key] = merged(whole[key], value) if inner else value
    return whole


def measured(name: str, scratch: dict[str, Any], plain: bool, cores: str) -> pd.DataFrame:
    """Train an encoder if need be, fine-tune it, and return all scores in percent."""
    run = "transfer-plain" if plain else "transfer"
    results = Path("results") / run
    overlay = Path("results") / f"{run}-{name}.yaml"
    overlay.parent.mkdir(exist_ok=True)
    families = {f"{task.lower()}-{name}": family(name, task) for task in TASKS}
    changes = {
        "run": run,
        "datasets": {
            test: {"languages": list(LANGUAGES)} for test in ("xnli", "wikiann-test", "xquad")
        },
        "encoders": {name: {"scratch": scratch}},
        "runs": families,
    }
    if plain:
        changes["miniature"] = {"sizes": {"foreign_words": 0.0}}
    overlay.write_text(yaml.safe_dump(changes))
    predictions = {
        (task, seed): results / f"runs/{task.lower()}-{name}/seed{seed}/predictions.parquet"
        for task in TASKS
        for seed in SEEDS
    }
    command = ["snakemake", "--profile", "local", "--cores", cores, "--quiet", "rules"]
    command += ["--configfile", "config/demo.yaml", str(overlay), "--"]
    subprocess.run([*command, *map(str, predictions.values())], check=True)
    folder = results / "encoders" / name
    encoder = next(path for path in (folder / "shipped", folder / "model") if path.is_dir())
    rows = [*task_scores(predictions, results), *inner_scores(encoder, results), *costs(folder)]
    return pd.DataFrame(rows, columns=["measure", "language", "value"]).assign(encoder=name)


def family(encoder: str, task: str) -> dict[str, Any]:
    """Return the runs of one encoder on one task."""
    _, encoding, train, test, rate, epochs = TASKS[task]
    return {
        "paper": "efimov2022",
        "encoder": encoder,
        "kind": "finetuning",
        "encoding": encoding,
        "train": train,
        "evaluate": {test: list(LANGUAGES)},
        "seeds": list(SEEDS),
        "published": {"optimisation": OPTIMISATION | {"learning_rate": rate, "epochs": epochs}},
    }


def task_scores(
    predictions: Mapping[tuple[str, int], Path], results: Path
) -> Iterator[tuple[str, str, float]]:
    """Yield the scores of the tasks by language, means over the seeds."""
    cells = [
        Cell(task, TASKS[task][0], TASKS[task][3], "en", language, "", "published", seed, str(path))
        for (task, seed), path in predictions.items()
        for language in LANGUAGES
    ]
    common = {"paper": "", "artifact": "", "model": ""}
    frame = measure_transfer(cells, results / "transfer.csv", **common)
    for task, metric in METRICS.items():
        some = frame[(frame.task == task) & (frame.metric == metric)]
        yield from (
            (task, lang, value) for lang, value in some.groupby("target").value.mean().items()
        )


def inner_scores(encoder: Path, results: Path) -> Iterator[tuple[str, str, float]]:
    """Yield what multilinguality.py measures, each in its best layer, in percent."""
    folder = results / "miniature/gold-alignments/XL-WA/data"
    gold = {name: read_gold(folder / name / "test.tsv", "xlwa") for name in TARGETS}
    words = {name: dictionary_of(name) for name in gold}
    scores = pd.DataFrame(measure_multilinguality(encoder, gold, words))
    for measure, some in scores.groupby("measure", sort=False):
        best = some.groupby("layer").value.mean().idxmax()
        shown = some[some.layer == best]
        yield from (
            (str(measure), language, 100 * value)
            for language, value in zip(shown.language, shown.value, strict=True)
        )


def dictionary_of(language: str) -> set[tuple[str, str]]:
    """Return the little world's dictionary: pairs of an English word and its translation."""
    rows = dictionary(MINIATURE_LANGUAGES["en"], MINIATURE_LANGUAGES[language])
    return {(row.split()[0], row.split()[1]) for row in rows}


def costs(folder: Path) -> Iterator[tuple[str, str, float]]:
    """Yield the CPU minutes of pretraining, if it was trained here."""
    file = Path(str(folder).replace("/encoders/", "/benchmarks/pretrain/") + ".tsv")
    if file.is_file():
        with file.open() as stream:
            for row in csv.DictReader(stream, delimiter="\t"):
                yield "core-minutes", "en", float(row["cpu_time"]) / 60


if __name__ == "__main__":
    main()
