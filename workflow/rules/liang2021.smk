# Liang et al. 2021, where language lives in the space. Needs: token vectors, typology, predictions. Makes: Figures 1 to
# 5, Tables 1 to 6.


include: "liang2021_cells.smk"


for texts in set(LIANG.tokens.texts.values()):
    VECTORS[texts] = {
        "encoding": LIANG.tokens.encoding,
        "summed": LIANG.tokens.summed,
        "probed": LIANG.tokens.probed,
        "languages_per_job": LIANG.tokens.languages_per_job,
    }
    LANGUAGE_SETS[texts] = LANGUAGES_OF
for model, name in LIANG.encoders.items():
    FEATURES |= {
        f"liang2021/{model}-{task}-{part}": {
            "stores": {
                "words": {
                    "folder": encoded(
                        name,
                        {
                            "dataset": dataset,
                            "encoding": encoding_name(
                                RUNS.get(LIANG.transfer.runs[task]["en"], None, "published")
                            ),
                        },
                    ),
                    "splits": None,
                    "languages": None,
                    "unit": "word",
                }
            },
            "pooling": "first",
            "layers": [LIANG.layers],
        }
        for task, datasets_of_task in LIANG.removal.datasets.items()
        for part, dataset in zip(("train", "test"), datasets_of_task)
    }
LIANG_FIGURES = ["figure1", "figure2", "figure3"]
LIANG_FIGURES += ["figure4"] if LIANG.removal.datasets else []
LIANG_FIGURES += ["figure5"] if LANGUAGES_OF else []
TABLES |= {
    f"liang2021/{name}": {"measurements": [f"<results>/measurements/liang2021/{name}.csv"]}
    for name in LIANG_TABLES
}
MEASUREMENTS["liang2021"] = [
    f"<results>/measurements/liang2021/{name}.csv" for name in [*LIANG_FIGURES, *LIANG_TABLES]
]
ARTIFACTS["liang2021"] = {
    **{
        name: [f"<results>/figures/liang2021/{name}.{protocol}.svg" for protocol in PROTOCOLS]
        for name in LIANG_FIGURES
    },
    **{name: [f"<results>/tables/liang2021/{name}.html"] for name in LIANG_TABLES},
}
HIGHLIGHTS["liang2021"] = {
    "artifacts": ["figure5"],
    "measurements": ["<results>/measurements/liang2021/figure5.csv"],
}


localrules:
    measure_probes,
    measure_pairs,
    measure_removal,
    measure_preservation,
    plot_curves,


rule probe_languages:
    """One probe of the projected space of an encoder: windows of the last layer, the others' first."""
    input:
        vectors=lambda wildcards: vectors_folders(
            wildcards.encoder,
            texts_of(wildcards.encoder),
            LANGUAGES_OF.get(wildcards.languages),
        ),
        directions=lambda wildcards: directions_folder(
            wildcards.encoder, texts_of(wildcards.encoder), wildcards.languages
        ),
        typology=f"<results>/data/{LIANG.typology}.parquet",
    output:
        "<results>/probes/liang2021/{encoder}/{languages}/{probe}.parquet",
    log:
        "<results>/logs/probe_languages/{encoder}/{languages}/{probe}.log",
    benchmark:
        "<results>/benchmarks/probe_languages/{encoder}/{languages}/{probe}.tsv"
    wildcard_constraints:
        languages="[a-z]+",
        probe=any_of(PROBED),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("probe_languages").threads
    resources:
        mem_mb=memory("probe_languages"),
        runtime=minutes("probe_languages"),
    params:
        task=lambda wildcards: wildcards.probe,
        probing=lambda wildcards: probing_of(
            wildcards.probe, LANGUAGES_OF.get(wildcards.languages)
        )
        | {"full_layer": LIANG.layers},
        seeds=CONFIG.seeds[: LIANG.probing.seeds],
        genera={language.code: language.genus for language in LANGUAGES},
        code=code("liang2021/probe_languages"),
    script:
        "../scripts/liang2021/probe_languages.py"


