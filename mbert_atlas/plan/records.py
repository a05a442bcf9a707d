"""What a paper's ``artifacts.py`` declares: its tables and figures, and what it needs computed.

Functions are named by strings, ``module:function`` within ``mbert_atlas``, so that planning imports
neither pandas nor matplotlib, and so that the code fingerprint of a job covers its function alone.
Cells and options are callables, evaluated only for the jobs that are planned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.plan.paths import path

CAPTIONS = {
    "figures.transfer:draw_transfer": "Scores by test set and language, or gains over a condition: "
    "trained on one or more languages, tested on every language. Small dots are seeds, large ones "
    "their mean; hollow markers are the reported values where they may be compared. One panel per "
    "protocol.",
}
"""Captions of shared kinds of figures, for artifacts without a caption."""
Cells = Callable[[], Sequence[Cell]]
Options = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Measurement:
    """One file ``measurements/<paper>/<name>.csv``.

    Attributes:
        name: of the file, usually the artifact's.
        measure: ``module:function``; called as ``function(cells, **options)``, it returns rows with
            some of :data:`mbert_atlas.schemas.MEASUREMENT_COLUMNS`.
        cells: what is measured, with its files: the job's input.
        options: keyword arguments of the function, plain JSON values.
        columns: columns that all rows share, besides ``paper`` and ``artifact``.
        resources: key of the config's ``resources`` for a job that is submitted; empty: the job
            takes seconds and runs where Snakemake does.
    """

    name: str
    measure: str
    cells: Cells
    options: Options = dict
    columns: Mapping[str, str] = field(default_factory=dict)
    resources: str = ""


@dataclass(frozen=True)
class Figure:
    """One pair of files ``figures/<paper>/<name>.svg`` and ``.png``.

    Attributes:
        name: of the files, such as ``figure1.de.published``.
        draw: ``module:function``; called as ``function(cells, **options)``, it returns a
            matplotlib figure.
        cells: what is drawn, with its files: the job's input.
        options: keyword arguments of the function, plain JSON values.
        reported: the function also takes ``reported``, the path of the paper's reported numbers,
            or none where the run cannot be compared with the paper.
        language: what the report says of it.
        protocol: what the report says of it.
    """

    name: str
    draw: str
    cells: Cells
    options: Options = dict
    reported: bool = False
    language: str = "all"
    protocol: str = "both"


@dataclass(frozen=True)
class Table:
    """One pair of files ``tables/<paper>/<name>.html`` and ``.csv``: reported next to reproduced.

    Attributes:
        name: of the files, usually the artifact's.
        measurements: names of the measurements that it shows.
        facts: rows of texts shown before the numbers.
        facts_from: JSON file with such rows.
    """

    name: str
    measurements: Sequence[str]
    facts: Sequence[Mapping[str, str]] = ()
    facts_from: str = ""


@dataclass(frozen=True)
class Artifact:
    """A table or figure of a paper.

    Attributes:
        name: as in ``snakemake <paper>_<name>``.
        title: what it shows.
        caption: what the report says below it, reStructuredText.
        measurements: its measurements; what it shows of another artifact's is not repeated.
        figures: its figures.
        tables: its tables.
        highlight: whether it is among the paper's first results, in ``highlights``.
        conditions: names of conditions where the config decides them.
    """

    name: str
    title: str = ""
    caption: str = ""
    measurements: Sequence[Measurement] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    highlight: bool = False
    conditions: Mapping[str, str] = field(default_factory=dict)


def measured(paper: str, *names: str) -> list[Cell]:
    """Return a cell per measurement of a paper."""
    return [Cell(path=path("measurement", paper=paper, name=name)) for name in names]


def table_artifact(
    name: str,
    title: str,
    measurements: Sequence[Measurement],
    *,
    facts: Sequence[Mapping[str, str]] = (),
    facts_from: str = "",
    **more: Any,
) -> Artifact:
    """Return an artifact with a table of all its measurements, if it has any."""
    table = Table(name, [item.name for item in measurements], facts, facts_from)
    tables = [table] if measurements else []
    return Artifact(name, title, measurements=measurements, tables=tables, **more)


def figures_by_protocol(
    name: str, draw: str, cells: Cells, options: Mapping[str, Any], **more: Any
) -> list[Figure]:
    """Return a figure per protocol, which is among the options of ``draw``."""
    return [
        Figure(
            f"{name}.{protocol}",
            draw,
            cells,
            partial(dict, options, protocol=protocol),
            protocol=protocol,
            **more,
        )
        for protocol in PROTOCOLS
    ]


@dataclass(frozen=True)
class Store:
    """Encoded examples whose vectors are extracted.

    Attributes:
        folder: the token store.
        splits: splits that are read; none: all.
        languages: languages that are read; none: all.
        unit: ``word`` for a vector per word; none: what the pooling says.
    """

    folder: str
    splits: Sequence[str] | None = None
    languages: Sequence[str] | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Features:
    """Vectors of some stores under a model: ``features/<name>/<model>``.

    Attributes:
        stores: by name.
        pooling: see :mod:`mbert_atlas.encoders.hidden_states`.
        layers: ``last``, ``all``, or a list of layers.
        probe: options of language identification on these features, if it is wanted.
        sample: options of clusters and projections of these features, if they are wanted.
        similarity: options of similarity between languages, if it is wanted.
    """

    stores: Mapping[str, Store]
    pooling: str
    layers: str | Sequence[int]
    probe: Mapping[str, Any] | None = None
    sample: Mapping[str, Any] | None = None
    similarity: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class TokenVectors:
    """Token vectors of running texts, all layers, and the directions found in them.

    Attributes:
        encoding: encoding of the texts.
        summed: tokens of each language whose moments are kept.
        probed: tokens of each language that are kept for probes.
        languages_per_job: languages that one job encodes.
        language_sets: sets of languages with separate directions, by name.
    """

    encoding: str
    summed: int
    probed: int
    languages_per_job: int
    language_sets: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Distances:
    """Distances between word pairs of a bitext: ``distances/<name>/<language>``.

    Attributes:
        encoder: whose tokenizer encodes the pairs.
        bitext: dataset of the pairs.
        pairs: number of related, and of unrelated, pairs.
        panels: encoder or family of runs by panel, by language.
    """

    encoder: str
    bitext: str
    pairs: int
    panels: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class PaperPlan:
    """What a paper shows and what it asks of the shared rules.

    Attributes:
        artifacts: in the order of the paper.
        features: by name, ``<paper>/...``.
        vectors: token vectors, by dataset of texts.
        means: language means, by dataset of texts: ``encoding`` and number of ``texts``.
        retrieval: word retrieval, by dictionary: dataset of ``texts`` and options.
        static_families: families of fine-tuning runs that static vectors learn as well, with the
            network that learns them.
        distances: by name, ``<paper>/...``.
        condition_order: conditions of figures that no number is reported of; it decides colours.
    """

    artifacts: Sequence[Artifact]
    features: Mapping[str, Features] = field(default_factory=dict)
    vectors: Mapping[str, TokenVectors] = field(default_factory=dict)
    means: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    retrieval: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    static_families: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    distances: Mapping[str, Distances] = field(default_factory=dict)
    condition_order: Sequence[str] = ()
