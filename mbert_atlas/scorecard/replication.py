"""The pages that a reader starts from: one per paper, that can be sent away, and the index."""

from __future__ import annotations

import base64
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pandas as pd

import mbert_atlas
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.files import atomic_path
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.page import FigureLink
from mbert_atlas.scorecard.prose import bullets, table_rows
from mbert_atlas.scorecard.tables import Table, environment, lay_out, was_run
from mbert_atlas.scorecard.verdicts import RULE, VERDICTS
from mbert_atlas.scorecard.views import ClaimView, claim_views, glance

_DEVIATIONS, _PROTOCOLS = "Deviations and choices", "The two protocols"
_WORLD = "with the data and the encoder of this run"
_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


@dataclass(frozen=True)
class Setting:
    """What verdicts are about.

    Attributes:
        run_name: preset or name of the run.
        comparable: whether data and encoder are the papers'.
        world: where they are not: what stands in their place, in words.
    """

    run_name: str
    comparable: bool
    world: str | None

    @property
    def words(self) -> str:
        """The world in words, to be read after "it holds"."""
        return "here" if self.comparable else self.world or _WORLD


@dataclass(frozen=True)
class _Image:
    title: str
    data: str


@dataclass(frozen=True)
class _Section:
    key: str
    views: list[ClaimView]
    figures: list[_Image]
    tables: list[Table]
    not_run: list[Table]


@dataclass(frozen=True)
class _Thumbnail:
    title: str
    target: str
    image: str


@dataclass(frozen=True)
class _Paper:
    key: str
    title: str
    views: list[ClaimView]
    counts: dict[str, dict[str, int]]
    figures: list[_Thumbnail]


def write_replication(
    claims: pd.DataFrame,
    output: Path,
    *,
    paper: str,
    title: str,
    setting: Setting,
    scorecard: pd.DataFrame,
    contrasts: Sequence[rules.Contrast],
    artifacts: Sequence[str],
    figures: Sequence[FigureLink],
    prose: str,
    cost: pd.DataFrame,
    names: Mapping[str, str],
    conditions: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Write the page of one paper, figures and all in one file.

    Args:
        claims: verdicts, of this paper among others.
        output: the HTML file.
        paper: key of the paper.
        title: of the paper.
        setting: what the verdicts are about.
        scorecard: what :func:`.compare.compare` returns for the paper.
        contrasts: how its tables are starred.
        artifacts: what is shown, in this order.
        figures: its drawings; beside each SVG lies a PNG, and the smaller of the two is taken in.
        prose: its page in ``docs/papers``, whose deviations and protocols are taken over.
        cost: what :func:`.cost.collect_cost` returns; the paper's part and the shared one count.
        names: language code to English name.
        conditions: by ``paper/artifact`` what its conditions are called, if not as usual.

    Raises:
        AtlasError: if the disk is full.
    """
    own = claims[claims["paper"] == paper]
    views = claim_views(own, names, comparable=setting.comparable)
    sections = [
        _Section(
            artifact,
            [view for view in views if view.artifact == artifact],
            [_Image(each.title, _embedded(each)) for each in figures if each.artifact == artifact],
            *(
                lay_out(part, names, contrasts, rows, (conditions or {}).get(f"{paper}/{artifact}"))
                for part in (rows[was_run(rows)], rows[~was_run(rows)])
            ),
        )
        for artifact in artifacts
        for rows in [scorecard[scorecard["artifact"] == artifact]]
    ]
    text = _render(
        "replication.html.j2",
        setting,
        paper=paper,
        title=title,
        views=views,
        counts=glance(own),
        rule=RULE,
        sections=list(artifacts),
        artifacts=sections,
        deviations=bullets(prose, _DEVIATIONS),
        protocol_rows=table_rows(prose, _PROTOCOLS),
        cost=cost[cost["paper"].isin([paper, "shared"])].to_dict("records"),
        provenance=provenance(),
    )
    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_index(
    claims: pd.DataFrame,
    output: Path,
    *,
    titles: Mapping[str, str],
    setting: Setting,
    figures: Sequence[FigureLink],
    links: Mapping[str, str],
    part: str = "",
) -> None:
    """Write the page to start from; all that it links lies in the folder of the run.

    Args:
        claims: verdicts, of all papers.
        output: the HTML file.
        titles: of the papers, by key, in their order.
        setting: what the verdicts are about.
        figures: drawings to show small.
        links: what else there is, file to words.
        part: what the run is shown of, if not all.

    Raises:
        AtlasError: if the disk is full.
    """
    papers = [
        _Paper(
            key,
            title,
            claim_views(claims[claims["paper"] == key], {}, comparable=setting.comparable),
            glance(claims[claims["paper"] == key]),
            [
                _Thumbnail(
                    figure.title,
                    _relative(figure.path, output),
                    _relative(figure.path.with_suffix(".png"), output),
                )
                for figure in figures
                if figure.paper == key
            ],
        )
        for key, title in titles.items()
    ]
    text = _render("index.html.j2", setting, papers=papers, links=links, part=part)
    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8")


def provenance() -> dict[str, str]:
    """Return what made the numbers, by name."""
    return {
        "mbert-atlas": mbert_atlas.__version__,
        "Python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
    }


def _render(template: str, setting: Setting, **content: object) -> str:
    return (
        environment()
        .get_template(template)
        .render(
            run_name=setting.run_name,
            comparable=setting.comparable,
            world=setting.words,
            protocols=PROTOCOLS,
            verdict_names=VERDICTS,
            **content,
        )
    )


def _relative(path: Path, page: Path) -> str:
    return Path(os.path.relpath(path, page.parent)).as_posix()


def _embedded(figure: FigureLink) -> str:
    """Return the smaller of a drawing and its PNG as a data URL."""
    both = (figure.path, figure.path.with_suffix(".png"))
    found = [path for path in both if path.exists()]
    smallest = min(found, key=lambda path: path.stat().st_size)
    content = base64.b64encode(smallest.read_bytes()).decode()
    return f"data:{_TYPES[smallest.suffix]};base64,{content}"
