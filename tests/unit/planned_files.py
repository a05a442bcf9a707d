"""Made-up files in place of those that a plan names, minimal but well-formed.

Each has what the plan says of its content (languages, test sets, layers, hyperparameters), so that
measures find in it the numbers that they would find in the real one, with other values. Kinds of
files that only one paper has are in ``tests/papers/<paper>/planned_files.py``.
"""

import pickle
import re
import runpy
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from configs import LANGUAGES, ROOT
from once import once

from mbert_atlas import papers, schemas
from mbert_atlas.analysis.distances import summarise
from mbert_atlas.analysis.measurements import resamples_path, write_measurements
from mbert_atlas.analysis.scoring import scoring_of
from mbert_atlas.arrays import save_arrays
from mbert_atlas.cells import Cell, as_values, files_of, with_files
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.plan.paths import PATHS
from mbert_atlas.plan.plan import Plan
from mbert_atlas.registry import resolve

Content = pa.Table | dict[str, Any] | tuple[dict[str, Any], dict[str, Any]]
"""A Parquet table, JSON, or the arrays and facts of a token store."""
WRITERS: dict[str, Callable[..., Content]] = {}
"""By pattern of a path: what returns the content, from the plan and the wildcards."""
LAYERS = range(13)
"""Of BERT, 0 the embeddings."""
_TAGS = {"ner": ["B-PER", "O"]}


def writes(pattern: str) -> Callable[[Callable[..., Content]], Callable[..., Content]]:
    """Register what returns the content of files of a pattern, as in ``PATHS``."""

    def register(function: Callable[..., Content]) -> Callable[..., Content]:
        WRITERS[pattern] = function
        return function

    return register


