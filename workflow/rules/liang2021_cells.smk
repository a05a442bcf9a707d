# Liang et al. 2021: which jobs stand behind which artifact.

from mbert_atlas.papers.liang2021.config import families_of

LIANG = CONFIG.liang2021
METHODS = ["densray", "lda"]
LANGUAGES_OF = {name: codes for name, codes in LIANG.pairs.sets.items() if codes}
PROBED = ["identification", "typology", "similarity"]
TRAINED = {task: {s: f for s, f in runs.items() if f} for task, runs in LIANG.transfer.runs.items()}
LIANG_TABLES = {
    "table1": (["pos", "ner"], ["en", "en+de+zh"]),
    "table2": (["pos"], ["en"]),
    "table3": (["pos"], ["en+de+zh"]),
    "table4": (["ner"], ["en"]),
    "table5": (["ner"], ["en+de+zh"]),
    "table6": (["pos", "ner"], ["en", "en+de+zh"]),
}
"""Tasks, and languages of training."""
LIANG_TABLES = {
    name: item
    for name, item in LIANG_TABLES.items()
    if any(TRAINED.get(task, {}).keys() & {*item[1]} for task in item[0])
}


def texts_of(encoder):
    """The running texts whose tokens show where an encoder keeps languages apart."""
    (model,) = (model for model, name in LIANG.encoders.items() if name == encoder)
    return LIANG.tokens.texts[model]


def probing_of(probe, languages=None):
    """The options of a probe's job; of a set of languages those of Figure 5."""
    options = LIANG.probing.model_dump(exclude={"by_layer", "seeds"}) | {"methods": METHODS}
    if languages:
        size = LIANG.pairs.width
        stops = range(size, LIANG.pairs.stop + 1, size)
        options |= {"sizes": [stops[-1]], "width": size, "methods": ["densray"]}
        return options | {"pairs": dict.fromkeys(PROTOCOLS), "layers": [], "layer_size": 1}
    return options | {
        "layers": list(range(LIANG.layers + 1)),
        "layer_size": LIANG.probing.by_layer[probe],
    }


def probe_paths(model, probes, languages="all"):
    """The results of some probes of an encoder."""
    encoder = LIANG.encoders[model]
    return [f"<results>/probes/liang2021/{encoder}/{languages}/{probe}.parquet" for probe in probes]


def preservation_cells(artifact):
    """Every prediction file behind a table, with its cell and the layers that are held."""
    tasks, sources = LIANG_TABLES[artifact]
    found = []
    for task in tasks:
        for source in [source for source in sources if source in TRAINED.get(task, {})]:
            baseline = TRAINED[task][source]
            layers = LIANG.transfer.layers.get(task, {}).get(source, [])
            layers = layers if artifact == "table6" else []
            names = families_of(baseline, layers)
            held = [("baseline", ""), ("l_dar", ""), *(("l_dar", some) for some in layers)]
            dataset = LIANG.transfer.datasets[task]
            for family, (condition, own) in zip(names, held):
                for protocol in PROTOCOLS:
                    run = RUNS.get(family, None, protocol)
                    found += [
                        {
                            "task": task,
                            "kind": run.specification["encoding"]["task"],
                            "dataset": dataset,
                            "source": source,
                            "language": language,
                            "condition": condition,
                            "protocol": protocol,
                            "seed": seed,
                            "layers": own,
                            "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet",
                        }
                        for seed in run.seeds
                        for language in run.specification["evaluate"][dataset]
                    ]
    return found


def removal_cells():
    """The runs of Figure 4 that are trained without the first directions, and the whole ones."""
    found = []
    for task in LIANG.removal.datasets:
        baseline, dataset = LIANG.transfer.runs[task]["en"], LIANG.transfer.datasets[task]
        families = {("densray", 0): baseline} | {
            (method, first): f"{baseline}-{method}-{first}"
            for method, firsts in LIANG.removal.tuned.get(task, {}).items()
            for first in firsts
        }
        for (method, first), family in families.items():
            for protocol in PROTOCOLS:
                run = RUNS.get(family, None, protocol)
                found += [
                    {
                        "task": task,
                        "kind": run.specification["encoding"]["task"],
                        "dataset": dataset,
                        "source": "en",
                        "language": language,
                        "condition": f"{method}-{first}",
                        "protocol": protocol,
                        "seed": seed,
                        "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet",
                    }
                    for seed in run.seeds
                    for language in run.specification["evaluate"][dataset]
                ]
    return found
