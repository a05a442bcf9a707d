"""What a paper's ``artifacts.py`` declares: its tables and figures, and what it needs computed.

Functions are named by strings, ``module:function`` within ``mbert_atlas``, so that planning imports
neither pandas nor matplotlib, and so that the code fingerprint of a job covers its function alone.
Cells and options are callables, evaluated only for the jobs that are planned.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.plan.needs import Need
from mbert_atlas.plan.paths import path

CAPTIONS = {
    "figures.transfer:draw_transfer": "Scores by test set and language, or gains over a condition, "
    "trained on one or more languages and tested on each. Small dots are seeds, large markers "
    "their mean. One panel per protocol, or one for both. To read it, compare the markers within a "
    "row: right of another is better.",
}
"""Captions of shared kinds of figures, for artifacts without a caption."""
Cells = Callable[[], Sequence[Cell]]
Options = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Measurement:
    """One file ``measurements/<paper>/<name>.csv``."""

    name: str  # of the file, usually the artifact's
    # `module:function`; `function(cells, **options)` returns rows of `schemas.MEASUREMENT_COLUMNS`.
    measure: str
    cells: Cells  # what is measured, with its files: the job's input
    options: Options = dict  # keyword arguments of the function, plain JSON values
    columns: Mapping[str, str] = field(default_factory=dict)  # that all rows share
    resources: str = ""  # key of the config's `resources` if the job is submitted, not local

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", cache(self.cells))  # read several times in one planning


@dataclass(frozen=True)
class Figure:
    """One pair of files ``figures/<paper>/<name>.svg`` and ``.png``."""

    name: str  # of the files, such as `figure1.de.published`
    draw: str  # `module:function`; `function(cells, **options)` returns a matplotlib figure
    cells: Cells  # what is drawn, with its files: the job's input
    options: Options = dict  # keyword arguments of the function, plain JSON values
    # The function also takes `reported`, the paper's numbers.
    reported: bool = False
    # The function also takes `intervals`, of the numbers of the measurement that it draws.
    intervals: bool = False
    language: str = "all"  # what the report says of it, as the protocol
    protocol: str = "both"

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", cache(self.cells))


@dataclass(frozen=True)
class Table:
    """One pair of files ``tables/<paper>/<name>.html`` and ``.csv``: reported, reproduced."""

    name: str  # of the files, usually the artifact's
    measurements: Sequence[str]  # names of those that it shows
    facts: Sequence[Mapping[str, str]] = ()  # rows of texts before the numbers
    facts_from: str = ""  # JSON file with such rows


@dataclass(frozen=True)
class Artifact:
    """A table or figure of a paper."""

    name: str  # as in `snakemake <paper>_<name>`
    title: str = ""  # what it shows
    caption: str = ""  # what its figures show and how to read them, as plain text
    measurements: Sequence[Measurement] = ()  # another artifact's are not repeated
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    highlight: bool = False  # in `highlights`, which show headline claims at little cost
    conditions: Mapping[str, str] = field(default_factory=dict)  # names that the config decides


def read_texts(paper: str) -> dict[str, Any]:
    """Return the texts of a paper's tables and figures, its ``texts.yaml``."""
    return read_yaml(Path(__file__).parents[1] / f"papers/{paper}/texts.yaml")


def measured(paper: str, *names: str) -> list[Cell]:
    """Return a cell per measurement of a paper, with the values on resampled test sets."""
    return [
        Cell(
            path=path("measurement", paper=paper, name=name),
            paths={"resamples": path("resamples", paper=paper, name=name)},
        )
        for name in names
    ]


def table_artifact(
    name: str, title: str, measurements: Sequence[Measurement], **more: Any
) -> Artifact:
    """Return an artifact with a table of all its measurements; ``more`` are options of both."""
    facts = {key: more.pop(key) for key in ("facts", "facts_from") if key in more}
    tables = [Table(name, [item.name for item in measurements], **facts)] if measurements else []
    return Artifact(name, title, measurements=measurements, tables=tables, **more)


def figures_by_protocol(
    name: str, draw: str, cells: Cells, options: Mapping[str, Any], **more: Any
) -> list[Figure]:
    """Return a figure per protocol, which is among the options of ``draw``."""
    figures = []
    for protocol in PROTOCOLS:
        of_protocol: Options = partial(dict, options, protocol=protocol)
        figures.append(
            Figure(f"{name}.{protocol}", draw, cells, of_protocol, protocol=protocol, **more)
        )
    return figures


@dataclass(frozen=True)
class Store:
    """Encoded examples whose vectors are extracted."""

    folder: str  # the token store
    splits: Sequence[str] | None = None  # that are read; none: all
    languages: Sequence[str] | None = None  # that are read; none: all
    unit: str | None = None  # `word` for a vector per word; none: what the pooling says


@dataclass(frozen=True)
class Features:
    """Vectors of some stores under a model: ``features/<name>/<model>``."""

    stores: Mapping[str, Store]  # by name
    pooling: str  # see `mbert_atlas.encoders.hidden_states`
    layers: str | Sequence[int]  # `last`, `all`, or some layers
    probe: Mapping[str, Any] | None = None  # options of language identification, if wanted
    sample: Mapping[str, Any] | None = None  # of clusters and projections
    similarity: Mapping[str, Any] | None = None  # of the similarity between languages


@dataclass(frozen=True)
class TokenVectors:
    """Token vectors of running texts, all layers, and the directions found in them."""

    encoding: str  # of the texts
    summed: int  # tokens of each language whose moments are kept
    probed: int  # tokens of each language that are kept for probes
    languages_per_job: int  # that one job encodes
    language_sets: Mapping[str, Sequence[str]] = field(default_factory=dict)  # own directions


@dataclass(frozen=True)
class Distances:
    """Distances between word pairs of a bitext: ``distances/<name>/<language>``."""

    encoder: str  # whose tokenizer encodes the pairs
    bitext: str  # dataset of the pairs
    pairs: int  # number of related, and of unrelated, pairs
    panels: Mapping[str, Mapping[str, str]]  # encoder or family of runs by panel, by language


@dataclass(frozen=True)
class Curves:
    """How runs are compared: the points of some measurements, drawn next to those of other runs."""

    # `module:function` of the rows under one protocol: a table for `figures.curves.curve_grid`.
    points: str
    measurements: Sequence[str]  # names of those that it shows, of one artifact
    along_label: str
    value_label: str


@dataclass(frozen=True)
class PaperPlan:
    """What a paper shows, in its order, and what it asks of the shared rules."""

    title: str  # of the paper, with its authors
    artifacts: Sequence[Artifact]
    # What the comparison of runs draws: the first of which all runs have the measurements.
    curves: Sequence[Curves] = ()
    # Encoders of the config by the models of the paper that they stand for, where names differ.
    models: Mapping[str, str] = field(default_factory=dict)
    # Compared conditions: artifact, condition, baseline, and the baseline's artifact if another.
    contrasts: Sequence[tuple[str, ...]] = ()
    features: Mapping[str, Features] = field(default_factory=dict)  # by `<paper>/...`
    vectors: Mapping[str, TokenVectors] = field(default_factory=dict)  # by dataset of texts
    # Language means, by dataset of texts: `encoding` and number of `texts`.
    means: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Word retrieval, by dictionary: dataset of `texts` and options.
    retrieval: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Families of fine-tuning runs that static vectors learn as well, with the network that learns.
    static_families: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    distances: Mapping[str, Distances] = field(default_factory=dict)  # by `<paper>/...`
    needs: Mapping[str, Sequence[Need]] = field(default_factory=dict)  # of encoders, by artifact
