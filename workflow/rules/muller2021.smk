# Muller et al. 2021, which layers carry transfer. Needs: predictions, vectors, the search. Makes: Tables 1 to 8, Figures
# 1 to 8.


include: "muller2021_cells.smk"


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
GRID_SEARCHES = {
    task: f"{family}-{ALIKE.source}"
    for task, family in ALIKE.runs.items()
    if f"{family}-{ALIKE.source}" in RUNS.searches()
}
DERIVED = {"table1": BY_TARGET, "table3": GRID_SEARCHES}
"""Tables made of other results, and whether a config has left these in."""
ALL = sorted([*MULLER.tables, *SHOWN, *(name for name, is_left in DERIVED.items() if is_left)])
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
        layers=lambda wildcards: MULLER.tables[BY_TARGET[0]].layers,
        code=code("muller2021/measure_means"),
    script:
        "../scripts/muller2021/measure_means.py"


rule list_hyperparameters:
    """Table 3: what the grid search chooses in the first language of training."""
    input:
        [f"<results>/search/{search}.published.json" for search in GRID_SEARCHES.values()],
    output:
        "<results>/measurements/muller2021/table3.csv",
    log:
        "<results>/logs/list_hyperparameters.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        tasks=list(GRID_SEARCHES),
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
            "<results>/figures/muller2021/{artifact}.{protocol}.png",
            caption="../scripts/muller2021/similarities.rst",
            category="muller2021",
            subcategory=lambda wildcards: headline(wildcards.artifact),
            labels={"language": "all", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/muller2021/{artifact}.{protocol}.svg",
    log:
        "<results>/logs/plot_similarities/{artifact}.{protocol}.log",
    wildcard_constraints:
        artifact=r"figure\d",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        title=lambda wildcards: figure_title(
            "muller2021",
            wildcards.artifact,
            source=language_names([ALIKE.source]),
            target=language_names([ALIKE.figure1]),
        ),
        names={
            **{language.code: language.name for language in LANGUAGES},
            **{"pos": "parts of speech", "ner": "named entities", "fine_tuned": "fine-tuned"},
            **{f"random_init_{layers}": f"layers {layers} drawn anew" for layers in ALIKE.layers},
        },
        order=[
            *("pretrained", "fine_tuned", *ALIKE.runs),
            *(f"random_init_{layers}" for layers in ALIKE.layers),
        ],
        code=code("muller2021/plot_similarities"),
    script:
        "../scripts/muller2021/plot_similarities.py"
