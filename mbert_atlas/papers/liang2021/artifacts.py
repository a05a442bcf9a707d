"""Figures 1 to 5 and Tables 1 to 6, and what they need computed."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, Literal, cast

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS, Protocol
from mbert_atlas.config.encoders import has_sentencepiece
from mbert_atlas.papers.liang2021.config import Probe, Section, Source, TaskName, needs_of
from mbert_atlas.plan.files import Files
from mbert_atlas.plan.models import brief_name
from mbert_atlas.plan.records import (
    Artifact,
    Cells,
    Curves,
    Features,
    Measurement,
    PaperPlan,
    Store,
    TokenVectors,
    figures_by_protocol,
    measured,
    read_texts,
    table_artifact,
)
from mbert_atlas.randomness import generator

_TEXTS, _MEASURES = read_texts("liang2021"), "papers.liang2021.measures"
CHARACTERS = "-characters"
"""In the names of vectors of words: of the first subword that has characters."""
METHODS = ["densray", "lda"]
PROBES: tuple[Probe, ...] = ("identification", "typology", "similarity")
_ITEMS = {"figure4": "test words", "figure5": "test vectors"}
_ITEMS_OF_PROBES = "test vectors, or features of typology"
_TABLES: dict[str, tuple[list[TaskName], list[Source]]] = {
    "table1": (["pos", "ner"], ["en", "en+de+zh"]),
    "table2": (["pos"], ["en"]),
    "table3": (["pos"], ["en+de+zh"]),
    "table4": (["ner"], ["en"]),
    "table5": (["ner"], ["en+de+zh"]),
    "table6": (["pos", "ner"], ["en", "en+de+zh"]),
}
"""Tasks and training languages."""
_CURVES = [
    Curves("papers.liang2021.figures:by_layer", ["figure3"], "layer (0: embeddings)", "%"),
    Curves("papers.liang2021.figures:by_window", ["figure5"], "last dimension", "gain (points)"),
]


def plan_paper(plan: Files) -> PaperPlan:
    """Return the paper's artifacts and what they need computed."""
    paper = section(plan)
    return PaperPlan(
        _TEXTS["paper"],
        artifacts=[*_figures(plan), *_tables(plan)],
        curves=_CURVES,
        needs=needs_of(plan.config),
        models={str(model): name for model, name in paper.encoders.items()},
        features={
            f"liang2021/{model}-{task}{words}-{part}": Features(
                stores={"words": Store(_examples(plan, encoder, task, dataset), unit="word")},
                pooling="characters" if words else "first",
                layers=[paper.layers],
            )
            for model, encoder in paper.encoders.items()
            for task, datasets in paper.removal.datasets.items()
            for words in _words(plan, encoder)
            for part, dataset in zip(("train", "test"), datasets, strict=True)
        },
        vectors={
            texts: TokenVectors(
                **paper.tokens.model_dump(exclude={"texts"}), language_sets=language_sets(plan)
            )
            for texts in paper.tokens.texts.values()
        },
    )


def section(plan: Files) -> Section:
    """Return the paper's section of the config."""
    return cast(Section, cast(Any, plan.config).liang2021)


def language_sets(plan: Files) -> dict[str, list[str]]:
    """Return the sets of languages of Figure 5 by name; ``random<seed>`` is that of a seed."""
    paper = section(plan)
    sets = {name: codes for name, codes in paper.pairs.sets.items() if codes}
    if size := paper.pairs.sampled:
        every = plan.config.datasets[paper.tokens.texts["mbert"]].languages
        for seed in _seeds(plan):
            sample = generator(seed, "languages of Figure 5").choice(every, size, replace=False)
            sets[f"random{seed}"] = sample.tolist()
    return sets


def seeds_of(plan: Files, languages: str) -> list[int]:
    """Return the seeds of the probes of all languages, or of a set of Figure 5."""
    return [seed for seed in _seeds(plan) if languages == f"random{seed}"] or _seeds(plan)


def _seeds(plan: Files) -> list[int]:
    return plan.config.seeds[: section(plan).probing.seeds]


def texts_of(plan: Files, encoder: str) -> str:
    """Return the texts whose tokens show where an encoder separates languages."""
    paper = section(plan)
    (model,) = (model for model, name in paper.encoders.items() if name == encoder)
    return paper.tokens.texts[model]


