"""Inputs and parameters of the rules that measure, draw and write pages."""

from functools import cached_property
from typing import Any

from mbert_atlas.cells import Cell, as_values, files_of
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.files import sha256_of
from mbert_atlas.plan.paths import path
from mbert_atlas.plan.plan import CLAIMS, READ_OFF, REPORTED, Plan


class Parameters(Plan):
    """A plan with the records of papers and files of the repository as inputs and parameters."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._cells = dict[tuple[str, str], list[Cell]]()

    def cells_of(self, kind: str, key: str) -> list[Cell]:
        """Return the cells of a record, made once: of ``measurements`` or ``figures``."""
        if (kind, key) not in self._cells:
            self._cells[kind, key] = list(getattr(self, kind)[key].cells())
        return self._cells[kind, key]

    def inputs(self, kind: str, name: str) -> list[str]:
        """Return the files behind a record: of ``measurements`` or ``figures``, ``paper/name``."""
        return files_of(self.cells_of(kind, name))

    def measuring(self, name: str) -> dict[str, Any]:
        """Return what is measured, as parameter, with the columns that all rows share."""
        item, (paper, artifact) = self.measurements[name], self.artifact_of[name]
        return {
            "function": item.measure,
            "cells": as_values(self.cells_of("measurements", name)),
            "options": item.options(),
            "columns": {"paper": paper, "artifact": artifact.name, **item.columns},
        }

    def drawing(self, name: str) -> dict[str, Any]:
        """Return what a figure draws, as parameter."""
        item, cells = self.figures[name], as_values(self.cells_of("figures", name))
        return {"function": item.draw, "cells": cells, "options": item.options()}

    def large_measurements(self, is_large: bool) -> list[str]:
        """Return the measurements that are jobs with resources, or the others."""
        return [key for key, item in self.measurements.items() if bool(item.resources) == is_large]

    def labels(self, name: str) -> dict[str, str]:
        """Return the labels of a figure in Snakemake's report."""
        figure = self.figures[name]
        return {"language": figure.language, "protocol": figure.protocol, "kind": "figure"}

    def paper_of(self, name: str) -> str:
        """Return the paper of a record."""
        return self.artifact_of[name][0]

    def with_content(self, name: str) -> dict[str, str]:
        """Return path and content hash of a file of the repository, as parameter.

        As an input it would trigger by its time, which a fresh clone changes.
        """
        file = self.home / name
        return {"path": str(file), "sha256": sha256_of(file)}

    def reported(self, *papers: str) -> list[dict[str, str]]:
        """Return the files with the numbers that papers report, as parameter."""
        return [self.with_content(REPORTED.format(paper)) for paper in papers]

    @property
    def seeds(self) -> set[int]:
        """The seeds of everything that is run."""
        fitted = self.config.fitted_head
        of_runs = (seed for run in self.runs for seed in run.seeds)
        return {*self.config.seeds, *of_runs, *(fitted.seeds if fitted else ())}

    # Language-model heads: ``mbert`` is the encoder's, ``mbert/seed1`` a fitted one (`plan.heads`).

    def language_model_head(self, head: str) -> str | list[str]:
        """Return the folder of a fitted head; of the encoder's none."""
        encoder, _, seed = head.partition("/seed")
        return path("fitted_head", encoder=encoder, seed=seed) if seed else []

    def encoder_of_head(self, head: str) -> str:
        """Return the folder of the encoder below a head."""
        return self.encoder(head.partition("/")[0])

    def below_head(self, head: str, pattern: str) -> str:
        """Return the file that the encoder below a head has for all of them."""
        return pattern.format(encoder=head.partition("/")[0])

    def seeds_of_head(self, head: str) -> list[int]:
        """Return the seeds of random shifts with a head: a fitted one has its own."""
        seed = head.partition("/seed")[2]
        return [int(seed)] if seed else self.config.seeds

    def claims(self, *papers: str) -> dict[str, dict[str, str]]:
        """Return the files with the claims of papers, as parameter."""
        return {paper: self.with_content(CLAIMS.format(paper)) for paper in papers}

    def compared(self, *papers: str) -> dict[str, Any]:
        """Return what measured and reported numbers of papers are compared by, as parameter."""
        return {
            "reported": self.reported(*papers),
            "contrasts": self.contrasts(*papers),
            "not_reproducible": self.with_content("resources/not_reproducible.csv"),
        }

    def setting(self, *papers: str) -> dict[str, Any]:
        """Return what pages about some papers, or all, are about, as parameter."""
        papers = papers or tuple(self.papers)
        return {
            "run_name": self.config.run,
            "comparable": self.config.comparable,
            "world": self.config.world,
            "names": self.language_names(),
            "facts": self.config.facts(),
            "models": {paper: self.model_names(paper) for paper in papers},
            "conditions": {
                f"{paper}/{artifact.name}": dict(artifact.conditions)
                for paper in papers
                for artifact in self.papers[paper].artifacts
                if artifact.conditions
            },
        }

    def reported_beside(self, name: str) -> dict[str, Any] | None:
        """Return the files of the reported numbers that a figure shows, and if they compare."""
        if not self.figures[name].reported:
            return None
        paper = self.paper_of(name)
        (file,) = self.reported(paper)
        stated: dict[str, Any] = {**file, "is_comparable": self.config.comparable}
        if (self.home / READ_OFF.format(paper)).is_file():
            stated["read_off"] = self.with_content(READ_OFF.format(paper))
        return stated

    def intervals_of(self, name: str) -> dict[str, Any] | None:
        """Return what a figure's intervals are computed from, except its numbers; none if none."""
        if not self.figures[name].intervals:
            return None
        paper = self.paper_of(name)
        claims = self.claim_files[paper]
        # The claims themselves are left out: a changed sentence draws no figure again.
        about = {key: claims[key] for key in ("differences", "tasks") if key in claims}
        return {"paper": paper, "about": about, "languages": sorted(self.language_names())}

    @cached_property
    def claim_files(self) -> dict[str, dict[str, Any]]:
        """Contents of the papers' ``claims.yaml``."""
        return {
            name: read_yaml(self.home / CLAIMS.format(name)) for name in self.config.papers or ()
        }
