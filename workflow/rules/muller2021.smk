# Muller et al. 2021, which layers carry transfer. Needs: predictions, vectors, the search. Makes: Tables 1 to 8, Figures
# 1 to 8.

from mbert_atlas.papers.muller2021.measures import FINE_TUNED, PRETRAINED, REFERENCE

MULLER = CONFIG.muller2021


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
    """The encoders whose similarity an artifact shows: task, condition and seed, and its model."""
    conditions, tasks = SHOWN[artifact]
    found = []
    for task in tasks:
        family = ALIKE.runs[task]
        reference = RUNS.get(family, ALIKE.source, "corrected")
        for condition in conditions:
            layers = condition.removeprefix("random_init_")
            name = family if layers == condition else f"{family}-{layers}"
            run = RUNS.get(name, ALIKE.source, "corrected")
            for seed in run.seeds if condition != PRETRAINED else reference.seeds:
                model = MULLER.model if condition == PRETRAINED else f"{run.id}/seed{seed}"
                cell = {"task": task, "condition": condition, "seed": seed}
                found.append(cell | {"model": model})
    return found


ALIKE = MULLER.similarity
FEATURES["muller2021/parallel"] = {
    "stores": {
        protocol: {
            "folder": encoded(MULLER.model, {"dataset": ALIKE.dataset, "encoding": encoding}),
            "splits": None,
            "languages": [ALIKE.source, *ALIKE.languages],
        }
        for protocol, encoding in ALIKE.encodings.items()
    },
    "pooling": "mean",
    "layers": "all",
}
SIMILARITIES["muller2021/parallel"] = {
    "pivots": [ALIKE.source],
    "stores": {protocol: protocol for protocol in ALIKE.encodings},
}
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
"""Of which encoders an artifact shows the similarity: conditions and tasks."""
TARGETS = {
    **dict.fromkeys(SHOWN, ALIKE.figure5),
    **dict.fromkeys(["figure1", "figure2"], [ALIKE.figure1]),
    "figure4": ALIKE.languages,
}
CORRELATED = ("figure3", "table4")
BY_TARGET = ("table6", "table7", "table8")
ALL = [*(f"table{n}" for n in range(1, 9)), *(f"figure{n}" for n in range(1, 9))]
TABLES |= {
    f"muller2021/{name}": {"measurements": [f"<results>/measurements/muller2021/{name}.csv"]}
    for name in ALL
    if name.startswith("table")
}
MEASUREMENTS["muller2021"] = [f"<results>/measurements/muller2021/{name}.csv" for name in ALL]
ARTIFACTS["muller2021"] = {
    name: (
        [f"<results>/tables/muller2021/{name}.html"]
        if name.startswith("table")
        else [f"<results>/figures/muller2021/{name}.{protocol}.svg" for protocol in PROTOCOLS]
    )
    for name in ALL
}
HIGHLIGHTS["muller2021"] = {
    "artifacts": ["table7", "figure7"],
    "measurements": [f"<results>/measurements/muller2021/{n}.csv" for n in ("table7", "figure7")],
}


localrules:
    measure_means,
    list_hyperparameters,
    measure_similarities,
    plot_similarities,


rule measure_layers:
    """Tables 2 and 5 to 8: scores by target and seed, and what layers drawn anew take from them."""
    input:
        lambda wildcards: [cell["path"] for cell in layer_cells(MULLER.tables[wildcards.artifact])],
    output:
        "<results>/measurements/muller2021/{artifact}.csv",
    log:
        "<results>/logs/measure_layers/{artifact}.log",
    benchmark:
        "<results>/benchmarks/measure_layers/{artifact}.tsv"
    wildcard_constraints:
        artifact=any_of(MULLER.tables),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("measure_layers").threads
    resources:
        mem_mb=memory("measure_layers"),
        runtime=minutes("measure_layers"),
    params:
        cells=lambda wildcards: [
            {key: value for key, value in cell.items() if key != "path"}
            for cell in layer_cells(MULLER.tables[wildcards.artifact])
        ],
        shown=lambda wildcards: MULLER.tables[wildcards.artifact].shown,
        model=MULLER.model,
        code=code("muller2021/measure_layers"),
    script:
        "../scripts/muller2021/measure_layers.py"


rule measure_means:
    """Table 1: means over the target languages."""
    input:
        [f"<results>/measurements/muller2021/{name}.csv" for name in BY_TARGET],
    output:
        "<results>/measurements/muller2021/table1.csv",
    log:
        "<results>/logs/measure_means.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        layers=MULLER.tables["table6"].layers,
        code=code("muller2021/measure_means"),
    script:
        "../scripts/muller2021/measure_means.py"


rule list_hyperparameters:
    """Table 3: what the grid search chooses in the first language of training."""
    input:
        [
            f"<results>/search/{family}-{ALIKE.source}.published.json"
            for family in ALIKE.runs.values()
        ],
    output:
        "<results>/measurements/muller2021/table3.csv",
    log:
        "<results>/logs/list_hyperparameters.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        tasks=list(ALIKE.runs),
        protocols=PROTOCOLS,
        model=MULLER.model,
        code=code("muller2021/list_hyperparameters"),
    script:
        "../scripts/muller2021/list_hyperparameters.py"


rule measure_similarities:
    """Table 4 and all figures: similarity of languages by layer, and whether transfer goes with it."""
    input:
        similarities=lambda wildcards: [
            f"<results>/similarity/muller2021/parallel/{cell['model']}.parquet"
            for cell in compared_encoders(wildcards.artifact)
        ],
        transfer=lambda wildcards: [
            f"<results>/measurements/muller2021/{name}.csv"
            for name in BY_TARGET
            if wildcards.artifact in CORRELATED
        ],
    output:
        "<results>/measurements/muller2021/{artifact}.csv",
    log:
        "<results>/logs/measure_similarities/{artifact}.log",
    wildcard_constraints:
        artifact=any_of(SHOWN),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=lambda wildcards: [
            {key: value for key, value in cell.items() if key != "model"}
            for cell in compared_encoders(wildcards.artifact)
        ],
        targets=lambda wildcards: TARGETS[wildcards.artifact],
        model=MULLER.model,
        code=code("muller2021/measure_similarities"),
    script:
        "../scripts/muller2021/measure_similarities.py"


rule plot_similarities:
    """Figures 1 to 8: similarity by layer, and its correlation with the gap."""
    input:
        "<results>/measurements/muller2021/{artifact}.csv",
    output:
        report(
            "<results>/figures/muller2021/{artifact}.{protocol}.svg",
            caption="../scripts/muller2021/similarities.rst",
            category="muller2021",
            subcategory=lambda wildcards: headline(wildcards.artifact),
            labels={"language": "all", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/muller2021/{artifact}.{protocol}.png",
    log:
        "<results>/logs/plot_similarities/{artifact}.{protocol}.log",
    wildcard_constraints:
        artifact=r"figure\d",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        title=lambda wildcards: claims("muller2021").FIGURES[wildcards.artifact],
        names={
            **{language.code: language.name for language in LANGUAGES},
            **{"pos": "parts of speech", "ner": "named entities", "fine_tuned": "fine-tuned"},
            **{f"random_init_{layers}": f"layers {layers} drawn anew" for layers in ALIKE.layers},
        },
        code=code("muller2021/plot_similarities"),
    script:
        "../scripts/muller2021/plot_similarities.py"