def directions(plan: Files, encoder: str, languages: str = "all") -> str:
    """Return the directions that identify languages in an encoder."""
    return plan.directions(encoder, texts_of(plan, encoder), languages)


def probing(plan: Files, probe: Probe, languages: str) -> dict[str, Any]:
    """Return the options of a probe's job; those of a set of languages are Figure 5's."""
    paper = section(plan)
    options = paper.probing.model_dump(exclude={"by_layer", "seeds"}) | {
        "methods": METHODS,
        "starts": list(range(0, max(paper.probing.sizes), paper.probing.width)),
        "layers": list(range(paper.layers + 1)),
        "layer_size": paper.probing.by_layer[probe],
        "full_layer": paper.layers,
    }
    if languages in language_sets(plan):
        options |= paper.pairs.model_dump(include={"width", "random_from", "tokens"})
        options |= {"methods": ["densray"], "pairs": dict.fromkeys(PROTOCOLS), "layers": []}
        options |= {"sizes": [], "starts": list(range(paper.pairs.windows))}
    return options


def _examples(plan: Files, encoder: str, task: TaskName, dataset: str) -> str:
    """Return the token store of words, encoded as for fine-tuning."""
    run = plan.runs.get(str(section(plan).transfer.runs[task]["en"]), None, "published")
    return plan.encoded(encoder, dataset, plan.encoding(run))


def _words(plan: Files, encoder: str) -> dict[str, Protocol | Literal[""]]:
    """Return the vectors of words by what their names add, with their protocol; empty: both.

    XLM-R's tokenizer splits some words into a lone word-boundary symbol and the rest: of its first
    subword, or of the first with characters.
    """
    if has_sentencepiece(plan.config.encoders, encoder):
        return {"": "published", CHARACTERS: "corrected"}
    return {"": ""}


def _figures(plan: Files) -> list[Artifact]:
    paper = section(plan)
    layer, probes = paper.layers, partial(_probe_cells, plan)
    languages = {
        model: len(plan.config.datasets[paper.tokens.texts[model]].languages)
        for model in paper.encoders
    }
    models = {model: brief_name(plan, model, name) for model, name in paper.encoders.items()}
    numbers = [f"{count} ({models[model]})" for model, count in languages.items()]
    if len({*languages.values()}) == 1:
        numbers = [str(languages["mbert"])]
    measures: dict[str, tuple[str, Cells, dict[str, Any]]] = {
        "figure1": ("measure_windows", probes, {"layer": layer, "languages": languages}),
        "figure2": ("measure_gains", probes, {"layer": layer}),
        "figure3": ("measure_layers", probes, {}),
    }
    if paper.removal.datasets:
        cells = partial(_removal_cells, plan)
        measures["figure4"] = ("measure_removal", cells, {"rank": languages["mbert"] - 1})
    if language_sets(plan):
        measures["figure5"] = ("measure_gains", partial(_set_cells, plan), {"layer": layer})
    probed = _TEXTS["probes"].format(languages=f"{' and '.join(numbers)} languages")
    titles, tasks = _TEXTS["titles"], " and ".join(task.upper() for task in paper.removal.datasets)
    return [
        Artifact(
            name,
            title=titles[name].format(tasks=tasks),
            caption=_TEXTS["captions"][name].format(probes=probed),
            measurements=[
                Measurement(name, f"{_MEASURES}:{measure}", cells, partial(dict, options))
            ],
            figures=figures_by_protocol(
                name,
                "papers.liang2021.figures:draw_curves",
                partial(measured, "liang2021", name),
                {
                    "artifact": name,
                    "title": titles[name].format(tasks=tasks),
                    "sets": [*paper.pairs.sets, "random"],
                    "models": models,
                    "items": _ITEMS.get(name, _ITEMS_OF_PROBES),
                },
                intervals=name == "figure4",  # no other has resamples
                reported=True,
            ),
            highlight=name in ("figure1", "figure3"),
        )
        for name, (measure, cells, options) in measures.items()
    ]


