"""The paper's figures and tables, with the files behind each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.training import Pretraining
from mbert_atlas.papers.liu2020.config import (
    LONG_WINDOW,
    SHORT_WINDOW,
    Section,
    Size,
    inference_family,
    needs_of,
)
from mbert_atlas.plan.models import brief_name
from mbert_atlas.plan.paths import path
from mbert_atlas.plan.plan import Plan
from mbert_atlas.plan.records import (
    Artifact,
    Cells,
    Curves,
    Measurement,
    PaperPlan,
    figures_by_protocol,
    measured,
    read_texts,
    table_artifact,
)

_PAPER = "liu2020"
_TEXTS = read_texts(_PAPER)
_LAYERS, _UPPER_LAYERS = 12, ["7-12"]
"""Those of the paper's BERT, and those that Table 4 trains."""
_CURVES = [
    Curves("papers.liu2020.figures:convert_rates", ["figure7"], "alpha", "convert rate (%)"),
    Curves("papers.liu2020.figures:from_english", ["table2"], "", "%"),
]


def plan_paper(plan: Plan) -> PaperPlan:
    """Return the artifacts of Liu et al. (2020)."""
    builder = _Builder(plan)
    paper = builder.paper
    compared = {name: list(builder._compared(name)) for name in _COMPARISONS}
    # Figure 6b names conditions by size.
    by_kind = [some for name, some in compared.items() if name != "figure6b"]
    order = list(dict.fromkeys(condition for some in by_kind for condition, _ in some))
    classifier = paper.inference.network.model_dump()
    retrieval = paper.retrieval.model_dump(exclude={"dictionary"})
    return PaperPlan(
        _TEXTS["paper"],
        [
            *(
                builder._comparison(name, some, order)
                for name, some in compared.items()
                if any(item.kind != "google_bert" for _, item in some)
            ),
            *builder._token_translation(),
            *([builder._table4()] if paper.transfer.runs else []),
        ],
        curves=_CURVES,
        means={paper.means: {"encoding": paper.mean_encoding, "texts": paper.mean_texts}},
        retrieval={paper.retrieval.dictionary: retrieval},
        static_families={inference_family(paper, paper.embeddings.reference): classifier},
        needs=needs_of(plan.config),
        models={"mbert": paper.embeddings.reference},
    )


class _Comparison(NamedTuple):
    """A figure of scores by language and embedding; of one data size, or by window."""

    title: str
    measure: str
    size: str = ""


