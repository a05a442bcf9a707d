# Tanti et al. 2021, language-specificity. Needs: predictions, vectors, the search. Makes: Tables 1 to 3 and 5,
# Figures 3 to 6, appendices A and B.

from mbert_atlas.papers.tanti2021.search import search_space


include: "tanti2021_cells.smk"


for task, item in TANTI.tasks.items():
    splits = ["train", "validation", "test"]  # of Wikipedia
    FEATURES[f"tanti2021/{task}"] = {
        "stores": {
            "target": {
                "folder": example_folder(experiment(task, "fine_tuned", "published"), item.test),
                "splits": splits,
                "languages": tested_languages(task),
            },
            "wikipedia": {"folder": encoded(TANTI.model, item.wikipedia), "splits": splits},
        },
        "pooling": item.pooling,
        "layers": "last",
    }
    PROBES[f"tanti2021/{task}"] = {
        "train": "wikipedia",
        "predict": ["target"],
        "corrected": TANTI.probe.model_dump(mode="json"),
    }
    SAMPLES[f"tanti2021/{task}"] = {
        "seed": 0,  # the authors' of all their samples
        "per_cell": item.points,
        "per_language": TANTI.points_per_language,
        "language_clusters": TANTI.language_clusters,
        "perplexity": TANTI.perplexity,
    }
MEASURED = {
    **{
        table: [f"{table}_{task}" for task in TANTI.tasks if shown_conditions(table, task)]
        for table in ("table1", "table2", "table3")
    },
    **{table: [table] for table in SEARCHED},
    **{name: [f"{name}_{MAPS[name]}"] for name in ("figure3", "figure4") if name in MAPS},
    "appendixA": ["appendixA"],
    "appendixB": ["appendixB"],
}
MEASURED = {name: parts for name, parts in MEASURED.items() if parts}
"""The measurements behind each artifact that has numbers."""
TABLES |= {
    f"tanti2021/{name}": {
        "measurements": [f"<results>/measurements/tanti2021/{part}.csv" for part in parts]
    }
    for name, parts in MEASURED.items()
}
if SEARCHED:
    TABLES["tanti2021/table5"]["facts"] = [
        {
            "searched": name.replace("_", " "),
            "values": ", ".join(f"{value:g}" for value in values),
        }
        for name, values in search_space(CONFIG).items()
    ]
PLOTS |= {
    f"tanti2021/{part}": figure_title("tanti2021", part)
    for name in SCORED
    for part in MEASURED.get(name, [])
}
MEASUREMENTS["tanti2021"] = [
    path for name in MEASURED for path in TABLES[f"tanti2021/{name}"]["measurements"]
]
PAGES = {name: [f"<results>/tables/tanti2021/{name}.html"] for name in MEASURED}
ARTIFACTS["tanti2021"] = {
    **{
        name: [
            *PAGES[name],
            *(f"<results>/figures/tanti2021/{part}.svg" for part in MEASURED[name]),
        ]
        for name in SCORED
        if name in PAGES
    },
    **{name: PAGES[name] for name in ["table3", *SEARCHED] if name in PAGES},
    **{
        name: [
            *PAGES.get(name, []),
            *(f"<results>/figures/tanti2021/{name}.{protocol}.svg" for protocol in PROTOCOLS),
        ]
        for name in MAPS
    },
    "appendices": [*PAGES["appendixA"], *PAGES["appendixB"]],
}
HIGHLIGHTS["tanti2021"] = {
    "artifacts": ["table1", "figure3", "figure4"],
    "measurements": [
        path
        for name in ["table1", "figure3", "figure4"]
        if name in MEASURED
        for path in TABLES[f"tanti2021/{name}"]["measurements"]
    ],
}


localrules:
    list_choices,
    count_points,
    plot_projections,


