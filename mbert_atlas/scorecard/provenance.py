"""What tables and figures were made from: the files behind them, their runs, data, encoders, cost.

It follows the records that the workflow keeps of finished jobs, so it states what was run.
"""

import os
import subprocess
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from mbert_atlas import __version__
from mbert_atlas.corpora.cards import read_origins
from mbert_atlas.files import atomic_path, read_json
from mbert_atlas.scorecard.cost import gpus_used, read_benchmark


class Record(NamedTuple):
    """What is known of the job that made a file."""

    inputs: Sequence[str]
    log: str  # it is the same for all files of a job
    started: float  # seconds since 1970
    ended: float


class Cost(NamedTuple):
    """Seconds of jobs; CPU time is 0 where it was not measured."""

    seconds: float
    cpu_seconds: float
    gpu_seconds: float


Files = Mapping[str, Record | None]
"""The record of each file; none where no job of the workflow made it."""


def files_behind(files: Iterable[str], record_of: Callable[[str], Record | None]) -> Files:
    """Return all files that some files were made from, with their records; they are among them."""
    records, left = dict[str, Record | None](), list(files)
    while left:
        name = left.pop()
        if name not in records:
            record = records[name] = record_of(name)
            left += record.inputs if record else ()
    return records


class Tracer:
    """Describes the artifacts of a run, whose folder is ``results``, by what is behind them.

    ``encoders`` has the name of an encoder of the config by its path.
    """

    def __init__(
        self, results: str, record_of: Callable[[str], Record | None], encoders: Mapping[str, str]
    ) -> None:
        self.results, self.encoders = results, encoders
        self.stores: dict[str, dict[str, Path]] = defaultdict(dict)  # by encoder and dataset
        self.record_of, self.cost = cache(record_of), cache(self._cost)
        self.read_origins = cache(read_origins)

    def describe(self, files: Collection[str]) -> dict[str, Any]:
        """Return what files were made from, as JSON values; nothing if there is no record of them.

        ``measurements``: CSV files; ``runs``: seeds and hours by id; ``datasets``: languages and
        what was read, with its revision, by name; ``encoders``: names; ``encoded``: datasets by the
        encoder whose tokenizer splits them; ``cost``: number of jobs and hours; ``started``,
        ``ended``: the first and the last job.
        """
        behind = files_behind(files, self.record_of)
        records = {record.log: record for record in behind.values() if record}
        if not records:
            return {}
        runs = defaultdict[str, dict[str, set[str]]](lambda: {"seeds": set(), "logs": set()})
        datasets, encoded = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        for name, record in behind.items():
            match name.removeprefix(f"{self.results}/").split("/"):
                case ["runs", run, seed, *_] if record:
                    runs[run]["seeds"].add(seed.removeprefix("seed"))
                    runs[run]["logs"].add(record.log)
                case ["tokens", encoder, "examples", _, dataset]:
                    encoded[encoder].add(dataset)
                    self.stores[encoder].setdefault(dataset, Path(name))
                case ["data", dataset]:
                    datasets[dataset.removesuffix(".parquet")].update()
                case ["data", dataset, language]:
                    datasets[dataset].add(language.partition(".")[0])
        measured = f"{self.results}/measurements/"
        return {
            "measurements": sorted(
                name for name in behind if name.startswith(measured) and name.endswith(".csv")
            ),
            "runs": {
                run: {
                    "seeds": sorted(map(int, item["seeds"])),
                    "hours": self._sum(records[log] for log in sorted(item["logs"])).seconds / 3600,
                }
                for run, item in sorted(runs.items())
            },
            "datasets": {
                name: self._data(name, sorted(datasets[name])) for name in sorted(datasets)
            },
            "encoders": sorted({self.encoders[name] for name in behind if name in self.encoders}),
            "encoded": {encoder: sorted(encoded[encoder]) for encoder in sorted(encoded)},
            "cost": {"jobs": len(records), **self._hours(records.values())},
            "started": _time(min(record.started for record in records.values())),
            "ended": _time(max(record.ended for record in records.values())),
        }

    def cards(self, origins: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Return the cards of the encoders whose tokenizers split what has been described.

        ``origin``; ``coverage`` by dataset: ``task`` and, by language, the fraction ``unknown`` and
        ``subwords_per_word``, as the job that encoded it measured them.
        """
        cards: dict[str, dict[str, Any]] = {}
        for encoder, stores in sorted(self.stores.items()):
            metas = {name: read_json(stores[name] / "meta.json") for name in sorted(stores)}
            coverage = {
                name: {"task": meta["task"], "languages": meta["coverage"]}
                for name, meta in metas.items()
                if meta.get("coverage")
            }
            cards[encoder] = {"origin": origins.get(encoder, ""), "coverage": coverage}
        return cards

    def _data(self, dataset: str, languages: list[str]) -> dict[str, list[str]]:
        """Return what was read for a dataset, or for some languages of it, by their cards."""
        names = [f"{dataset}/{code}" for code in languages] or [dataset]
        cards = [f"data/{name}.card.json" for name in names]
        cards = [card for card in cards if Path(self.results, card).is_file()]
        origins = chain.from_iterable(self.read_origins(Path(self.results, card)) for card in cards)
        return {"languages": languages, "cards": cards, "origins": list(dict.fromkeys(origins))}

    def _hours(self, records: Iterable[Record]) -> dict[str, float]:
        total = self._sum(records)
        names = ("wall_hours", "cpu_hours", "gpu_hours")
        return dict(zip(names, (number / 3600 for number in total), strict=True))

    def _sum(self, records: Iterable[Record]) -> Cost:
        return Cost(*map(sum, zip(*map(self.cost, records), strict=True)))

    def _cost(self, record: Record) -> Cost:
        """Return what a job cost by its benchmark; by the clock if it has none."""
        log = Path(record.log)
        name = record.log.removeprefix(f"{self.results}/logs/")
        benchmark = Path(f"{self.results}/benchmarks/{name}").with_suffix(".tsv")
        if not benchmark.is_file():
            return Cost(record.ended - record.started, 0.0, 0.0)
        rows = read_benchmark(benchmark)
        seconds = sum(row[0] for row in rows)
        cpu = sum(row[2] for row in rows if row[2] == row[2])
        return Cost(seconds, cpu, seconds * gpus_used(log))


def trace(stated: Mapping[str, Any], tracer: Tracer, output: Path, config: Path) -> dict[str, Any]:
    """Return the content of ``output``, as JSON values: what all artifacts of a run were made from.

    ``stated`` is what the plan states: ``run``; ``command``, which ends before its target;
    ``presets``, its config files;
    ``artifacts``: ``target``, ``figures``, ``tables`` and ``measurements`` by ``paper/artifact``;
    ``encoders``: ``path`` and ``origin``; ``runs`` in short, and their ``families``. Paths in the
    content start at the results folder, whose place as seen from the output is ``root``.
    """
    results = Path(tracer.results)

    def placed(names: Iterable[str]) -> list[str]:
        return [Path(name).relative_to(results).as_posix() for name in names]

    artifacts = {}
    for key, item in stated["artifacts"].items():
        origins = tracer.describe([*item["figures"], *item["tables"]])
        measured = [*item["measurements"], *origins.pop("measurements", ())]
        files = item | {"measurements": list(dict.fromkeys(measured))}
        artifacts[key] = origins | {
            name: files[name] if name == "target" else placed(files[name]) for name in files
        }

    def used(kind: str, texts: Mapping[str, Any]) -> dict[str, Any]:
        names = {name for item in artifacts.values() for name in item.get(kind, ())}
        return {name: texts[name] for name in sorted(names) if name in texts}

    encoders = {name: item["origin"] for name, item in stated["encoders"].items()}
    return {
        "run": stated["run"],
        "root": os.path.relpath(results, output.parent),
        "command": stated["command"],
        "presets": stated["presets"],
        "config": placed([str(config)])[0],
        "artifacts": artifacts,
        "runs": used("runs", stated["runs"]),
        "families": used("runs", stated["families"]),
        "encoders": used("encoders", encoders),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def read_trace(path: Path) -> dict[str, Any]:
    """Return the content of what :func:`trace` described, with the results folder as ``root``."""
    content: dict[str, Any] = read_json(path)
    return content | {"root": path.parent / content["root"]}


def write_config(config: Mapping[str, Any], output: Path) -> None:
    """Write a whole config as YAML, atomically; as a config file it means the same."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):  # Snakemake reads JSON as ordered mappings
            return {key: plain(item) for key, item in value.items()}
        return list(map(plain, value)) if isinstance(value, list) else value

    with atomic_path(output) as temporary:
        text = yaml.safe_dump(plain(config), sort_keys=False, allow_unicode=True)
        temporary.write_text(text, encoding="utf-8")


def code_version(home: Path) -> dict[str, str]:
    """Return the ``version`` of this package, and the ``commit`` of its repository if it has one.

    A commit with changes that are not in it ends with ``-dirty``.
    """
    version = {"version": __version__}
    if (home / ".git").exists():
        command = ["git", "-C", str(home), "describe", "--always", "--dirty", "--exclude=*"]
        done = subprocess.run(
            [*command, "--abbrev=40"], capture_output=True, text=True, check=False
        )
        if commit := done.stdout.strip():
            version["commit"] = commit
    return version
