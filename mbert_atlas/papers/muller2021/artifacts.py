"""Tables 1 to 8 and Figures 1 to 8, and the runs behind them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.papers.muller2021.config import (
    BY_TARGET,
    CKA,
    CORRELATION,
    DIFFERENCE,
    FINE_TUNED,
    PRETRAINED,
    REFERENCE,
    SCORE,
    LayerTable,
    Section,
    needs_of,
)
from mbert_atlas.plan.paths import path
from mbert_atlas.plan.plan import Plan
from mbert_atlas.plan.records import (
    Artifact,
    Cells,
    Curves,
    Features,
    Measurement,
    PaperPlan,
    Store,
    figures_by_protocol,
    measured,
    read_texts,
    table_artifact,
)

PAPER, FEATURES = "muller2021", "muller2021/parallel"
_TEXTS = read_texts(PAPER)
_HIGHLIGHTS = ("table7", "figure5")
_UNCHANGED = {PRETRAINED: "", FINE_TUNED: ""}
"""Conditions of encoders without re-initialised layers."""
_CURVES = [
    Curves(
        "papers.muller2021.figures:similarities_by_layer",
        ["figure5"],
        "layer (0: embeddings)",
        "CKA (%)",
    ),
    *(
        Curves(
            "papers.muller2021.figures:changes_by_layers",
            [name],
            "re-initialised layers\n(middle of the set)",
            "change (points)",
        )
        for name in ("table1", "table7_means")
    ),
]


def plan_paper(plan: Plan) -> PaperPlan:
    """Return the paper's artifacts and the features that they need."""
    planner = _Planner(plan)
    artifacts = [*planner.tables(), *planner.similarities(), *planner.correlations()]
    return PaperPlan(
        _TEXTS["paper"],
        artifacts=sorted(artifacts, key=lambda artifact: artifact.name),
        features={FEATURES: planner.features()},
        curves=_CURVES,
        needs=needs_of(plan.config),
    )


