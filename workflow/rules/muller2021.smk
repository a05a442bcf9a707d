# Muller et al. 2021, which layers carry transfer. Needs: predictions, vectors, the search. Makes: Tables 1 to 8, Figures
# 1 to 8.

from mbert_atlas.papers.muller2021.measures import REFERENCE

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


BY_TARGET = [name for name in ("table6", "table7", "table8") if name in MULLER.tables]
TABLES |= {
    f"muller2021/{name}": {"measurements": [f"<results>/measurements/muller2021/{name}.csv"]}
    for name in ["table1", *MULLER.tables]
}
MEASUREMENTS["muller2021"] = [
    path for name in ["table1", *MULLER.tables] for path in TABLES[f"muller2021/{name}"]["measurements"]
]
ARTIFACTS["muller2021"] = {
    name: [f"<results>/tables/muller2021/{name}.html"] for name in ["table1", *MULLER.tables]
}
HIGHLIGHTS["muller2021"] = {
    "artifacts": ["table1"],
    "measurements": TABLES["muller2021/table1"]["measurements"],
}


localrules:
    measure_means,


rule measure_layers:
    """Tables 2 and 5 to 8: scores by target and seed, and what layers drawn anew take from them."""
    input:
        lambda wildcards: [
            cell["path"] for cell in layer_cells(MULLER.tables[wildcards.artifact])
        ],
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
        layers=MULLER.tables[BY_TARGET[0]].layers,
        code=code("muller2021/measure_means"),
    script:
        "../scripts/muller2021/measure_means.py"
