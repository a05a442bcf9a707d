"""The pages that a reader starts from: one self-contained page per paper, and the index."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.tables import lay_out_parts
from mbert_atlas.scorecard.templates import FigureLink, Setting, provenance, render
from mbert_atlas.scorecard.views import bullets, claim_views, count_verdicts, table_rows

_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


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
) -> None:
    """Write the page of one paper, with its figures embedded; the claims are those of all papers.

    It quotes the deviations and protocols of ``prose``, the paper's page in ``docs/papers``, and
    shows the shared part of the cost next to the paper's. Raises AtlasError if the disk is full.
    """
    claims = claims[claims["paper"] == paper]
    views = claim_views(claims, setting.names, comparable=setting.comparable)
    sections = []
    for key in artifacts:
        labels = setting.labels(f"{paper}/{key}", contrasts)
        tables, not_run = lay_out_parts(scorecard[scorecard["artifact"] == key], labels)
        section = {
            "key": key,
            "views": [view for view in views if view.row["artifact"] == key],
            "figures": [(each.title, _data_url(each)) for each in figures if each.artifact == key],
            "tables": tables,
            "not_run": not_run,
        }
        sections.append(section)
    render(
        "replication.html.j2",
        output,
        setting,
        paper=paper,
        title=title,
        views=views,
        counts=count_verdicts(claims),
        artifacts=sections,
        deviations=bullets(prose, "Deviations and choices"),
        protocol_rows=table_rows(prose, "The two protocols"),
        cost=cost[cost["paper"].isin([paper, "shared"])].to_dict("records"),
        provenance=provenance(),
    )


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
    """Write the page to start from: papers in the order of their titles, claims, small figures.

    ``links`` are other files of the run's folder with a description, ``part`` is the part of the
    run that is shown, if not all. Raises AtlasError if the disk is full.
    """
    papers = []
    for key, title in titles.items():
        of_paper = claims[claims["paper"] == key]
        section = {
            "key": key,
            "title": title,
            "views": claim_views(of_paper, {}, comparable=setting.comparable),
            "counts": count_verdicts(of_paper),
            "figures": [figure for figure in figures if figure.paper == key],
        }
        papers.append(section)
    render("index.html.j2", output, setting, papers=papers, links=links, part=part)


def _data_url(figure: FigureLink) -> str:
    """Return the smaller of a figure's SVG and PNG as a data URL."""
    both = (figure.path, figure.path.with_suffix(".png"))
    smallest = min(filter(Path.exists, both), key=lambda path: path.stat().st_size)
    content = base64.b64encode(smallest.read_bytes()).decode()
    return f"data:{_TYPES[smallest.suffix]};base64,{content}"