class _Planner:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.section: Section = plan.config.muller2021  # type: ignore[attr-defined]
        self.similarity = self.section.similarity
        self.changed = {f"{SCORE}_{layers}": layers for layers in self.similarity.layers}
        self.by_target: dict[str, LayerTable] = {
            name: table for name, table in self.section.tables.items() if name in BY_TARGET
        }

    def features(self) -> Features:
        similarity = self.similarity
        return Features(
            stores={
                protocol: Store(
                    folder=self.plan.encoded(self.section.model, similarity.dataset, encoding),
                    languages=[similarity.source, *similarity.languages],
                )
                for protocol, encoding in similarity.encodings.items()
            },
            pooling="mean",
            layers="all",
            similarity={
                "pivots": [similarity.source],
                "stores": {protocol: protocol for protocol in similarity.encodings},
            },
        )

    def measurement(self, name: str, function: str, cells: Cells, **options: Any) -> Measurement:
        columns = {"model": self.section.model}
        measure = f"papers.muller2021.measures:{function}"
        return Measurement(name, measure, cells, lambda: options, columns)

    def tables(self) -> Iterator[Artifact]:
        """Yield Tables 1 to 3 and 5 to 8: scores, their means, chosen hyperparameters."""
        for name, table in self.section.tables.items():
            scores = self.measurement(name, "measure_layers", partial(self.layer_cells, table))
            measurements = [replace(scores, resources="measure_layers")]
            if name in self.by_target:
                by_target = partial(measured, PAPER, name)
                means = self.measurement(f"{name}_means", "measure_mean_lines", by_target)
                measurements.append(means)
            yield _table(*measurements)
        if self.by_target:
            names = sorted(self.by_target)
            layers = self.by_target[names[0]].layers
            sources = partial(measured, PAPER, *names)
            yield _table(self.measurement("table1", "measure_means", sources, layers=layers))
        choices = [
            Cell(
                task=task,
                protocol=protocol,
                condition="hyperparameters",
                path=path("choice", search=search, protocol="published"),
                facts={"epochs": self.epochs(search)},
            )
            for task, family in self.similarity.runs.items()
            for search in [f"{family}-{self.similarity.source}"]
            if search in self.plan.runs.searches
            for protocol in PROTOCOLS
        ]
        if choices:
            yield _table(self.measurement("table3", "list_hyperparameters", lambda: choices))

    def epochs(self, search: str) -> int:
        """Return the epochs of the first draw of a search."""
        run = self.plan.runs[next(iter(self.plan.runs.searches[search]))]
        return int(run.specification["hyperparameters"]["optimisation"]["epochs"])

    def layer_cells(self, table: LayerTable) -> list[Cell]:
        """Return the predictions of runs with and without re-initialised layers."""
        changed = DIFFERENCE if table.shown == "difference" else SCORE
        return [
            Cell(
                *(task, run.task, dataset, source, language, condition, protocol, seed),
                path=predictions,
                layers=layers,
                facts={"target": target},
            )
            for task, test in table.tests.items()
            for source in table.sources
            for layers in ["", *table.sets]
            for condition in [changed if layers else REFERENCE]
            for protocol, run, seed in self.plan.seeded_runs(_family(test.runs, layers), source)
            for predictions in [self.plan.predictions(run, seed)]
            for target, (dataset, language) in test.places().items()
        ]

    def similarities(self) -> Iterator[Artifact]:
        """Yield the figures of similarity by layer that have any of their tasks."""
        every, one = list(self.similarity.runs), [self.similarity.figure1]
        five, tuned = self.similarity.figure5, {FINE_TUNED: ""}
        changed = {**tuned, **self.changed}
        by_target = {"lines": "condition", "panels": "target"}
        bands = {"items": "parallel sentences", "band": _TEXTS["cka_bands"]}
        # Conditions shown, tasks, target languages, and the columns that lines and panels show.
        figures: dict[str, tuple[Mapping[str, str], list[str], list[str], dict[str, str]]] = {
            "figure1": (_UNCHANGED, every, one, {"lines": "line"}),
            "figure2": (changed, ["ner"], one, {"lines": "condition"}),
            "figure4": (tuned, ["ner"], self.similarity.languages, by_target),
            "figure5": (_UNCHANGED, every, five, {**by_target, "lines": "line"}),
            "figure6": (changed, ["parsing"], five, by_target),
            "figure7": (changed, ["pos"], five, by_target),
            "figure8": (changed, ["ner"], five, by_target),
        }
        for name, (conditions, names, targets, layout) in figures.items():
            if tasks := [task for task in names if task in every]:
                cells = partial(self.similarity_cells, conditions, tasks)
                measurement = self.measurement(name, "measure_similarities", cells, targets=targets)
                look = {"conditions": [*conditions], **layout, **bands}
                yield self.figure(measurement, "cka", CKA, "CKA (%)", **look)

    def correlations(self) -> Iterator[Artifact]:
        """Yield Table 4 and Figure 3: correlations of similarity and cross-lingual gap."""
        transfer: dict[str, str] = {
            task: measured(PAPER, name)[0].path
            for name, table in self.by_target.items()
            for task in table.tests
        }
        if tasks := [task for task in self.similarity.runs if task in transfer]:
            cells = partial(self.encoder_cells, _UNCHANGED, tasks, transfer)
            table, figure = (
                self.measurement(name, "correlate_with_gap", cells, by_layer=by_layer)
                for name, by_layer in [("table4", False), ("figure3", True)]
            )
            yield _table(table)
            layout = {"lines": "task", "panels": "condition", "bars": True}
            layout["items"] = "target languages"
            label = "Spearman correlation"
            yield self.figure(figure, "correlation", CORRELATION, label, **layout)

    def similarity_cells(self, conditions: Mapping[str, str], tasks: Sequence[str]) -> list[Cell]:
        """Return the cells of some encoders, after those of the pretrained one.

        That is the same for all seeds, so that its cells have none; they repeat it by task.
        """
        file = path("similarity", features=FEATURES, model=self.section.model)
        pretrained = [
            Cell(task=task, condition=PRETRAINED, protocol=protocol, path=file)
            for task in tasks
            for protocol in self.similarity.encodings
        ]
        tuned = {name: layers for name, layers in conditions.items() if name != PRETRAINED}
        return pretrained + self.encoder_cells(tuned, tasks)

    def encoder_cells(
        self,
        conditions: Mapping[str, str],
        tasks: Sequence[str],
        transfer: Mapping[str, str] | None = None,
    ) -> list[Cell]:
        """Return a cell per encoder (re-initialised layers by condition) with its similarities.

        ``transfer`` has the measurements of transfer by task, if they are compared.
        """
        similarity = self.similarity
        return [
            Cell(
                task=task,
                condition=condition,
                protocol=protocol,
                seed=seed,
                path=path("similarity", features=FEATURES, model=model),
                paths={"transfer": transfer[task]} if transfer else {},
            )
            for task in tasks
            for condition, layers in conditions.items()
            for family in [_family(similarity.runs[task], layers)]
            for protocol, run, seed in self.plan.seeded_runs(family, similarity.source)
            if not layers or seed in run.seeds[: similarity.seeds]
            for model in [self.section.model if condition == PRETRAINED else f"{run.id}/seed{seed}"]
        ]

    def figure(
        self, measurement: Measurement, caption: str, metric: str, value_label: str, **layout: Any
    ) -> Artifact:
        """Return an artifact that draws its measurement, one figure per protocol."""
        name, languages = measurement.name, self.plan.language_names()
        title = _TEXTS["titles"][name].format(
            source=languages[self.similarity.source], target=languages[self.similarity.figure1]
        )
        changed = {key: f"layers {layers} re-initialised" for key, layers in self.changed.items()}
        options = {
            **{"metric": metric, "value_label": value_label, **layout, "title": title},
            "names": {**languages, "pos": "POS", "ner": "NER", FINE_TUNED: "fine-tuned", **changed},
            "order": [*_UNCHANGED, *self.changed, *self.similarity.runs],
        }
        draw, cells = "papers.muller2021.figures:draw_by_layer", partial(measured, PAPER, name)
        more = {"intervals": metric == CORRELATION, "reported": True}
        figures = figures_by_protocol(name, draw, cells, options, **more)
        is_highlight = name in _HIGHLIGHTS
        caption = _TEXTS["captions"][caption]
        return Artifact(name, title, caption, [measurement], figures, highlight=is_highlight)


def _family(family: str, layers: str) -> str:
    """Return the family that re-initialises some layers."""
    return f"{family}-{layers}" if layers else family


def _table(*measurements: Measurement) -> Artifact:
    name = measurements[0].name
    return table_artifact(name, _TEXTS["titles"][name], measurements, highlight=name in _HIGHLIGHTS)
