"""The plan of a config: what every paper shows, and all that it takes."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from mbert_atlas.config.model import Config
from mbert_atlas.languages import Languages
from mbert_atlas.plan.files import Files
from mbert_atlas.plan.records import (
    Artifact,
    Distances,
    Features,
    Figure,
    Measurement,
    PaperPlan,
    Table,
    TokenVectors,
)


class Plan(Files):
    """What a config asks for: files, runs, and the artifacts of its papers by name.

    Args:
        config: the config.
        languages: all languages.
        shipped: names of the encoders that are taken from the repository.
        home: folder of the repository.
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
        self.papers: dict[str, PaperPlan] = {
            paper: import_module(f"mbert_atlas.papers.{paper}.artifacts").plan_paper(self)
            for paper in config.papers
        }
        every = self.papers.values()
        self.features: dict[str, Features] = {k: v for paper in every for k, v in paper.features.items()}
        self.vectors: dict[str, TokenVectors] = {k: v for paper in every for k, v in paper.vectors.items()}
        self.means = {k: v for paper in every for k, v in paper.means.items()}
        self.retrieval = {k: v for paper in every for k, v in paper.retrieval.items()}
        self.static_families = {k: v for paper in every for k, v in paper.static_families.items()}
        self.distances: dict[str, Distances] = {k: v for paper in every for k, v in paper.distances.items()}
        self.measurements: dict[tuple[str, str], Measurement] = {}
        self.figures: dict[tuple[str, str], Figure] = {}
        self.tables: dict[tuple[str, str], Table] = {}
        self.artifact_of: dict[tuple[str, str], Artifact] = {}
        for name, paper in self.papers.items():
            for artifact in paper.artifacts:
                for measurement in artifact.measurements:
                    self.measurements[name, measurement.name] = measurement
                for figure in artifact.figures:
                    self.figures[name, figure.name] = figure
                for table in artifact.tables:
                    self.tables[name, table.name] = table
                for item in (*artifact.measurements, *artifact.figures, *artifact.tables):
                    self.artifact_of[name, item.name] = artifact

    # What papers say

    def claims(self, paper: str) -> ModuleType:
        """Return the module with a paper's title and contrasts."""
        return import_module(f"mbert_atlas.papers.{paper}.claims")

    def claims_file(self, paper: str) -> str:
        """Return the file with a paper's claims."""
        return str(self.home / f"mbert_atlas/papers/{paper}/claims.yaml")

    def reported_file(self, paper: str) -> str:
        """Return the file with the numbers that a paper reports."""
        return str(self.home / f"resources/reported/{paper}.csv")

    def language_names(self) -> dict[str, str]:
        """Return the English name of every language by its code."""
        return {language.code: language.name for language in self.languages}

    def condition_order(self, paper: str, figures_only: Sequence[str] = ()) -> list[str]:
        """Return a paper's conditions as it reports them, then those of its figures alone.

        The order decides what a condition looks like in every figure.
        """
        with open(self.reported_file(paper), encoding="utf-8") as stream:
            stated = [row["condition"] for row in csv.DictReader(stream)]
        return list(dict.fromkeys([*filter(None, stated), *figures_only]))

    def condition_names(self) -> dict[str, dict[str, str]]:
        """Return the names of conditions that the config decides, by ``paper/table``."""
        return {
            f"{paper}/{table.name}": dict(artifact.conditions)
            for paper, plan in self.papers.items()
            for artifact in plan.artifacts
            for table in artifact.tables
            if artifact.conditions
        }

    # What artifacts consist of

    def measurement(self, paper: str, name: str) -> str:
        """Return the path of a measurement."""
        return f"<results>/measurements/{paper}/{name}.csv"

    def targets(self, paper: str, artifact: Artifact) -> list[str]:
        """Return the files that the target of an artifact makes."""
        return [f"<results>/{name.format(paper=paper)}" for name in artifact.files]
