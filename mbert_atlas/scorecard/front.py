"""The page to start from: what was run, on what, with which findings; and a table of all claims."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.corpora.cards import corpora_read
from mbert_atlas.labels import listed
from mbert_atlas.scorecard.counts import count_verdicts, finding, headlines, of_paper
from mbert_atlas.scorecard.learning import Family
from mbert_atlas.scorecard.results import cost_of, data_read, with_sizes
from mbert_atlas.scorecard.templates import FigureLink, Setting, artifact_name, provenance, render
from mbert_atlas.scorecard.verdicts import DECIDED, IN_CONTROL, NOT_RUN, VERDICTS
from mbert_atlas.scorecard.views import ClaimView, claim_views


def write_index(
    claims: pd.DataFrame,
    output: Path,
    *,
    titles: Mapping[str, str],
    setting: Setting,
    figures: Sequence[FigureLink],
    links: Mapping[str, str],
    root: Path,
    part: str = "",
    families: Sequence[Family] = (),
) -> None:
    """Write the page to start from: the run, and per paper a sentence and the headline claims.

    Papers are in the order of their titles. ``links`` are other files of the page's folder with a
    description, ``root`` is the folder of the run, with its data and measurements, ``part`` the
    part of the run that is shown, if not all. The ``families`` of :func:`.learning.families_of`
    tell which trainings are at chance. Raises AtlasError if the disk is full.
    """
    papers = [
        _section(claims[claims["paper"] == key], key, title, setting, figures)
        for key, title in titles.items()
    ]
    corpora = corpora_read(root / "data")
    render(
        "index.html.j2",
        output,
        setting,
        papers=papers,
        contents={
            "found": "What was found",
            **{paper["key"]: paper["title"].partition(":")[0] for paper in papers},
            **({"data": "Data"} if corpora else {}),
            "files": "Files",
        },
        used_verdicts=[
            name
            for name in VERDICTS
            if any(counts[name] for paper in papers for counts in paper["counts"].values())
        ],
        verdicts_given={*claims["verdict"]},
        decided={
            verdict: [
                (section, view)
                for section in papers
                for view in section["first"]
                if view.verdicts["corrected"] == verdict
            ]
            for verdict in (*DECIDED, IN_CONTROL)
        },
        facts=run_facts(claims, setting, output.parent, root),
        links=links,
        measurements=root / "measurements",
        corpora=corpora,
        part=part,
        families=families,
    )


def _section(
    claims: pd.DataFrame, key: str, title: str, setting: Setting, figures: Sequence[FigureLink]
) -> dict[str, Any]:
    """Return what the page shows of one paper."""
    every = claim_views(claims, setting)
    views = [view for view in every if not view.is_control]
    run = [view for view in views if view.was_run]
    is_first = "yes" if any(view.row["headline"] for view in views) else ""
    first = [view for view in run if view.row["headline"] == is_first]
    not_run = [view for view in views if view not in run]
    drawn = [one for one in figures if one.paper == key]
    order = sorted(drawn, key=lambda one: "corrected" not in one.path.name)
    return {
        "key": key,
        "title": title,
        "first": first,
        "finding": finding(claims),
        "counts": count_verdicts(headlines(claims), once=False),
        "encoders": _encoders_by_claim(setting, key, first),
        "run": [view for view in run if view not in first],
        "controls": [view for view in every if view.is_control],
        "not_run": sorted(not_run, key=lambda view: view.row["headline"] != "yes"),
        "figures": drawn,
        "pictures": {one.artifact: one for one in reversed(order)},  # the first one stays
    }


def run_facts(claims: pd.DataFrame, setting: Setting, folder: Path, root: Path) -> dict[str, str]:
    """Return what was run, on which data and encoders, when, how long and by which version.

    What no file states is left out; ``folder`` is that of claims.csv and cost.csv.
    """
    claims = of_paper(claims)
    run = claims[claims["verdict"] != NOT_RUN]
    papers = [paper for paper in setting.models if paper in {*run["paper"]}]
    models = [setting.labels(f"{paper}/").models for paper in papers]
    encoders = dict.fromkeys(text for named in models for text in named.values())
    used = setting.record.get("encoders", {})  # without a record of runs there are none
    described = with_sizes(used, root)
    sources = _in_words({name: described[name] for name in used})
    file, versions = folder / "claims.csv", provenance(setting)
    count = run["paper"].nunique()
    facts = {
        "what was run": (
            f"experiments of {count} paper{'s' * (count != 1)} on multilingual BERT, which test "
            f"{len(run[['paper', 'id']].drop_duplicates())} of the "
            f"{len(claims[['paper', 'id']].drop_duplicates())} claims in their texts"
        ),
        "data": data_read(root),
        **{name: text for name, text in setting.facts.items() if name.startswith("languages")},
        "encoders": "\n".join(sources or encoders),
        "when": f"{date.fromtimestamp(file.stat().st_mtime):%d %B %Y}" if file.is_file() else "",
        "how long": cost_of(folder / "cost.csv"),
        "version": ", ".join(f"{name} {versions[name]}" for name in ("mbert-atlas", "torch")),
    }
    return {name: text for name, text in facts.items() if text}


def _encoders_by_claim(setting: Setting, paper: str, views: Sequence[ClaimView]) -> dict[str, str]:
    """Return the encoders of the artifacts that each claim compares, if the paper has several.

    Those of a hub have their name there. Without record of runs, there are none.
    """
    names = {
        name: match[1] if (match := re.match(r"\S+/(\S+) at ", source)) else name
        for name, source in setting.record.get("encoders", {}).items()
    }
    used = {
        name.rpartition("/")[2]: item["encoders"]
        for name, item in setting.record.get("artifacts", {}).items()
        if name.startswith(f"{paper}/") and item.get("encoders")
    }
    texts = {}
    for view in views if len({*map(tuple, used.values())}) > 1 else ():
        compared = [view.row["artifact"], *view.row["contrast"].split()]
        artifacts = [name for name in dict.fromkeys(compared) if name in used]
        encoders = sorted({names[encoder] for name in artifacts for encoder in used[name]})
        if artifacts:
            places = listed([artifact_name(name) for name in artifacts])
            texts[view.row["id"]] = f"encoders of {places}: {', '.join(encoders)}"
    return texts


def _in_words(encoders: Mapping[str, str]) -> list[str]:
    """Return what encoders are, each once, with their names in the config."""
    names: dict[str, list[str]] = {}
    for name, text in encoders.items():
        names.setdefault(text, []).append(f"“{name}”")
    return [f"{text} ({listed(same)} in the config)" for text, same in names.items()]


def write_claims(claims: pd.DataFrame, output: Path, *, setting: Setting, library: Path) -> None:
    """Write all claims as one table, a row per protocol, that sorts and filters with ``library``.

    That is the folder of what :func:`.interactive.write_library` wrote. Raises AtlasError if the
    disk is full.
    """
    views = [
        view
        for _, of_paper in claims.groupby("paper", sort=False)
        for view in claim_views(of_paper, setting)
    ]
    render("claims.html.j2", output, setting, views=views, library=library)