def _probe_cells(plan: Files) -> list[Cell]:
    return [
        Cell(task=probe, model=model, path=_probes(encoder, "all", probe))
        for (model, encoder), probe in product(section(plan).encoders.items(), PROBES)
    ]


def _set_cells(plan: Files) -> list[Cell]:
    """Return a cell for each set of languages, which stands where a target language does."""
    encoder, probe = section(plan).encoders["mbert"], PROBES[0]
    named = section(plan).pairs.sets
    return [
        Cell(
            task=probe,
            model="mbert",
            language=name if name in named else "random",
            path=_probes(encoder, name, probe),
        )
        for name in language_sets(plan)
    ]


def _probes(encoder: str, languages: str, probe: str) -> str:
    return f"<results>/probes/liang2021/{encoder}/{languages}/{probe}.parquet"


def _removal_cells(plan: Files) -> list[Cell]:
    """Return the frozen classifiers, and the fine-tuned runs with and without first directions."""
    paper = section(plan)
    cells = [
        Cell(
            task=task,
            model=model,
            source="en",
            condition="frozen",
            protocol=protocol,
            path=f"<results>/classifiers/liang2021/{model}-{task}{words}/{encoder}.parquet",
        )
        for model, encoder in paper.encoders.items()
        for task in paper.removal.datasets
        for words, protocol in _words(plan, encoder).items()
    ]
    for task in paper.removal.datasets:
        baseline = str(paper.transfer.runs[task]["en"])  # not null, see the section's check
        families = {baseline: ("densray", 0)} | {
            f"{baseline}-{method}-{first}": (method, first)
            for method, firsts in paper.removal.tuned.get(task, {}).items()
            for first in firsts
        }
        for family, (method, first) in families.items():
            facts = {"method": method, "first": first}
            cells += _transfer_cells(plan, task, "en", family, condition="tuned", facts=facts)
    return cells


def _tables(plan: Files) -> list[Artifact]:
    runs = section(plan).transfer.runs
    return [
        table_artifact(
            name,
            _TEXTS["titles"][name].format_map(_sources(plan, tasks[0])),
            [
                Measurement(
                    name,
                    f"{_MEASURES}:measure_preservation",
                    partial(_preservation_cells, plan, name),
                    partial(dict, means=name in ("table1", "table6")),
                    columns={"model": "mbert"},
                )
            ],
            conditions={k: v for k, v in _sources(plan, tasks[0]).items() if "+" in k},
        )
        for name, (tasks, sources) in _TABLES.items()
        if any(runs.get(task, {}).get(source) for task in tasks for source in sources)
    ]


def _sources(plan: Files, task: TaskName) -> dict[str, str]:
    """Return the training languages in words, by what reported numbers name them: the config's."""
    names: dict[str, str] = {}
    for source, family in section(plan).transfer.runs.get(task, {}).items():
        if family:
            train = plan.runs.get(family, None, "published").specification["train"]
            codes = plan.config.datasets[train].languages
            here, paper = (
                " + ".join(plan.languages[code].name for code in some)
                for some in (codes, source.split("+"))
            )
            names[source] = paper if here == paper else f"{here} (paper: {paper})"
    return names


def _preservation_cells(plan: Files, artifact: str) -> list[Cell]:
    """Return the cells of a table: with L-DAR on some layers in Table 6, its control in Table 1."""
    tasks, sources = _TABLES[artifact]
    cells: list[Cell] = []
    for task, source in product(tasks, sources):
        families = section(plan).transfer.families(task, source).items()
        for family, (condition, layers) in families:
            where = "table6" if layers else "table1" if condition == "l_dar_random" else artifact
            if artifact == where:
                place = {"condition": condition, "layers": layers}
                cells += _transfer_cells(plan, task, source, family, **place)
    return cells


def _transfer_cells(
    plan: Files, task: TaskName, source: Source, family: str, **columns: Any
) -> Iterator[Cell]:
    """Yield a cell per protocol, seed and language of a family's test set."""
    dataset = section(plan).transfer.datasets[task]
    for protocol in PROTOCOLS:
        run = plan.runs.get(family, None, protocol)
        languages: Sequence[str] = run.specification["evaluate"][dataset]
        yield from plan.cells(
            run, languages, task=task, dataset=dataset, source=source, protocol=protocol, **columns
        )
