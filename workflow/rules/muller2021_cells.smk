# Muller et al. 2021: which runs and encoders stand behind which artifact.

from mbert_atlas.papers.muller2021.measures import FINE_TUNED, PRETRAINED, REFERENCE

MULLER = CONFIG.muller2021
ALIKE = MULLER.similarity
NEW_LAYERS = [FINE_TUNED, *(f"random_init_{layers}" for layers in ALIKE.layers)]
BOTH = [PRETRAINED, FINE_TUNED]
SHOWN = {
    "figure1": (BOTH, list(ALIKE.runs)),
    "figure2": (NEW_LAYERS, ["ner"]),
    "figure3": (BOTH, list(ALIKE.runs)),
    "figure4": ([FINE_TUNED], ["ner"]),
    "figure5": (BOTH, list(ALIKE.runs)),
    "figure6": (NEW_LAYERS, ["parsing"]),
    "figure7": (NEW_LAYERS, ["pos"]),
    "figure8": (NEW_LAYERS, ["ner"]),
    "table4": (BOTH, list(ALIKE.runs)),
}
SHOWN = {
    name: (conditions, [task for task in tasks if task in ALIKE.runs])
    for name, (conditions, tasks) in SHOWN.items()
    if ALIKE.runs.keys() & {*tasks}
}
"""Of which encoders an artifact shows the similarity: conditions and tasks."""
TARGETS = {
    **dict.fromkeys(SHOWN, ALIKE.figure5),
    **dict.fromkeys(["figure1", "figure2"], [ALIKE.figure1]),
    "figure4": ALIKE.languages,
}
CORRELATED = ("figure3", "table4")
BY_TARGET = [name for name in ("table6", "table7", "table8") if name in MULLER.tables]


def layer_cells(table):
    """Every prediction file behind a table, with its cell and the layers that were drawn anew."""
    return [
        {
            "task": task,
            "kind": run.specification["encoding"]["task"],
            "dataset": dataset,
            "source": source,
            "language": language,
            "condition": target,
            "protocol": protocol,
            "seed": seed,
            "layers": layers,
            "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet",
        }
        for task, test in table.tests.items()
        for source in table.sources
        for layers in [REFERENCE, *table.layers]
        for family in [test.runs if layers == REFERENCE else f"{test.runs}-{layers}"]
        for protocol in PROTOCOLS
        for run in [RUNS.get(family, source, protocol)]
        for seed in run.seeds
        for target, (dataset, language) in test.places().items()
    ]


def compared_encoders(artifact):
    """The encoders whose similarity an artifact shows: task, condition, protocol, seed, and model."""
    conditions, tasks = SHOWN[artifact]
    found = []
    for task in tasks:
        for condition in conditions:
            layers = condition.removeprefix("random_init_")
            is_new = layers != condition
            family = f"{ALIKE.runs[task]}-{layers}" if is_new else ALIKE.runs[task]
            for protocol in PROTOCOLS:
                run = RUNS.get(family, ALIKE.source, protocol)
                for seed in run.seeds[: ALIKE.seeds if is_new else None]:
                    model = MULLER.model if condition == PRETRAINED else f"{run.id}/seed{seed}"
                    cell = {"task": task, "condition": condition, "protocol": protocol}
                    found.append(cell | {"seed": seed, "model": model})
    return found
