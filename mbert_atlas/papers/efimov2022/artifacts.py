"""Tables 1 to 9, Figures 1 and 2, section 5.4: measurements and plots."""

import re
from dataclasses import replace
from functools import partial
from itertools import product

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import Protocol
from mbert_atlas.config.transfer import TransferTable
from mbert_atlas.labels import listed
from mbert_atlas.papers.efimov2022.config import CONTRASTS, Histograms, Section, needs_of
from mbert_atlas.plan.files import alignment_of
from mbert_atlas.plan.paths import path
from mbert_atlas.plan.plan import Plan
from mbert_atlas.plan.records import (
    Artifact,
    Curves,
    Distances,
    Measurement,
    PaperPlan,
    figures_by_protocol,
    read_texts,
    table_artifact,
)
from mbert_atlas.plan.runs import Run, RunTable

PAPER = "efimov2022"
_TEXTS = read_texts(PAPER)
_SIZE = re.compile(r"(\w+)_(\d+)K")


def plan_paper(plan: Plan) -> PaperPlan:
    """Return the artifacts of the paper, and the distances that its figures need."""
    paper: Section = plan.config.efimov2022  # type: ignore[attr-defined]
    figures = {str(name): item for name, item in paper.figures.items() if item.panels}
    return PaperPlan(
        _TEXTS["paper"],
        contrasts=CONTRASTS,
        curves=[Curves("figures.transfer:scores_by_language", ["table2"], "", "accuracy (%)")],
        needs=needs_of(plan.config),
        models={"embert_hi": "embert-hi"},
        artifacts=[
            *(_distance_figure(plan, paper, name, item) for name, item in figures.items()),
            _language_table(plan, paper),
            *(_transfer_table(plan, name, item) for name, item in paper.tables.items()),
        ],
        # The models of each figure are a job, so that Figure 1 needs none of Figure 2's tasks.
        distances={
            f"{PAPER}/{name}": Distances(
                encoder=paper.model,
                bitext=paper.bitext,
                pairs=paper.pairs,
                panels=dict.fromkeys(item.languages, item.panels),
            )
            for name, item in figures.items()
        },
    )


def _distance_figure(plan: Plan, paper: Section, name: str, item: Histograms) -> Artifact:
    is_grid = name == "figure2"

    def cells(kind: str, languages: list[str]) -> list[Cell]:
        place = partial(path, kind, distances=f"{PAPER}/{name}")
        return [
            Cell(language=code, seed=seed, path=place(language=code, seed=seed))
            for code in languages
            for seed in plan.distance_seeds(f"{PAPER}/{name}", code)
        ]

    options = {"panels": list(item.panels), "names": plan.language_names()}
    draw = f"papers.{PAPER}.figures:draw_distance{'_grid' if is_grid else 's'}"
    groups = {"all": item.languages} if is_grid else {code: [code] for code in item.languages}
    return Artifact(
        name,
        title="Distances of word pairs",
        caption=_TEXTS["captions"][name],
        measurements=[
            Measurement(
                name,
                measure=f"papers.{PAPER}.measures:measure_separation",
                cells=partial(cells, "distance_summary", item.languages),
                options=lambda: {"shares": is_grid},
                columns={"model": paper.model, "source": "en"},
            )
        ],
        figures=[
            figure
            for code, languages in groups.items()
            for figure in figures_by_protocol(
                name if is_grid else f"{name}.{code}",
                draw,
                partial(cells, "distances", languages),
                options,
                language=code,
            )
        ],
        highlight=not is_grid,
    )


def _language_table(plan: Plan, paper: Section) -> Artifact:
    measurement = Measurement(
        "table1",
        measure=f"papers.{PAPER}.measures:count_articles",
        cells=lambda: [
            Cell(language=code, path=path("language_card", dataset=paper.pages, language=code))
            for code in paper.languages
        ],
        columns={"task": "wikipedia", "model": paper.model, "source": "en", "metric": "n_pages"},
    )
    facts = [
        {
            "language": item.name,
            "family": f"{item.family} / {item.genus}",
            "script": item.script,
            "word order": item.word_order,
        }
        for item in (plan.languages[code] for code in paper.languages)
    ]
    return table_artifact("table1", "Languages", [measurement], facts=facts)


