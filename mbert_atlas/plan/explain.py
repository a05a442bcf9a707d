"""Runs in words: a list of them, and what decides the result of one, with file and line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mbert_atlas import strict_yaml
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.merging import Keys, leaves, merge_all, value_at
from mbert_atlas.config.methods import methods_in
from mbert_atlas.config.model import Config
from mbert_atlas.config.preparation import completed
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.labels import label
from mbert_atlas.plan.runs import Run, RunTable

_SHOWN = ("epochs", "batch_size", "learning_rate")


class _Text(str):  # a value of a config file as text, with the place where it is written
    origin: str


class _Items(list[str]):  # a list of a config file, with this place
    origin: str


class Origins:
    """Where the values of a config's runs are written in its ``files``, of which the last one wins.

    The files' merging and completion are repeated with these places.
    """

    def __init__(self, config: Config, files: Sequence[Path]) -> None:
        self.config, self.runs = config, RunTable(config)
        merged: dict[str, Any] = merge_all([_located(file) for file in files])
        self._values = merged | {"runs": completed(merged.get("runs", {}))}

    def of(self, run: Run, keys: Keys) -> tuple[str, str]:
        """Return the key of the config, and file and line, of a value of a run's specification."""
        candidates = list(self._candidates(run, keys))
        for candidate in candidates:
            value = value_at(self._values, candidate)
            if isinstance(value, _Text | _Items):
                return ".".join(candidate), value.origin
        # What is written under `published` holds for both protocols.
        both = (candidate for candidate in candidates if PROTOCOLS[0] in candidate)
        return ".".join(next(both, candidates[-1])), "default"

    def _candidates(self, run: Run, keys: Keys) -> Iterator[Keys]:
        """Yield the keys of the config that a value may come from, the first one wins."""
        first, *rest = keys
        family = self.config.runs[run.family]
        at = ("runs", run.family)
        if run.id in self.runs.drawn():
            yield (*at, "search", "space", ".".join(rest))
            yield (*at, "search", *keys)
        match first:
            case "hyperparameters":
                corrected = run.id.endswith(".corrected")
                for protocol in reversed(PROTOCOLS) if corrected else PROTOCOLS:
                    yield (*at, protocol, *rest)
            case "encoding":
                yield ("encodings", getattr(family, "encoding", ""), *rest)
            case "language_encoding":
                data = getattr(family, "language_data", None)
                yield ("encodings", data.encoding if data else "", *rest)
            case "encoder" | "start":
                yield from ((*at, "encoder"), (*at, "encoders"))
            case "search":
                yield (*at, "search", "use")
            case "language" | "seeds":
                yield (*at, "languages" if first == "language" else first)
                if run.start:
                    yield from self._candidates(self.runs[run.start], keys)
                yield keys
            case "replay" if run.start:
                yield from self._candidates(self.runs[run.start], tuple(rest))
            case _:
                yield (*at, *keys)


def _located(path: Path) -> dict[str, Any]:
    """Return the values of a file with their places; nulls, which remove entries, stay."""
    lines = strict_yaml.lines(path)

    def located(value: Any, place: Keys) -> Any:
        if isinstance(value, Mapping):
            return {key: located(item, (*place, str(key))) for key, item in value.items()}
        if value is None:
            return None
        marked = _Items(value) if isinstance(value, list) else _Text(value)
        marked.origin = f"{path}, line {lines['.'.join(place)]}"
        return marked

    values: dict[str, Any] = located(read_yaml(path), ())
    return values


def list_runs(config: Config) -> list[tuple[str, ...]]:
    """Return id, kind, task, methods, seeds and papers of every run, draws of searches included."""
    table = RunTable(config)
    papers = {run.id: {run.paper} for run in table}
    for name, family in config.runs.items():
        for language in family.languages or (None,):
            for protocol in PROTOCOLS:
                papers[table.get(name, language, protocol).id].add(family.paper)
    rows: list[tuple[str, ...]] = [("run", "kind", "task", "methods", "seeds", "papers")]
    for run in table:
        task = run.task if run.kind == "finetuning" else ""
        methods = " ".join(methods_in(run.specification["hyperparameters"]))
        seeds, cited = " ".join(map(str, run.seeds)), " ".join(sorted(papers[run.id]))
        rows.append((run.id, run.kind, task, methods, seeds, cited))
    return rows


def describe(run: Run, origins: Origins) -> list[tuple[str, str, str]]:
    """Return the key of the config, place and value of all that decides the result of a run."""
    rows = [(*origins.of(run, ("seeds",)), " ".join(map(str, run.seeds)))]
    for keys, value in leaves(run.specification):
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            rows.append((*origins.of(run, keys), text))
    return rows


def in_short(run: Run) -> str:
    """Return what a run does in a line: ``nli on multinli from mbert; epochs 2, ...``."""
    values = run.specification
    options = values["hyperparameters"]
    if run.kind == "finetuning":
        words = [label(run.task), "on", values["train"], *(values.get("train_languages") or ())]
    else:
        words = [run.kind, "on", values["bitext"], str(run.language)]
    words += ["from", run.start or run.base]
    if methods := methods_in(options):
        words += ["with", *methods]
    numbers = [f"{name.replace('_', ' ')} {options['optimisation'][name]:g}" for name in _SHOWN]
    chosen = ", unless the search chose others" if values.get("search") else ""
    return f"{' '.join(words)}; {', '.join(numbers)}{chosen}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text whose columns are aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines)