def table(schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return rows of which only some columns are given; the others get values of their type."""
    examples = [{field.name: _example(field.type, place) for field in schema} for place in range(2)]
    filled = [examples[number % 2] | row for number, row in enumerate(rows)]
    return pa.Table.from_pylist(filled, schema=schema)


def _example(kind: pa.DataType, place: int) -> Any:
    if pa.types.is_list(kind):
        return [_example(kind.value_type, inner) for inner in range(2)]
    if pa.types.is_string(kind):
        return "xy"[place]
    if pa.types.is_boolean(kind):
        return False
    return 0.5 if pa.types.is_floating(kind) else 1


def _wrong(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return [_wrong(kind.value_type)] * 2
    return "O" if pa.types.is_string(kind) else 0


class PlannedFiles:
    """The files of a plan, in a folder, made when they are needed."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        """Several processes may share the folder, of which only the first makes measurements."""
        self.plan, self.folder = plan, folder
        self._contents = Path(tempfile.mkdtemp(dir=folder))
        self._places: dict[str, str] = {}
        self._by_content: dict[bytes, str] = {}
        for file in sorted((ROOT / "tests/papers").glob("*/planned_files.py")):
            runpy.run_path(str(file))

    def __call__(self, path: str) -> str:
        """Return the file in place of a planned one; those of equal content are one file."""
        if path not in self._places:
            self._places[path] = self._make(path)
        return self._places[path]

    def measurement(self, key: str) -> Path:
        """Run a measurement as its job does, on the first seed of every cell, and write it.

        All seeds of a cell have the same files and give the same numbers.
        """
        output = self.folder / f"{key.replace('/', '.')}.csv"
        if output.exists():
            return output
        record = self.plan.measurements[key]
        paper, artifact = self.plan.artifact_of[key]
        cells = _first_seeds(record.cells())
        cells = with_files(as_values(cells), list(map(self, files_of(cells))))
        rows = resolve(record.measure)(cells, **record.options())
        columns = {"paper": paper, "artifact": artifact.name, **record.columns}
        write_measurements(rows, output, **columns)
        return output

    def _make(self, path: str) -> str:
        for kind in ("measurement", "resamples"):
            if match := _expression(PATHS[kind]).fullmatch(path):
                made = self.measurement("/".join(match.groups()))
                return str(made if kind == "measurement" else resamples_path(made))
        for pattern, function in WRITERS.items():
            if match := _expression(pattern).fullmatch(path):
                content = function(self.plan, **match.groupdict())
                break
        else:
            raise KeyError(f"no function in {__name__}.WRITERS returns the content of {path}")
        key = pickle.dumps(content)
        if key not in self._by_content:
            self._by_content[key] = str(self._contents / f"{len(self._by_content)}")
            _write(content, Path(self._by_content[key]))
        return self._by_content[key]


def paper_preset(factory: pytest.TempPathFactory) -> PlannedFiles:
    """The files of the paper preset, with all measurements."""
    plan = Plan(papers.load([], ROOT), LANGUAGES, home=ROOT)

    def make(folder: Path) -> None:
        files = PlannedFiles(plan, folder)
        for key in plan.measurements:
            files.measurement(key)

    return PlannedFiles(plan, once(factory, "paper-preset", make))


def _first_seeds(cells: Sequence[Cell]) -> list[Cell]:
    kept: dict[Cell, Cell] = {}
    for cell in cells:
        others = cell if cell.seed is None else replace(cell, seed=None, path="", paths={})
        kept.setdefault(others, cell)
    return list(kept.values())


def _expression(pattern: str) -> re.Pattern[str]:
    wide = {"features": "[^/]+/[^/]+", "distances": "[^/]+/[^/]+", "model": ".+", "head": ".+"}
    wide["aligner"] = r"(?:\.[a-z_]+)?"
    parts = re.split(r"\{(\w+)\}", pattern)
    return re.compile(
        "".join(
            f"(?P<{part}>{wide.get(part, '[^/]+?')})" if number % 2 else re.escape(part)
            for number, part in enumerate(parts)
        )
    )


def _write(content: Content, path: Path) -> None:
    if isinstance(content, pa.Table):
        write_parquet(content, path)
    elif isinstance(content, tuple):
        save_arrays(path, *content)
    else:
        write_json(content, path)


# Predictions


@writes(PATHS["predictions"])
def predictions(plan: Plan, run: str, seed: str) -> pa.Table:
    """Some examples of each language of the test sets that a run predicts, not all correct."""
    specification = plan.runs[run].specification
    return _predicted(plan, plan.runs[run].task, specification["evaluate"])


@writes(PATHS["static_predictions"])
def static_predictions(plan: Plan, static: str, family: str, seed: str) -> pa.Table:
    """The same of static vectors."""
    run = plan.runs.get(family, None, "published")
    return _predicted(plan, run.task, run.specification["evaluate"])


def _predicted(plan: Plan, task: str, tests: Mapping[str, Sequence[str]]) -> pa.Table:
    schema, rows = scoring_of(task).schema, []
    names = {*schema.names}
    predicted = [field for field in schema if field.name.startswith("predict")]
    wrong = {field.name: _wrong(field.type) for field in predicted}
    for dataset, languages in tests.items():
        asked = getattr(plan.config.datasets[dataset], "questions", "same")
        for code in languages:
            context, question = code, code
            if asked == "target":
                context = "en"
            elif asked == "english":
                question = "en"
            columns = {"dataset": dataset, "language": context, "question_language": question}
            columns |= {"gold": _TAGS[task], "prediction": _TAGS[task]} if task in _TAGS else {}
            mistakes = sum(map(ord, code)) % 3  # so that not all languages have the same score
            for number in range(4):
                row = columns | {"example_id": str(number)} | (wrong if number < mistakes else {})
                rows.append({name: row[name] for name in row.keys() & names})
    return table(schema, rows)


@writes(PATHS["choice"])
def choice(plan: Plan, search: str, protocol: str) -> dict[str, Any]:
    """The first of the draws, with those hyperparameters that the search sets."""
    draws = [{"values": values, "score": 50.0} for values in plan.runs.searches[search].values()]
    return {"draw": 1, **draws[0], "draws": draws}


# Data


@writes(PATHS["links_card"])
def links_card(plan: Plan, dataset: str, language: str, aligner: str) -> dict[str, Any]:
    """Scores of word links."""
    return {"aer": 0.3, "pairs_right": 0.7, "sentences": 90, "pairs": 500}


@writes(PATHS["language_card"])
def language_card(plan: Plan, dataset: str, language: str) -> dict[str, Any]:
    """The card of one language of a dataset."""
    return {"counts": {"articles": 1000}}


@writes(PATHS["examples"])
def examples(plan: Plan, encoder: str, encoding: str, dataset: str) -> Content:
    """Twenty examples of each language of a dataset, in its splits if it has any."""
    codes = np.repeat(np.array(plan.config.datasets[dataset].languages), 20)
    arrays = {"language": codes}
    if plan.config.encodings[encoding].task == "language_identification":
        splits = np.array(["train", "validation", "dev", "test"])
        arrays["split"] = splits[np.arange(len(codes)) % len(splits)]
    return arrays, {}


# Vectors


@writes(PATHS["identified"])
def identified(plan: Plan, features: str, run: str, seed: str, protocol: str) -> pa.Table:
    """Predictions of languages, of every store of the features."""
    is_text = plan.config.encodings[plan.encoding(plan.runs[run])].scored == "text"
    schema = schemas.CLASS_PREDICTIONS if is_text else schemas.TAG_PREDICTIONS
    rows = [
        {"dataset": name, "language": code}
        for name in plan.features[features].stores
        for code in ("en", "ru")
    ]
    return table(schema, rows)


@writes(PATHS["identification"])
def identification(plan: Plan, features: str, run: str, seed: str) -> dict[str, Any]:
    """The report of a language classifier."""
    entropy = dict.fromkeys(plan.features[features].stores, 1.0)
    return {protocol: {"entropy": entropy} for protocol in PROTOCOLS}


@writes(PATHS["clusters"])
def clusters(plan: Plan, features: str, run: str, seed: str) -> dict[str, Any]:
    """Clusters of labels, and of the languages of every store of the features."""
    classes = ["label", *(f"language_{name}" for name in plan.features[features].stores)]
    agreement = {"v_measure": 0.5, "ami": 0.4, "v_measure_chance": 0.1, "n": 100}
    return {name: dict.fromkeys(PROTOCOLS, agreement) for name in classes}


@writes(PATHS["similarity"])
def similarity(plan: Plan, features: str, model: str) -> pa.Table:
    """Similarities of the pivots to all languages of the stores, in every layer."""
    wanted = plan.features[features].similarity
    assert wanted is not None
    corrected = ["cka_linear", "cka_linear_debiased", "cka_shuffled"]
    measures = {"published": ["cka_rbf", "cka_shuffled"], "corrected": corrected}
    rows = [
        {"protocol": protocol, "source": source, "target": target, "layer": layer}
        | {"measure": measure, "value": 1 / (1 + layer + number)}
        for protocol, store in wanted["stores"].items()
        for source in wanted["pivots"]
        for number, target in enumerate(plan.features[features].stores[store].languages or ())
        for layer in LAYERS
        for measure in measures[protocol]
        if target != source
    ]
    return table(schemas.SIMILARITIES, rows)


@writes(PATHS["retrieval"])
def retrieval(plan: Plan, encoder: str, dictionary: str, language: str) -> pa.Table:
    """Ranks in both directions and every layer; static vectors have one."""
    layers = [0] if encoder in plan.static else LAYERS
    directions = (("en", language), (language, "en"))
    rows = [
        {"layer": layer, "source": source, "target": target, "centred": centred}
        for layer in layers
        for source, target in directions
        for centred in (False, True)
    ]
    return table(schemas.RETRIEVALS, rows)


@writes(PATHS["distance_summary"])
def distance_summary(plan: Plan, distances: str, language: str, seed: str) -> Any:
    """Distances under every model of a seed."""
    squares = np.random.default_rng(0).random((2, 20, 768), dtype=np.float32)
    summary = summarise(*squares)
    models = plan.distance_models(distances, language, seed)
    pairs = zip(models["panel"], models["protocols"], strict=True)
    return [summary | {"panel": panel, "protocols": list(names)} for panel, names in pairs]