def _transfer_table(plan: Plan, name: str, table: TransferTable) -> Artifact:
    languages = listed([plan.languages[code].name for code in table.languages])
    title = _TEXTS["titles"][name].format(languages=languages)
    conditions = {**_by_language(plan, table), **conditions_by_size(table, plan.runs)}
    measurement = Measurement(
        name,
        measure="analysis.transfer:measure_transfer",
        cells=lambda: plan.transfer_cells(table),
        options=lambda: table.model_dump(include={"against", "gains_over"}),
        columns={"model": table.model},
    )
    more = {"table3": lambda: _floor(plan, table), "aligners": lambda: _links(plan, table)}
    return table_artifact(
        name,
        title,
        [measurement, *more.get(name, list)()],
        figures=[plan.transfer_figure(PAPER, name, title, conditions)],
        conditions=conditions,
        highlight=name == "table2",
    )


def _floor(plan: Plan, table: TransferTable) -> list[Measurement]:
    """Return the score of giving all words one tag; none without the condition ``original``.

    The gold tags are those of one run per language.
    """

    def cells() -> list[Cell]:
        originals = [cell for cell in plan.transfer_cells(table) if cell.condition == "original"]
        by_test = {(cell.task, cell.language, cell.protocol): cell for cell in originals}
        return [replace(cell, seed=None) for cell in by_test.values()]

    columns = {"model": table.model}
    measure = f"papers.{PAPER}.measures:measure_constant"
    record = Measurement("table3_constant", measure, cells, columns=columns)
    return [record] if table.conditions.get("original") else []


def _links(plan: Plan, table: TransferTable) -> list[Measurement]:
    """Return the scores of the word links behind each condition; none without gold links."""

    def cells() -> list[Cell]:
        links: dict[tuple[str, str, Protocol], str] = {}
        for test, protocol in product(table.tests.values(), table.protocols):
            for _, condition, shown in table.families(test):
                family, _, fixed = shown.partition("/")
                for language in test.languages or table.languages:
                    run = plan.runs.get(family, fixed or language, protocol)
                    if not (adjustment := _adjustment(plan.runs, run)):
                        continue
                    words = alignment_of(adjustment)
                    if plan.gold(words["dataset"], language):
                        links[condition, language, protocol] = path("links_card", **words)
        return [
            Cell(condition=condition, language=language, protocol=protocol, path=card)
            for (condition, language, protocol), card in links.items()
        ]

    columns = {"task": "word_alignment", "model": table.model, "source": "en"}
    measure = f"papers.{PAPER}.measures:measure_links"
    record = Measurement("aligners_links", measure, cells, columns=columns)
    return [record] if cells() else []


def _adjustment(runs: RunTable, run: Run) -> Run | None:
    """Return the last adjustment below a run, if there is one."""
    while run.start:
        run = runs[run.start]
        if run.kind == "adjustment":
            return run
    return None


def _by_language(plan: Plan, table: TransferTable) -> dict[str, str]:
    """Return the names of conditions that are named by the language of the adjustment."""
    languages = plan.language_names()
    papers = {f"adjusted_{code}": name for code, name in languages.items()}
    named = [name for name in plan.condition_order(PAPER) if name in papers]
    names = {name: f"adjusted with {papers[name]}" for name in named}
    for test in table.tests.values():
        for _, condition, family in table.families(test):
            here = languages.get(family.partition("/")[2], "")
            if here and here != papers.get(condition, here):
                names[condition] = f"adjusted with {here} (paper: {papers[condition]})"
    return names


def conditions_by_size(table: TransferTable, runs: RunTable) -> dict[str, str]:
    """Return the names of conditions that are named by a number of sentences: the config's number.

    ``adjusted_30K`` is ``adjusted, 1,500 sentences (30K in the paper)`` if the config has 1,500.
    """
    names = {}
    for test in table.tests.values():
        for _, condition, family in table.families(test):
            if not (match := _SIZE.fullmatch(condition)):
                continue
            family, _, fixed = family.partition("/")
            language = fixed or (test.languages or table.languages)[0]
            if adjustment := _adjustment(runs, runs.get(family, language, "published")):
                number = adjustment.specification["hyperparameters"]["sentences"]
                differs = number != 1000 * int(match[2])
                paper = f" ({match[2]}K in the paper)" if differs else ""
                names[condition] = f"{match[1]}, {number:,} sentences{paper}"
    return names