_COMPARISONS = {
    "figure1": _Comparison("Word retrieval", "measure_retrieval", "200k"),
    "figure2": _Comparison("Zero-shot XNLI", "measure_xnli", "200k"),
    "figure3": _Comparison("Word retrieval", "measure_retrieval", "1000k"),
    "figure4": _Comparison("Zero-shot XNLI", "measure_xnli", "1000k"),
    "figure5": _Comparison("Word retrieval by window", "measure_retrieval"),
    "figure6a": _Comparison("Zero-shot XNLI by window", "measure_xnli"),
    "figure6b": _Comparison(
        "Relative accuracy drop on XNLI with the short window", "measure_accuracy_drop"
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


class _Builder:
    """Builds the artifacts."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.paper = plan, cast(Section, cast(Any, plan.config).liu2020)
        self.heads = plan.heads(self.paper.embeddings.reference)

    # Figures 1 to 6: embeddings by data size and window

    def _compared(self, figure: str) -> Iterator[tuple[str, _Embedding]]:
        size, pretrained = _COMPARISONS[figure].size, self.paper.embeddings.pretrained
        for item in _embeddings(self.paper):
            if size and item.size == size and item.window != SHORT_WINDOW:
                yield item.kind, item
            elif not size and item.window and figure != "figure6b":
                yield f"bert_{item.window}_{item.size}", item
            elif not size and item.window:
                windows = pretrained[cast(Size, item.size)].items()
                if {LONG_WINDOW, SHORT_WINDOW} <= {window for window, names in windows if names}:
                    yield item.size, item

    def _comparison(self, name: str, compared: _Compared, order: Sequence[str]) -> Artifact:
        title, measure, size = _COMPARISONS[name]
        embeddings = [item for _, item in compared if item.kind != "google_bert"]
        # Static vectors are trained on the texts of such an encoder.
        trained = max(embeddings, key=lambda item: bool(item.window))
        if size and (pretraining := self._pretraining(trained)):
            sentences = pretraining.sentences_per_language or 0
            paper = 1000 * int(size.removesuffix("k"))
            title += f", {sentences:,} sentences per language"
            title += "" if sentences == paper else f" (paper: {paper:,})"
        names = self._names(name, compared)
        task, cells = "xnli", self._xnli_cells
        if measure == "measure_retrieval":
            task, cells = "word_retrieval", self._retrieval_cells
        return Artifact(
            name,
            title,
            _TEXTS["caption"].format_map(_TEXTS["comparisons"][measure]),
            measurements=[
                _measurement(name, measure, lambda: list(cells(compared)), {"task": task})
            ],
            figures=[self.plan.transfer_figure(_PAPER, name, title, names, figures_only=order)],
            conditions=names,
        )

    def _pretraining(self, item: _Embedding) -> Pretraining | None:
        name = self.plan.static.get(item.name, item.name)
        scratch = self.plan.config.encoders[name].scratch
        return scratch.pretraining if scratch else None

    def _names(self, figure: str, compared: _Compared) -> dict[str, str]:
        """Return the names of conditions that the config decides: windows, sizes, the reference.

        ``bert_20_200k`` is ``window 8, 12,000 sentences (paper: 20, 200k)`` in the demo.
        """
        names, by_window = {}, not _COMPARISONS[figure].size
        for condition, item in compared:
            if item.kind == "google_bert":
                names[condition] = brief_name(self.plan, "mbert", item.name)
            elif item.kind == "bert" and (pretraining := self._pretraining(item)):
                if by_window:
                    names[condition] = _condition_name(item, pretraining, figure != "figure6b")
                elif pretraining.layers != _LAYERS:
                    names[condition] = f"{pretraining.layers}-layer BERT (paper: BERT)"
        return names

    def _retrieval_cells(self, compared: _Compared) -> Iterator[Cell]:
        dictionary = self.paper.retrieval.dictionary
        for condition, item in compared:
            for code in self.plan.config.datasets[dictionary].languages:
                ranks = path("retrieval", encoder=item.name, dictionary=dictionary, language=code)
                paths = {"ranks": ranks, "dictionary": self.plan.table(dictionary, code)}
                yield Cell(condition=condition, language=code, seed=item.number, paths=paths)

    def _xnli_cells(self, compared: _Compared) -> Iterator[Cell]:
        paper = self.paper
        for condition, item in compared:
            is_static = item.kind not in ("bert", "google_bert")
            encoder = paper.embeddings.reference if is_static else item.name
            family = inference_family(paper, encoder)
            for protocol, run, seed in self.plan.seeded_runs(family):
                predictions = self.plan.predictions(run, seed)
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

    def _token_translation(self) -> list[Artifact]:
        paper, best_of = self.paper, {"best_of", "rate_layer", "score_layer"}
        best = {"layers": paper.layers} | paper.translation.model_dump(include=best_of)
        examples = [("en", code) for code in paper.translation.shown_sentences]
        languages = paper.translation.languages
        pairs = [pair for code in languages for pair in (("en", code), (code, "en"))]
        sentences = [Cell(path=path("parallel_tokens", encoder=paper.embeddings.reference))]
        columns = {"task": "token_set", "model": "mbert"}
        head = {"task": "masked_words", "model": "mbert"}
        last = {"first": paper.translation.rate_layer, "last": paper.translation.score_layer}
        last["best_of"] = best["best_of"]
        by_depth = self._translation("figure8_by_depth", "measure_by_depth", pairs, last)
        examples_table = table_artifact(
            "table1",
            "Examples of token translation",
            [self._translation("table1", "measure_translation", examples, best)],
            facts_from=f"<results>/samples/{_PAPER}/table1.json",
            highlight=True,
        )
        return [
            self._by_weight("figure7", "Convert rate by alpha", "convert_rate"),
            self._by_weight("figure8", "BLEU-1 by alpha and by layer", "bleu1", by_depth),
            *([examples_table] if examples else []),
            table_artifact(
                "table2",
                "BLEU-1 and convert rates of token translation",
                [
                    self._translation("table2", "measure_translation", pairs, best),
                    _measurement("table2_head", "measure_head", self._head_cells, head),
                ],
                highlight=True,
            ),
            table_artifact(
                "table3",
                "Tokens of each language, and those shared with English",
                [_measurement("table3", "count_token_sets", lambda: sentences, columns)],
            ),
        ]

    def _head_cells(self) -> list[Cell]:
        return [
            Cell(
                condition="language_model_head",
                seed=seed,
                path=path("masked_predictions", head=head),
            )
            for seed, head in self.heads.items()
        ]

    def _by_weight(self, name: str, title: str, metric: str, *more: Measurement) -> Artifact:
        direction = ("en", self.paper.translation.drawn)
        names = [self.plan.languages[code].name for code in direction]
        caption = _TEXTS["by_weight"].format(
            **_TEXTS["translations"][metric], source=names[0], target=names[1]
        )
        if None not in self.heads:
            caption += " The language-model head is fitted, see Table 2."
        draw, options = "papers.liu2020.figures:draw_by_weight", {"title": title, "metric": metric}
        return Artifact(
            name,
            title,
            caption,
            measurements=[
                self._translation(name, "measure_by_weight", [direction], {"metric": metric}),
                *more,
            ],
            figures=figures_by_protocol(
                name, draw, lambda: measured(_PAPER, name), options, intervals=True, reported=True
            ),
        )

    def _translation(
        self, name: str, measure: str, directions: Sequence[tuple[str, str]], options: Any
    ) -> Measurement:
        cells = [
            Cell(
                source=source,
                language=target,
                seed=seed,
                path=path("translation", head=head, source=source, target=target),
            )
            for source, target in directions
            for seed, head in self.heads.items()
        ]
        columns = {"task": "token_translation", "model": "mbert"}
        return _measurement(name, measure, lambda: cells, columns, options)

    # Table 4: zero-shot transfer with a shift

    def _table4(self) -> Artifact:
        transfer, columns = self.paper.transfer, {"task": "xnli", "model": "mbert"}
        choice = {"test": self.paper.inference.dataset, "development": transfer.development}
        choice["chosen_in"] = transfer.chosen_in
        measurement = _measurement(
            "table4", "measure_shifted", lambda: list(self._table4_cells()), columns, choice
        )
        title = "Zero-shot XNLI by trained layers, with and without the shift"
        return table_artifact("table4", title, [measurement], conditions=self._table4_names())

    def _table4_names(self) -> dict[str, str]:
        """Return the names of conditions that are named by trained layers: the config's layers."""
        names = {}
        for row, families in self.paper.transfer.runs.items():
            kind = {"finetune": "fine-tuned", "stripped": "case and accents stripped"}[row]
            run = self.plan.runs.get(families[1], None, "published")
            layers = run.specification["hyperparameters"]["trained_layers"]
            trained = "layers " + ", ".join(map(str, layers))
            if layers != _UPPER_LAYERS:
                trained += " (paper: last 6)"
            names[f"{row}_all_layers"] = f"{kind}, all layers"
            names[f"{row}_last_6_layers"] = f"{kind}, {trained}"
            names[f"{row}_last_6_layers+mds"] = f"{kind}, {trained}, with shift"
        return names

    def _table4_cells(self) -> Iterator[Cell]:
        paper = self.paper
        for row, (family, _) in paper.transfer.runs.items():
            for protocol in PROTOCOLS:
                yield from self.plan.cells(
                    self.plan.runs.get(family, None, protocol),
                    paper.transfer.languages,
                    task="xnli",
                    dataset=paper.inference.dataset,
                    source="en",
                    condition=f"{row}_all_layers",
                    protocol=protocol,
                )
        for row, (_, family) in paper.transfer.runs.items():
            for protocol, run, seed in self.plan.seeded_runs(family):
                shifted = f"<results>/shifted/{run.id}/seed{seed}.{protocol}.parquet"
                condition, paths = f"{row}_last_6_layers", {"shifted": shifted}
                yield Cell(condition=condition, protocol=protocol, seed=seed, paths=paths)


def _measurement(
    name: str,
    measure: str,
    cells: Cells,
    columns: Mapping[str, str],
    options: Mapping[str, Any] | None = None,
) -> Measurement:
    measure = f"papers.{_PAPER}.measures:{measure}"
    return Measurement(name, measure, cells, lambda: options or {}, columns=columns)


def _condition_name(item: _Embedding, pretraining: Pretraining, by_window: bool) -> str:
    sentences = pretraining.sentences_per_language or 0
    ours, paper = [f"{sentences:,} sentences"], [item.size]
    is_same = sentences == 1000 * int(item.size.removesuffix("k"))
    if by_window:
        ours, paper = [f"window {pretraining.max_length}", *ours], [item.window, *paper]
        is_same = is_same and str(pretraining.max_length) == item.window
    return ", ".join(ours) + ("" if is_same else f" (paper: {', '.join(paper)})")