rule measure_experiments:
    """Tables 1 to 3 and the captions of Figures 3 and 4: scores, or clusters, by seed."""
    input:
        labels=experiment_files("<results>/runs/{run}/seed{seed}/predictions.parquet", True),
        languages=experiment_files(
            "<results>/languages/tanti2021/{task}/{run}/seed{seed}.{protocol}.parquet", True
        ),
        reports=experiment_files("<results>/languages/tanti2021/{task}/{run}/seed{seed}.json", True),
        clusters=experiment_files(
            "<results>/clusters/tanti2021/{task}/{run}/seed{seed}.json", False
        ),
    output:
        "<results>/measurements/tanti2021/{artifact}_{task}.csv",
    log:
        "<results>/logs/measure_experiments/{artifact}_{task}.log",
    benchmark:
        "<results>/benchmarks/measure_experiments/{artifact}_{task}.tsv"
    wildcard_constraints:
        artifact=any_of(CONDITIONS),
        task=any_of(TANTI.tasks),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("measure_experiments").threads
    resources:
        mem_mb=memory("measure_experiments"),
        runtime=minutes("measure_experiments"),
    params:
        cells=lambda wildcards: experiment_cells(wildcards.artifact, wildcards.task),
        model=TANTI.model,
        code=code("tanti2021/measure_experiments"),
    script:
        "../scripts/tanti2021/measure_experiments.py"


rule list_choices:
    """Table 5: what the random searches choose."""
    input:
        [cell["path"] for cell in choice_cells()],
    output:
        "<results>/measurements/tanti2021/table5.csv",
    log:
        "<results>/logs/list_choices.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=[
            {key: value for key, value in cell.items() if key != "path"} for cell in choice_cells()
        ],
        model=TANTI.model,
        code=code("tanti2021/list_choices"),
    script:
        "../scripts/tanti2021/list_choices.py"


rule count_examples:
    """Appendix A: examples of each set, those with unknown pieces left out."""
    input:
        list(counted_sets()),
    output:
        "<results>/measurements/tanti2021/appendixA.csv",
    log:
        "<results>/logs/count_examples.log",
    benchmark:
        "<results>/benchmarks/count_examples/appendixA.tsv"
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("count_examples").threads
    resources:
        mem_mb=memory("count_examples"),
        runtime=minutes("count_examples"),
    params:
        cells=list(counted_sets().values()),
        protocols=PROTOCOLS,
        model=TANTI.model,
        code=code("tanti2021/count_examples"),
    script:
        "../scripts/tanti2021/count_examples.py"


rule count_points:
    """Appendix B: points of the samples."""
    input:
        [
            f"<results>/clusters/tanti2021/{task}/{run.id}/seed{run.seeds[0]}.json"
            for task in TANTI.tasks
            for run in [experiment(task, "initial", "published")]
        ],
    output:
        "<results>/measurements/tanti2021/appendixB.csv",
    log:
        "<results>/logs/count_points.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        tasks=list(TANTI.tasks),
        protocols=PROTOCOLS,
        model=TANTI.model,
        code=code("tanti2021/count_points"),
    script:
        "../scripts/tanti2021/count_points.py"


rule plot_projections:
    """Figures 3 to 6: maps of a task's labels and languages under two conditions."""
    input:
        points=lambda wildcards: mapped(wildcards, "projections", "parquet"),
        clusters=lambda wildcards: mapped(wildcards, "clusters", "json"),
        scores=lambda wildcards: "<results>/measurements/tanti2021/{}_{}.csv".format(
            "table1" if "initial" in CONDITIONS[wildcards.artifact] else "table2",
            MAPS[wildcards.artifact],
        ),
    output:
        report(
            "<results>/figures/tanti2021/{artifact}.{protocol}.png",
            caption="../scripts/tanti2021/projections.rst",
            category="tanti2021",
            subcategory=lambda wildcards: headline(wildcards.artifact),
            labels={"language": "all", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/tanti2021/{artifact}.{protocol}.svg",
    log:
        "<results>/logs/plot_projections/{artifact}.{protocol}.log",
    wildcard_constraints:
        artifact=any_of(MAPS),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        conditions=lambda wildcards: shown_conditions(wildcards.artifact, MAPS[wildcards.artifact]),
        task=lambda wildcards: MAPS[wildcards.artifact],
        title=lambda wildcards: figure_title("tanti2021", wildcards.artifact),
        seed=shown_seed,
        sample=lambda wildcards: {
            name: SAMPLES[f"tanti2021/{MAPS[wildcards.artifact]}"][name]
            for name in ("per_cell", "per_language")
        },
        names={language.code: language.name for language in LANGUAGES},
        genera={language.code: language.genus for language in LANGUAGES},
        languages=mapped_languages(),
        code=code("tanti2021/plot_projections"),
    script:
        "../scripts/tanti2021/plot_projections.py"
