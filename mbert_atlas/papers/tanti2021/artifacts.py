"""Tables 1 to 3 and 5, Figures 3 to 6, and appendices A and B."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS, Protocol
from mbert_atlas.labels import label
from mbert_atlas.papers.tanti2021.config import (
    FINE_TUNING,
    UNLEARNING,
    Condition,
    LanguageTask,
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
    Figure,
    Measurement,
    PaperPlan,
    Store,
    measured,
    read_texts,
    table_artifact,
)
from mbert_atlas.plan.runs import Run

PAPER = "tanti2021"
_TEXTS = read_texts(PAPER)
SCORES = {"table1": FINE_TUNING, "table2": UNLEARNING}
MAPS = {
    "figure3": ("udpos", "table1"),
    "figure4": ("xnli", "table1"),
    "figure5": ("udpos", "table2"),
    "figure6": ("xnli", "table2"),
}
"""Task of a figure, and the table of scores that shows the same conditions."""
_CONTRASTS = [
    *((artifact, "fine_tuned", "initial") for artifact in ("table1", "figure3", "figure4")),
    *(
        (table, condition, "fine_tuned", reference)
        for table, reference in (("table2", "table1"), ("table3", "figure3"), ("table3", "figure4"))
        for condition in UNLEARNING
    ),
]
_CURVES = Curves(
    f"papers.{PAPER}.figures:macro_f1", ["table1_udpos", "table1_xnli"], "", "macro F1 (%)"
)


def plan_paper(plan: Plan) -> PaperPlan:
    """Return what the paper shows under a config."""
    planner = _Planner(plan)
    artifacts = [
        *(planner.score_table(name) for name in SCORES),
        planner.cluster_table(),
        planner.search_table(),
        *(planner.maps(name) for name in MAPS),
        *planner.appendices(),
    ]
    return PaperPlan(
        _TEXTS["paper"],
        contrasts=_CONTRASTS,
        curves=[_CURVES],
        artifacts=[item for item in artifacts if item.tables or item.figures],
        features={f"{PAPER}/{task}": planner.features(task) for task in planner.tasks},
        needs=needs_of(plan.config),
    )


def search_space(config: Any) -> dict[str, list[Any]]:
    """Return all values that are searched, by their name in Table 4."""
    space: dict[str, list[Any]] = {}
    for task in config.tanti2021.tasks.values():
        for condition, family in task.conditions.items():
            for key, values in config.runs[family].search.space.items():
                name = condition if key == "confusion.weight" else key.rpartition(".")[2]
                listed = space.setdefault(name, [])
                listed += [value for value in values if value not in listed]
    return space


def _shown(value: Any) -> str:
    return f"{value:g}" if type(value) in (int, float) else str(value)


class _Planner:
    """The experiments, a condition of a task each; a config may have left out some of them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.section: Section = cast(Any, plan.config).tanti2021
        self.tasks: dict[str, LanguageTask] = {str(k): v for k, v in self.section.tasks.items()}

    def fine_tuned(self, task: str) -> Run:
        return self.plan.runs.get(self.tasks[task].conditions["fine_tuned"], None, "published")

    def tasks_with(self, conditions: Sequence[str]) -> list[str]:
        return [task for task in self.tasks if self.conditions(task, conditions)]

    def conditions(self, task: str, names: Sequence[str]) -> list[Condition]:
        """Return those of some conditions that a task has."""
        present = self.tasks[task].conditions if task in self.tasks else ()
        return [cast(Condition, name) for name in names if name in present]

    def languages(self, task: str) -> list[str]:
        """Return the languages of the test set in which the experiments are evaluated."""
        evaluated: dict[str, list[str]] = self.fine_tuned(task).specification["evaluate"]
        return evaluated[self.tasks[task].test]

    def cells(self, task: str, conditions: Sequence[str], **kinds: str) -> list[Cell]:
        """Return a cell per condition of a task, protocol and seed.

        ``kinds`` are the kinds of path behind each role of a cell's files.
        """
        cells = []
        for condition in self.conditions(task, conditions):
            family = self.tasks[task].conditions[condition]
            for protocol, run, seed in self.plan.seeded_runs(family):
                named: dict[str, Any] = {"protocol": protocol, "seed": seed}
                place = {"features": f"{PAPER}/{task}", "run": run.id, **named}
                paths = {role: path(kind, **place) for role, kind in kinds.items()}
                cells.append(Cell(task, run.task, condition=condition, **named, paths=paths))
        return cells

    def features(self, task: str) -> Features:
        """Return the vectors of a test set and of Wikipedia, and what is computed from them."""
        item, section = self.tasks[task], self.section
        splits = ["train", "validation", "test"]  # of Wikipedia
        test = self.plan.examples(self.fine_tuned(task), item.test)
        return Features(
            stores={
                "target": Store(test, splits=splits, languages=self.languages(task)),
                "wikipedia": Store(self._wikipedia(task), splits=splits),
            },
            pooling=item.pooling,
            layers="last",
            probe={
                "train": "wikipedia",
                "predict": ["target"],
                "corrected": section.probe.model_dump(mode="json"),
            },
            sample={
                "seed": 0,  # the authors' of all their samples
                "per_cell": item.points,
                "per_language": section.points_per_language,
                "language_clusters": section.language_clusters,
                "perplexity": section.perplexity,
            },
        )

    def _wikipedia(self, task: str) -> str:
        texts = self.tasks[task].wikipedia
        return self.plan.encoded(self.section.model, texts.dataset, texts.encoding)

    def score_table(self, name: str) -> Artifact:
        """Return Table 1 or 2: scores of the task and of language identification."""
        conditions, when = SCORES[name], _TEXTS["when"][name]
        kinds = {"labels": "predictions", "languages": "identified", "training": "identification"}
        tasks = {f"{name}_{task}": task for task in self.tasks_with(conditions)}
        title = f"Macro F1 of the task and of language identification {when}"
        measurements = [
            self._measurement(
                item,
                "measure_scores",
                partial(self.cells, task, conditions, **kinds),
                resources="measure_experiments",
                options=lambda: {"by_language": f"{name}_languages"},
            )
            for item, task in tasks.items()
        ]
        figures = [
            self.plan.transfer_figure(PAPER, item, f"{_TEXTS['tasks'][task]} {when}")
            for item, task in tasks.items()
        ]
        more: dict[str, Any] = {"figures": figures, "highlight": name == "table1"}
        return table_artifact(name, title, measurements, caption=_TEXTS["scores"], **more)

    def cluster_table(self) -> Artifact:
        """Return Table 3: clusters after unlearning."""
        tasks = self.tasks_with(UNLEARNING)
        measurements = [self._clusters("table3", task, UNLEARNING) for task in tasks]
        title = "Clusters by label and by language after unlearning language"
        return table_artifact("table3", title, measurements)

    def _clusters(self, name: str, task: str, conditions: Sequence[str]) -> Measurement:
        cells = partial(self.cells, task, conditions, clusters="clusters")
        return self._measurement(
            f"{name}_{task}", "measure_clusters", cells, resources="measure_experiments"
        )

    def search_table(self) -> Artifact:
        """Return Table 5, what the random searches choose, below Table 4, what they search."""
        cells = [
            Cell(
                task=task,
                condition="frozen" if condition == "initial" else condition,
                protocol=protocol,
                path=path("choice", search=family, protocol=protocol),
            )
            for task, item in self.tasks.items()
            for condition, family in item.conditions.items()
            for protocol in PROTOCOLS
            if family in self.plan.runs.searches
        ]
        searched = search_space(self.plan.config) if cells else {}
        facts = [
            {
                "searched": "weight of " * (name in UNLEARNING) + label(name),
                "values": ", ".join(map(_shown, some)),
            }
            for name, some in searched.items()
        ]
        choices = [self._measurement("table5", "list_choices", lambda: cells)]
        title = "Hyperparameters that the random searches choose"
        return table_artifact("table5", title, choices if cells else [], facts=facts)

    def maps(self, name: str) -> Artifact:
        """Return one of Figures 3 to 6: t-SNE maps of a task under two conditions."""
        task, table = MAPS[name]
        conditions = self.conditions(task, SCORES[table])
        if not conditions:
            return Artifact(name)
        title = f"{_TEXTS['points'][task]} {_TEXTS['when'][table]}"
        figures = [
            Figure(
                f"{name}.{protocol}",
                draw=f"papers.{PAPER}.figures:draw_maps",
                cells=partial(self._map_cells, task, table, protocol),
                options=partial(self._map_options, title),
                intervals=True,
                reported=True,
                protocol=protocol,
            )
            for protocol in PROTOCOLS
        ]
        # The captions of Figures 3 and 4 have numbers; those of Figures 5 and 6 are in Table 3.
        has_numbers = table == "table1"
        numbers = [self._clusters(name, task, conditions)] if has_numbers else []
        more: dict[str, Any] = {"figures": figures, "highlight": has_numbers}
        return table_artifact(name, title, numbers, caption=self._caption(task, table), **more)

    def _map_cells(self, task: str, table: str, protocol: Protocol) -> list[Cell]:
        every = self.cells(task, SCORES[table], points="projection", clusters="clusters")
        cells = [cell for cell in every if cell.protocol == protocol]
        conditions = {cell.condition for cell in cells}
        seeds: dict[int | None, set[str]] = {}
        for cell in cells:
            seeds.setdefault(cell.seed, set()).add(cell.condition)
        first = next(seed for seed, found in seeds.items() if found == conditions)
        (scores,) = measured(PAPER, f"{table}_{task}")
        return [
            replace(cell, paths={**cell.paths, "scores": scores.path, **scores.paths})
            for cell in cells
            if cell.seed == first
        ]

    def _map_options(self, title: str) -> dict[str, Any]:
        """Return the options of all maps: each language looks the same in every one of them."""
        datasets = self.plan.config.datasets
        codes = {code for task in self.tasks for code in self.languages(task)}
        for item in self.tasks.values():
            codes.update(datasets[item.wikipedia.dataset].languages)
        genera = {code: self.plan.languages[code].genus for code in sorted(codes)}
        return {"title": title, "names": self.plan.language_names(), "genera": genera}

    def _caption(self, task: str, table: str) -> str:
        conditions = " (left) and ".join(map(label, self.conditions(task, SCORES[table])))
        conditions += " (right)" if " (left) " in conditions else ""
        vectors, items = ("tokens", "tokens") if task == "udpos" else ("texts", "pairs")
        chosen = ", a random token of each" if task == "udpos" else ""
        text: str = _TEXTS["maps"].format(
            vectors=vectors,
            items=items,
            conditions=conditions,
            points=self.tasks[task].points,
            per_language=self.section.points_per_language,
            chosen=chosen,
            claim=_TEXTS["claims"][table],
        )
        return text

    def appendices(self) -> list[Artifact]:
        """Return appendices A and B: examples of each set, points of the samples."""

        def sampled() -> list[Cell]:
            return [self.cells(task, ["initial"], clusters="clusters")[0] for task in self.tasks]

        examples = self._measurement(
            "appendixA",
            "count_examples",
            self._encoded_sets,
            resources="count_examples",
            columns={"metric": "n_items"},
        )
        columns = {"condition": "tsne_sample", "metric": "n_points"}
        points = self._measurement("appendixB", "count_points", sampled, columns=columns)
        return [
            table_artifact("appendixA", "Examples of each set", [examples]),
            table_artifact("appendixB", "Points of the maps", [points]),
        ]

    def _encoded_sets(self) -> list[Cell]:
        """Return the encoded sets that appendix A counts, their part in ``condition``."""
        cells = []
        for task, item in self.tasks.items():
            run = self.fine_tuned(task)
            selection = run.specification["hyperparameters"].get("selection")
            search = cast(Any, self.plan.config.runs[run.family]).search
            sets = [
                ("train", run.specification["train"], {"selection": selection}),
                *(("dev", name, {"languages": codes}) for name, codes in search.evaluate.items()),
                ("test", item.test, {"languages": self.languages(task)}),
            ]
            cells += [
                Cell(task=task, condition=part, path=self.plan.examples(run, name), facts=facts)
                for part, name, facts in sets
            ]
        # Every task has the same texts of Wikipedia.
        return [*cells, Cell(task="wikipedia", condition="train", path=self._wikipedia(task))]

    def _measurement(self, name: str, function: str, cells: Cells, **more: Any) -> Measurement:
        columns = {"model": self.section.model, **more.pop("columns", {})}
        measure = f"papers.{PAPER}.measures:{function}"
        return Measurement(name, measure, cells, columns=columns, **more)
