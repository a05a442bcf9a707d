"""Tables 1 to 9, Figures 1 and 2, section 5.4: what is measured, and how it is shown."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.transfer import TransferTable
from mbert_atlas.labels import listed
from mbert_atlas.papers.efimov2022.claims import TITLES
from mbert_atlas.plan.paths import path
from mbert_atlas.plan.records import Artifact, Distances, Figure, Measurement, PaperPlan, Table
from mbert_atlas.plan.runs import RunTable

if TYPE_CHECKING:
    from mbert_atlas.plan.plan import Plan

PAPER = "efimov2022"
_SIZE = re.compile(r"(\w+)_(\d+)K")
_HIGHLIGHTS = ("figure1", "table2")
_FIGURE1 = """\
**Efimov et al. 2022, Figure 1.** L2 distances between last-layer vectors of related (aligned) and
unrelated word pairs, English and another language. Lines are means over seeds, bands run from the
lowest to the highest seed. Two things to look for: adjustment should move related pairs to the left
and leave unrelated ones where they are (the separation AUC rises, the ratio of means falls);
fine-tuning on English reduces the distances of both kinds."""
_FIGURE2 = """\
**Efimov et al. 2022, Figure 2.** L2 distances between last-layer vectors of related and unrelated
word pairs: a column per language, a row per model. Read downwards: adjustment separates the two
kinds, fine-tuning on English reduces all distances whatever the task, continual learning keeps them
apart."""


def plan_paper(plan: Plan) -> PaperPlan:
    """Return the artifacts of the paper, and the distances that its figures need."""
    paper = plan.config.efimov2022  # type: ignore[attr-defined]
    figures = {name: _distance_figure(plan, name, item) for name, item in paper.figures.items()}
    tables = [_transfer_table(plan, name, item) for name, item in paper.tables.items()]
    return PaperPlan(
        artifacts=[*figures.values(), _language_table(plan), *tables],
        # The models of each figure are a job, so that Figure 1 needs none of Figure 2's tasks.
        distances={
            f"{PAPER}/{name}": Distances(
                encoder=paper.model,
                bitext=paper.bitext,
                pairs=paper.pairs,
                panels=dict.fromkeys(item.languages, item.panels),
            )
            for name, item in paper.figures.items()
        },
    )


def _distance_figure(plan: Plan, name: str, item: Any) -> Artifact:
    panels = list(item.panels)

    def cells(kind: str, languages: list[str]) -> list[Cell]:
        return [
            Cell(
                language=code,
                seed=seed,
                path=path(kind, distances=f"{PAPER}/{name}", language=code, seed=seed),
            )
            for code in languages
            for seed in plan.config.seeds
        ]

    measurement = Measurement(
        name,
        measure=f"papers.{PAPER}.measures:measure_separation",
        cells=partial(cells, "distance_summary", item.languages),
        options=lambda: {"panels": panels, "shares": name == "figure2"},
        columns={"model": plan.config.efimov2022.model, "source": "en"},  # type: ignore[attr-defined]
    )
    if name == "figure1":
        figures = [
            Figure(
                f"{name}.{code}.{protocol}",
                draw=f"papers.{PAPER}.figures:draw_distances",
                cells=partial(cells, "distances", [code]),
                options=partial(
                    dict, panels=panels, language=plan.languages[code].name, protocol=protocol
                ),
                language=code,
                protocol=protocol,
            )
            for code in item.languages
            for protocol in PROTOCOLS
        ]
    else:
        figures = [
            Figure(
                f"{name}.{protocol}",
                draw=f"papers.{PAPER}.figures:draw_distance_grid",
                cells=partial(cells, "distances", item.languages),
                options=partial(
                    dict, panels=panels, names=plan.language_names(), protocol=protocol
                ),
                protocol=protocol,
            )
            for protocol in PROTOCOLS
        ]
    return Artifact(
        name,
        title="Distances of word pairs",
        caption=_FIGURE1 if name == "figure1" else _FIGURE2,
        measurements=[measurement],
        figures=figures,
        highlight=name in _HIGHLIGHTS,
    )


def _language_table(plan: Plan) -> Artifact:
    paper = plan.config.efimov2022  # type: ignore[attr-defined]
    return Artifact(
        "table1",
        title="Languages",
        measurements=[
            Measurement(
                "table1",
                measure=f"papers.{PAPER}.measures:count_articles",
                cells=lambda: [
                    Cell(
                        language=code,
                        path=path("language_card", dataset=paper.pages, language=code),
                    )
                    for code in paper.languages
                ],
                columns={
                    "task": "wikipedia",
                    "model": paper.model,
                    "source": "en",
                    "metric": "n_pages",
                },
            )
        ],
        tables=[
            Table(
                "table1",
                ["table1"],
                facts=[
                    {
                        "language": item.name,
                        "family": f"{item.family} / {item.genus}",
                        "script": item.script,
                        "word order": item.word_order,
                    }
                    for item in [plan.languages[code] for code in paper.languages]
                ],
            )
        ],
    )


def _transfer_table(plan: Plan, name: str, table: TransferTable) -> Artifact:
    languages = listed([plan.languages[code].name for code in table.languages])
    title = TITLES[name].format(languages=languages)
    conditions = conditions_by_size(table, plan.runs)
    return Artifact(
        name,
        title=title,
        measurements=[
            Measurement(
                name,
                measure="analysis.transfer:measure_transfer",
                cells=lambda: plan.transfer_cells(table),
                options=lambda: table.model_dump(include={"against", "gains_over"}),
                columns={"model": table.model},
            )
        ],
        figures=[
            Figure(
                name,
                draw="figures.transfer:draw_transfer",
                cells=lambda: [Cell(path=plan.measurement(PAPER, name))],
                options=lambda: {
                    "title": title,
                    "names": plan.language_names(),
                    "conditions": conditions,
                    "order": plan.condition_order(PAPER),
                },
                reported=True,
            )
        ],
        tables=[Table(name, [name])],
        conditions=conditions,
        highlight=name in _HIGHLIGHTS,
    )


def conditions_by_size(table: TransferTable, runs: RunTable) -> dict[str, str]:
    """Return the names of conditions that are named by a number of sentences: the config's number.

    ``adjusted_30K`` is ``adjusted, 1,500 sentences (30K in the paper)`` where the config says so.
    """
    names = {}
    for test in table.tests.values():
        for _, condition, shown in table.families(test):
            if match := _SIZE.fullmatch(condition):
                family, _, fixed = shown.partition("/")
                language = fixed or (test.languages or table.languages)[0]
                start = runs.get(family, language, "published").start
                if start is None:
                    continue
                number = runs[start].specification["hyperparameters"]["sentences"]
                differs = number != 1000 * int(match[2])
                paper = f" ({match[2]}K in the paper)" if differs else ""
                names[condition] = f"{match[1]}, {number:,} sentences{paper}"
    return names
