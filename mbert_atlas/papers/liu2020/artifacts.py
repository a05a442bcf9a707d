"""The paper's figures and tables, with the files behind each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.papers.liu2020.config import SHORT_WINDOW, Section, inference_family
from mbert_atlas.plan.paths import path
from mbert_atlas.plan.records import (
    Artifact,
    Measurement,
    PaperPlan,
    figures_by_protocol,
    measured,
    table_artifact,
)

if TYPE_CHECKING:
    from mbert_atlas.plan.plan import Plan

_PAPER = "liu2020"
_MEASURES = f"papers.{_PAPER}.measures"


def plan_paper(plan: Plan) -> PaperPlan:
    """Return the artifacts of Liu et al. (2020)."""
    paper = _section(plan)
    compared = {name: list(_compared(paper, name)) for name in _COMPARISONS}
    # Figure 6b names conditions by size.
    by_kind = [some for name, some in compared.items() if name != "figure6b"]
    order = list(dict.fromkeys(condition for some in by_kind for condition, _ in some))
    classifier = paper.inference.network.model_dump()
    return PaperPlan(
        [
            *(_comparison(plan, name, some, order) for name, some in compared.items() if some),
            *_token_translation(paper),
            _table4(plan),
        ],
        means={paper.means: {"encoding": paper.mean_encoding, "texts": paper.mean_texts}},
        retrieval={paper.retrieval.dictionary: paper.retrieval.model_dump(exclude={"dictionary"})},
        static_families={inference_family(paper, paper.embeddings.reference): classifier},
    )


def _section(plan: Plan) -> Section:
    section: Section = cast(Any, plan.config).liu2020
    return section


# Figures 1 to 6: embeddings by data size and window


class _Comparison(NamedTuple):
    """A figure of scores by language and embedding; of one data size, or by window."""

    title: str
    task: str
    measure: str
    size: str = ""


_RETRIEVAL = ("word_retrieval", "measure_retrieval")
_COMPARISONS = {
    "figure1": _Comparison("Word retrieval", *_RETRIEVAL, "200k"),
    "figure2": _Comparison("Zero-shot XNLI", "xnli", "measure_xnli", "200k"),
    "figure3": _Comparison("Word retrieval", *_RETRIEVAL, "1000k"),
    "figure4": _Comparison("Zero-shot XNLI", "xnli", "measure_xnli", "1000k"),
    "figure5": _Comparison("Word retrieval by window", *_RETRIEVAL),
    "figure6a": _Comparison("Zero-shot XNLI by window", "xnli", "measure_xnli"),
    "figure6b": _Comparison(
        "Relative accuracy drop on XNLI with the short window", "xnli", "measure_accuracy_drop"
    ),
}


class _Embedding(NamedTuple):
    """An encoder or static vectors: name in the config, and number among those of its kind."""

    name: str
    number: int
    kind: str
    size: str
    window: str = ""


_Compared = Sequence[tuple[str, _Embedding]]
"""Conditions of a figure with their embeddings."""


def _embeddings(paper: Section) -> Iterator[_Embedding]:
    embeddings = paper.embeddings
    for size, windows in embeddings.pretrained.items():
        for method, names in embeddings.static.get(size, {}).items():
            for number, name in enumerate(names, 1):
                yield _Embedding(name, number, method, size)
        for window, names in windows.items():
            for number, name in enumerate(names, 1):
                yield _Embedding(name, number, "bert", size, window)
        yield _Embedding(embeddings.reference, 1, "google_bert", size)


def _compared(paper: Section, figure: str) -> Iterator[tuple[str, _Embedding]]:
    size = _COMPARISONS[figure].size
    for item in _embeddings(paper):
        if size and item.size == size and item.window != SHORT_WINDOW:
            yield item.kind, item
        elif not size and item.window:
            by_window = f"bert_{item.window}_{item.size}"
            yield item.size if figure == "figure6b" else by_window, item


def _comparison(plan: Plan, name: str, compared: _Compared, order: Sequence[str]) -> Artifact:
    title, task, measure, size = _COMPARISONS[name]
    if size:
        trained = next(item.name for _, item in compared if item.window)
        scratch = cast(Any, plan.config.encoders[trained].scratch)
        title += f", {scratch.pretraining.sentences_per_language:,} sentences per language"
    cells = _retrieval_cells if task == "word_retrieval" else _xnli_cells
    measurement = Measurement(
        name, f"{_MEASURES}:{measure}", lambda: list(cells(plan, compared)), columns={"task": task}
    )
    return Artifact(
        name,
        title,
        f"**{title}.** Scores by language; `average` is the mean of the languages other than "
        "English. Small dots are seeds, large ones their mean. One panel per protocol.",
        measurements=[measurement],
        figures=[plan.transfer_figure(_PAPER, name, title, figures_only=order)],
    )


def _retrieval_cells(plan: Plan, compared: _Compared) -> Iterator[Cell]:
    dictionary = _section(plan).retrieval.dictionary
    for condition, item in compared:
        for code in plan.config.datasets[dictionary].languages:
            ranks = path("retrieval", encoder=item.name, dictionary=dictionary, language=code)
            yield Cell(condition=condition, language=code, seed=item.number, path=ranks)


def _xnli_cells(plan: Plan, compared: _Compared) -> Iterator[Cell]:
    paper = _section(plan)
    for condition, item in compared:
        is_static = item.kind not in ("bert", "google_bert")
        encoder = paper.embeddings.reference if is_static else item.name
        family = inference_family(paper, encoder)
        for protocol, run, seed in plan.seeded_runs(family):
            predictions = plan.predictions(run, seed)
            if is_static:
                place = {"static": item.name, "family": family, "seed": seed}
                predictions = path("static_predictions", **place)
            for code in paper.inference.languages:
                yield Cell(
                    task="xnli",
                    kind="nli",
                    dataset=paper.inference.dataset,
                    source="en",
                    language=code,
                    condition=condition,
                    protocol=protocol,
                    seed=100 * (item.number - 1) + seed,  # the two seeds in one number
                    path=predictions,
                    facts={"window": item.window} if item.window else {},
                )


# Tables 1 to 3, Figures 7 and 8: token translation


def _token_translation(paper: Section) -> list[Artifact]:
    languages, settings = paper.translation.languages, paper.translation.model_dump()
    best = {"layers": paper.layers}
    best |= {key: settings[key] for key in ("best_of", "rate_layer", "score_layer")}
    examples = [("en", code) for code in paper.translation.shown_sentences]
    directions = [pair for code in languages for pair in (("en", code), (code, "en"))]
    sentences = path("parallel_tokens", encoder=paper.embeddings.reference)
    chosen = _translation(paper, "table1", "measure_translation", examples, best)
    scores = _translation(paper, "table2", "measure_translation", directions, best)
    token_sets = Measurement(
        "table3",
        f"{_MEASURES}:count_token_sets",
        lambda: [Cell(path=sentences)],
        columns={"task": "token_set", "model": "mbert"},
    )
    return [
        _by_weight(paper, "figure7", "Convert rate by alpha", "convert_rate"),
        _by_weight(paper, "figure8", "BLEU-1 by alpha and by layer", "bleu1"),
        table_artifact(
            "table1",
            "Examples of token translation",
            [chosen],
            facts_from=f"<results>/samples/{_PAPER}/table1.json",
            highlight=True,
        ),
        table_artifact(
            "table2", "BLEU-1 and convert rates of token translation", [scores], highlight=True
        ),
        table_artifact(
            "table3", "Tokens of each language, and those shared with English", [token_sets]
        ),
    ]


def _by_weight(paper: Section, name: str, title: str, metric: str) -> Artifact:
    direction = ("en", paper.translation.drawn)
    score = {"convert_rate": "Convert rate", "bleu1": "BLEU-1 against the translations"}[metric]
    measurement = _translation(paper, name, "measure_by_weight", [direction], {"metric": metric})
    draw, options = f"papers.{_PAPER}.figures:draw_by_weight", {"title": title, "metric": metric}
    return Artifact(
        name,
        title,
        f"**{title}.** {score} of sentences shifted from one language to another, by the layer "
        "that is shifted and the weight of the shift, alpha.",
        measurements=[measurement],
        figures=figures_by_protocol(name, draw, lambda: measured(_PAPER, name), options),
    )


def _translation(
    paper: Section,
    name: str,
    measure: str,
    directions: Sequence[tuple[str, str]],
    options: dict[str, Any],
) -> Measurement:
    folder = f"<results>/translation/{paper.embeddings.reference}"
    cells = [
        Cell(source=source, language=target, path=f"{folder}/{source}-{target}.parquet")
        for source, target in directions
    ]
    return Measurement(
        name,
        f"{_MEASURES}:{measure}",
        lambda: cells,
        lambda: options,
        columns={"task": "token_translation", "model": "mbert"},
    )


# Table 4: zero-shot transfer with a shift


def _table4(plan: Plan) -> Artifact:
    paper = _section(plan)
    choice = {
        "test": paper.inference.dataset,
        "development": paper.transfer.development,
        "chosen_in": paper.transfer.chosen_in,
    }
    measurement = Measurement(
        "table4",
        f"{_MEASURES}:measure_shifted",
        lambda: [*_unshifted_cells(plan), *_shifted_cells(plan)],
        lambda: choice,
        columns={"task": "xnli", "model": "mbert"},
    )
    title = "Zero-shot XNLI by trained layers, with and without the shift"
    return table_artifact("table4", title, [measurement])


def _unshifted_cells(plan: Plan) -> Iterator[Cell]:
    paper = _section(plan)
    for row, (family, _) in paper.transfer.runs.items():
        for protocol in PROTOCOLS:
            yield from plan.cells(
                plan.runs.get(family, None, protocol),
                paper.transfer.languages,
                task="xnli",
                dataset=paper.inference.dataset,
                source="en",
                condition=f"{row}_all_layers",
                protocol=protocol,
            )


def _shifted_cells(plan: Plan) -> Iterator[Cell]:
    for row, (_, family) in _section(plan).transfer.runs.items():
        for protocol, run, seed in plan.seeded_runs(family):
            yield Cell(
                condition=f"{row}_last_6_layers",
                protocol=protocol,
                seed=seed,
                paths={"shifted": f"<results>/shifted/{run.id}/seed{seed}.{protocol}.parquet"},
            )