rule classify_in_subspaces:
    """Figure 4, frozen: linear classifiers on word vectors without their first directions."""
    input:
        train="<results>/features/liang2021/{model}-{task}-train/{encoder}",
        test="<results>/features/liang2021/{model}-{task}-test/{encoder}",
        directions=lambda wildcards: directions_folder(
            wildcards.encoder, texts_of(wildcards.encoder)
        ),
    output:
        "<results>/classifiers/liang2021/{model}-{task}/{encoder}.parquet",
    log:
        "<results>/logs/classify_in_subspaces/{model}-{task}/{encoder}.log",
    benchmark:
        "<results>/benchmarks/classify_in_subspaces/{model}-{task}/{encoder}.tsv"
    wildcard_constraints:
        model=any_of(LIANG.encoders),
        task=any_of(LIANG.removal.datasets),
    priority: 2
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("classify_in_subspaces").threads
    resources:
        mem_mb=memory("classify_in_subspaces"),
        runtime=minutes("classify_in_subspaces"),
        features=1,
    params:
        methods=METHODS,
        firsts=LIANG.removal.firsts,
        layer=LIANG.layers,
        maximum_vectors=LIANG.removal.maximum_vectors,
        seeds=CONFIG.seeds[: LIANG.probing.seeds],
        code=code("liang2021/classify_in_subspaces"),
    script:
        "../scripts/liang2021/classify_in_subspaces.py"


rule measure_probes:
    """Figures 1 to 3: probes by window and by layer."""
    input:
        [path for model in LIANG.encoders for path in probe_paths(model, PROBED)],
    output:
        "<results>/measurements/liang2021/{artifact}.csv",
    log:
        "<results>/logs/measure_probes/{artifact}.log",
    wildcard_constraints:
        artifact="figure[123]",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=[(model, probe) for model in LIANG.encoders for probe in PROBED],
        options=lambda wildcards: {
            "layer": LIANG.layers,
            "width": LIANG.probing.width,
            "by_layer": LIANG.probing.by_layer,
        },
        code=code("liang2021/measure_probes"),
    script:
        "../scripts/liang2021/measure_probes.py"


rule measure_pairs:
    """Figure 5: pairs of languages of one family, told apart by windows of two dimensions."""
    input:
        [path for name in LANGUAGES_OF for path in probe_paths("mbert", PROBED[:1], name)],
    output:
        "<results>/measurements/liang2021/figure5.csv",
    log:
        "<results>/logs/measure_pairs.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=[(name, "identification") for name in LANGUAGES_OF],
        options={"layer": LIANG.layers, "width": LIANG.pairs.width},
        code=code("liang2021/measure_probes"),
    script:
        "../scripts/liang2021/measure_probes.py"


rule measure_removal:
    """Figure 4: what tagging and named entities lose without the first directions."""
    input:
        frozen=[
            f"<results>/classifiers/liang2021/{model}-{task}/{encoder}.parquet"
            for model, encoder in LIANG.encoders.items()
            for task in LIANG.removal.datasets
        ],
        tuned=[cell["path"] for cell in removal_cells()],
    output:
        "<results>/measurements/liang2021/figure4.csv",
    log:
        "<results>/logs/measure_removal.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        frozen=[(model, task) for model in LIANG.encoders for task in LIANG.removal.datasets],
        tuned=[{**cell, "path": None} for cell in removal_cells()],
        rank=len(CONFIG.datasets[LIANG.tokens.texts["mbert"]].languages) - 1,
        code=code("liang2021/measure_removal"),
    script:
        "../scripts/liang2021/measure_removal.py"


rule measure_preservation:
    """Tables 1 to 6: transfer with and without L-DAR, by language or as means."""
    input:
        lambda wildcards: [cell["path"] for cell in preservation_cells(wildcards.artifact)],
    output:
        "<results>/measurements/liang2021/{artifact}.csv",
    log:
        "<results>/logs/measure_preservation/{artifact}.log",
    wildcard_constraints:
        artifact=any_of(LIANG_TABLES),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=lambda wildcards: [
            {**cell, "path": None} for cell in preservation_cells(wildcards.artifact)
        ],
        means=lambda wildcards: wildcards.artifact in ("table1", "table6"),
        code=code("liang2021/measure_preservation"),
    script:
        "../scripts/liang2021/measure_preservation.py"


rule plot_curves:
    """Figures 1 to 5: scores by dimensions, by layer, by what is taken away."""
    input:
        "<results>/measurements/liang2021/{artifact}.csv",
    output:
        report(
            "<results>/figures/liang2021/{artifact}.{protocol}.png",
            caption="../scripts/liang2021/curves.rst",
            category="liang2021",
            subcategory=lambda wildcards: headline(wildcards.artifact),
            labels={"language": "all", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/liang2021/{artifact}.{protocol}.svg",
    log:
        "<results>/logs/plot_curves/{artifact}.{protocol}.log",
    wildcard_constraints:
        artifact=any_of(LIANG_FIGURES),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        title=lambda wildcards: figure_title("liang2021", wildcards.artifact),
        sets=list(LIANG.pairs.sets),
        code=code("liang2021/plot_curves"),
    script:
        "../scripts/liang2021/plot_curves.py"
