"""The plan of a config: what every paper shows, and all that it takes."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from mbert_atlas.cells import files_of
from mbert_atlas.config.base import PROTOCOLS, Protocol
from mbert_atlas.config.datasets import Source
from mbert_atlas.config.model import Config
from mbert_atlas.languages import Languages
from mbert_atlas.plan import records
from mbert_atlas.plan.files import Files, links_of, sources_of
from mbert_atlas.plan.models import full_name
from mbert_atlas.plan.paths import path
from mbert_atlas.plan.records import Artifact, Figure, Measurement, Table

CLAIMS, REPORTED = "mbert_atlas/papers/{}/claims.yaml", "resources/reported/{}.csv"
"""The files with a paper's claims, and with the numbers that it reports."""
READ_OFF = "resources/read_off/{}.csv"
"""Points of curves that a paper shows only as pictures: for figures, never for verdicts."""


class Plan(Files):
    """What a config requests: files, runs, and the artifacts of its papers by name.

    The folder of the repository is ``home``; ``shipped`` as in :class:`Files`.
    """

    def __init__(
        self,
        config: Config,
        languages: Languages,
        shipped: Mapping[str, Mapping[str, str]] | None = None,
        home: Path = Path("."),
    ) -> None:
        super().__init__(config, languages, shipped or {})
        self.home, self.results = home, f"results/{config.run}"
        self.papers: dict[str, records.PaperPlan] = {
            paper: import_module(f"mbert_atlas.papers.{paper}.artifacts").plan_paper(self)
            for paper in config.papers or ()
        }
        plans = self.papers.values()
        self.features = {k: item for plan in plans for k, item in plan.features.items()}
        self.vectors = {k: item for plan in plans for k, item in plan.vectors.items()}
        self.means = {k: item for plan in plans for k, item in plan.means.items()}
        self.retrieval = {k: item for plan in plans for k, item in plan.retrieval.items()}
        self.static_families = {k: it for plan in plans for k, it in plan.static_families.items()}
        self.distances = {k: item for plan in plans for k, item in plan.distances.items()}
        self.measurements, self.figures = dict[str, Measurement](), dict[str, Figure]()
        self.tables, self.artifact_of = dict[str, Table](), dict[str, tuple[str, Artifact]]()
        for paper, plan in self.papers.items():
            for artifact in plan.artifacts:
                for kind in ("measurements", "figures", "tables"):
                    for item in getattr(artifact, kind):
                        getattr(self, kind)[f"{paper}/{item.name}"] = item
                        self.artifact_of[f"{paper}/{item.name}"] = (paper, artifact)

    # What papers request of shared rules

    def features_model(self, model: str) -> str:
        """Return the folder of a model of features: an encoder, or ``run/seed1``."""
        is_encoder = model in self.config.encoders
        return self.encoder(model) if is_encoder else f"<results>/runs/{model}/model"

    def features_of(self, kind: str, features: str, run: str, seed: str) -> str:
        """Return the ``features`` of a run's model, or the ``points`` sampled from them."""
        options = self.runs[run].specification["hyperparameters"]
        is_frozen = options["trained_layers"] == "none"  # then they are the same for all runs
        model = self.runs[run].base if is_frozen else f"{run}/seed{seed}"
        return path(kind, features=features, model=model)

    @cached_property
    def saved(self) -> set[str]:
        """The ids of fine-tuning runs whose models are read, or of all if models are kept.

        Draws of a search are never saved. A file that is made from a run's model has its id in its
        path; distances have those of all models of a figure.
        """
        ids = {run.id for run in self.runs if run.kind == "finetuning"} - set(self.runs.drawn())
        if self.config.keep_models:
            return ids
        makers = [item.cells for item in self.measurements.values()]
        makers += [item.cells for item in self.figures.values()]
        files = {file for cells in makers for file in files_of(cells())}
        for name, distances in self.distances.items():
            for language in distances.panels:
                for seed in self.distance_seeds(name, language):
                    files.update(self.distance_models(name, language, str(seed))["folder"])
        parts = (file.split("/") for file in files if not file.endswith("/predictions.parquet"))
        return ids & {run.start for run in self.runs} | ids & set(chain.from_iterable(parts))

    def store_options(self, features: str) -> dict[str, dict[str, Any]]:
        """Return what is read of each store of features."""
        stores = {name: asdict(store) for name, store in self.features[features].stores.items()}
        for options in stores.values():
            del options["folder"]
        return stores

    def sample(self, features: str, keys: Sequence[str]) -> dict[str, Any]:
        """Return some options of a sample of features."""
        sample = self.features[features].sample or {}
        return {key: sample[key] for key in keys}

    @property
    def language_sets(self) -> list[str]:
        """Names of the sets of languages that directions are found for, all among them."""
        return ["all", *(name for item in self.vectors.values() for name in item.language_sets)]

    def language_groups(self, dataset: str) -> list[list[str]]:
        """Return the languages of a dataset of running texts in groups: a job encodes a group."""
        codes = self.config.datasets[dataset].languages
        size = self.vectors[dataset].languages_per_job
        return [codes[start : start + size] for start in range(0, len(codes), size)]

    def vectors_of(self, encoder: str, dataset: str, languages: str) -> list[str]:
        """Return the token vectors of a dataset: all, or the groups with languages of a set."""
        members = self.vectors[dataset].language_sets.get(languages)
        return [
            path("vectors", encoder=encoder, dataset=dataset, group=number)
            for number, group in enumerate(self.language_groups(dataset))
            if members is None or set(group) & set(members)
        ]

    def heldout_pairs(self, distances: str, language: str) -> str:
        """Return the word pairs whose distances are measured."""
        item = self.distances[distances]
        names = {"encoder": item.encoder, "dataset": item.bitext, "language": language}
        return path("pairs", **names, aligner="", part="heldout")

    def distance_seeds(self, distances: str, language: str) -> list[int]:
        """Return the seeds whose models are compared: all that any run of a panel has."""
        runs = set(self.distances[distances].panels[language].values()) & self.config.runs.keys()
        seeds = {seed for name in runs for _, _, seed in self.seeded_runs(name, language)}
        return sorted(seeds) or self.config.seeds

    def distance_models(self, distances: str, language: str, seed: str) -> dict[str, list[Any]]:
        """Return ``panel``, ``protocols`` and ``folder`` of every model of one seed.

        Protocols of a panel that share a model are one row.
        """
        rows: dict[tuple[str, str], list[Protocol]] = {}
        for panel, name in self.distances[distances].panels[language].items():
            for protocol in PROTOCOLS:
                if name in self.config.encoders:
                    folder = self.encoder(name)
                else:
                    run = self.runs.get(name, language, protocol)
                    if int(seed) not in run.seeds:
                        continue
                    folder = self.model(run, seed)
                rows.setdefault((panel, folder), []).append(protocol)
        panels, folders = zip(*rows, strict=True) if rows else ((), ())
        return {"panel": list(panels), "protocols": list(rows.values()), "folder": list(folders)}

    # What papers say

    def model_names(self, paper: str) -> dict[str, dict[str, str]]:
        """Return the labels of a paper's models in tables, see :func:`.full_name`, by model."""
        plan = self.papers[paper]
        shared = [item.columns for one in plan.artifacts for item in one.measurements]
        models = {columns.get("model", ""): columns.get("model", "") for columns in shared}
        return {
            model: full_name(self, model, encoder)
            for model, encoder in {**models, **plan.models}.items()
            if encoder in self.config.encoders
        }

    def contrasts(self, *papers: str) -> dict[str, list[list[str]]]:
        """Return the contrasts that papers declare, as plain values."""
        return {paper: list(map(list, self.papers[paper].contrasts)) for paper in papers}

    def headline(self, name: str) -> str:
        """Return the name of an artifact as the paper has it: Table 1, Appendix A."""
        kind, number = re.findall(r"^([a-z]+)([A-Z]|\d+)", self.artifact_of[name][1].name)[0]
        return f"{kind.capitalize()} {number}"

    def caption(self, name: str) -> str:
        """Return what a figure shows and how to read it."""
        artifact = self.artifact_of[name][1]
        return artifact.caption or records.CAPTIONS.get(self.figures[name].draw, "")

    def table_measurements(self, name: str) -> list[str]:
        """Return the measurements that a table shows."""
        paper, _ = self.artifact_of[name]
        names = self.tables[name].measurements
        return [path("measurement", paper=paper, name=name) for name in names]

    def language_names(self) -> dict[str, str]:
        """Return the English name of every language by its code."""
        return {language.code: language.name for language in self.languages}

    def condition_order(self, paper: str, figures_only: Sequence[str] = ()) -> list[str]:
        """Return a paper's conditions as it reports them, then those of its figures alone.

        The order decides what a condition looks like in every figure.
        """
        with (self.home / REPORTED.format(paper)).open(encoding="utf-8") as stream:
            stated = [row["condition"] for row in csv.DictReader(stream)]
        return list(dict.fromkeys([*filter(None, stated), *figures_only]))

    def transfer_figure(
        self,
        paper: str,
        name: str,
        title: str,
        conditions: Mapping[str, str] | None = None,
        figures_only: Sequence[str] = (),
    ) -> Figure:
        """Return a figure of the measurement of transfer with that name.

        Conditions have names where the config decides them; for ``figures_only`` see
        :meth:`condition_order`.
        """
        return Figure(
            name,
            "figures.transfer:draw_transfer",
            lambda: records.measured(paper, name),
            lambda: {
                "title": title,
                "names": {**self.language_names(), **(conditions or {})},
                "order": self.condition_order(paper, figures_only),
            },
            reported=True,
            intervals=True,
        )

    # What pages show

    def shown(self, scope: str, paper: str = "") -> list[tuple[str, Artifact]]:
        """Return paper and artifact of everything that a scope shows, of all papers or of one.

        A scope is empty for everything, ``highlights/``, or ``available/``: what has been made.
        """
        return [
            (name, artifact)
            for name, plan in self.papers.items()
            if paper in ("", name)
            for artifact in plan.artifacts
            if scope != "highlights/" or artifact.highlight
            if scope != "available/" or all(map(self.existing, self.targets(name, artifact)))
        ]

    def papers_shown(self, scope: str) -> list[str]:
        """Return the papers of which a scope shows anything."""
        if scope == "available/":
            return [paper for paper in self.papers if self.measured(scope, paper)]
        return list(dict.fromkeys(paper for paper, _ in self.shown(scope)))

    def measured(self, scope: str, paper: str = "", kind: str = "measurement") -> list[str]:
        """Return the measurements behind what a scope shows, or their files of another kind."""
        if scope == "available/":
            return list(filter(None, map(self.existing, self.measured("", paper, kind))))
        return [
            path(kind, paper=name, name=item.name)
            for name, artifact in self.shown(scope, paper)
            for item in artifact.measurements
        ]

    def made(self, scope: str, paper: str = "") -> list[str]:
        """Return the files that a scope shows; no rule makes those of ``available/``."""
        paths = [path for item in self.shown(scope, paper) for path in self.targets(*item)]
        return list(map(self.existing, paths)) if scope == "available/" else paths

    def drawn(self, scope: str, paper: str = "") -> list[dict[str, str]]:
        """Return paper, artifact and path of the figures that a scope shows."""
        return [
            {"paper": name, "artifact": artifact.name, "path": self.resolved(path)}
            for name, artifact in self.shown(scope, paper)
            for path in self.targets(name, artifact)
            if path.endswith(".svg")
        ]

    def traced(self, scope: str) -> dict[str, dict[str, Any]]:
        """Return target, figures, tables and measurements of what a scope shows, for provenance.

        Keys are ``paper/artifact``, paths those of SVG, HTML and CSV files.
        """
        return {
            f"{paper}/{artifact.name}": {
                "target": f"{paper}_{artifact.name}",
                "figures": [file for file in files if file.endswith(".svg")],
                "tables": [file for file in files if file.endswith(".html")],
                "measurements": [
                    self.resolved(path("measurement", paper=paper, name=item.name))
                    for item in artifact.measurements
                ],
            }
            for paper, artifact in self.shown(scope)
            for files in [list(map(self.resolved, self.targets(paper, artifact)))]
        }

    def encoder_origins(self) -> dict[str, dict[str, str]]:
        """Return ``path`` and ``origin`` of every encoder of the config, by name."""
        return {
            name: {
                "path": self.resolved(self.encoder(name)),
                "origin": item.origin + (", part of this software" if name in self.shipped else ""),
            }
            for name, item in self.config.encoders.items()
        }

    def described(self, dataset: str, language: str | None = None) -> dict[str, Any]:
        """Return what decides how a dataset (or one language of it) is read: a parameter.

        It has the keys of the dataset's section; ``sources``: the upstream files by language, with
        their paths; ``languages``: the rows of the table of languages by code.
        """
        item = self.config.datasets[dataset]
        codes = [language] if language else item.languages

        def placed(source: Source) -> dict[str, Any]:
            names = map(self.upstream, (source.path, *source.partners))
            file, *partners = map(self.resolved, names)
            return source.model_dump(mode="json") | {"path": file, "partners": partners}

        return {
            **item.model_dump(mode="json", exclude={"files", "files_by_language", "languages"}),
            "languages": {code: self.languages[code].model_dump(mode="json") for code in codes},
            "sources": {
                code: list(map(placed, sources_of(dataset, item, code, self.languages)))
                for code in codes
            },
        }

    # Paths

    def targets(self, paper: str, artifact: Artifact) -> list[str]:
        """Return the files that the target of an artifact makes."""
        return [
            *(path("html", paper=paper, name=table.name) for table in artifact.tables),
            *(path("figure", paper=paper, name=figure.name) for figure in artifact.figures),
        ]

    def resolved(self, name: str) -> str:
        """Return a path with the folders of the run filled in."""
        return name.replace("<results>", self.results).replace("<downloads>", self.config.downloads)

    def existing(self, name: str) -> str:
        """Return the absolute path of a file if it exists; else nothing."""
        absolute = Path(self.resolved(name)).absolute()
        return str(absolute) if absolute.exists() else ""

    def aligned(self) -> list[tuple[str, str, str]]:
        """Return bitext, language and aligner, as in paths, of all word links."""
        adjustments = [run for run in self.runs if run.kind == "adjustment"]
        links = {links_of(run) for run in adjustments}
        measured = self.distances.values()
        links |= {(item.bitext, code, "") for item in measured for code in item.panels}
        return sorted(links)
