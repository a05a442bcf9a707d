# Efimov et al. 2022, cross-lingual adjustment. Needs: predictions, word pairs, articles. Makes: Tables 1 to 9,
# Figures 1 and 2, section 5.4.

from mbert_atlas.papers.efimov2022.figures import by_size

EFIMOV = CONFIG.efimov2022


# A figure's models are measured in jobs of its own, so that Figure 1 needs none of Figure 2's other tasks.
DISTANCES |= {
    f"efimov2022/{name}": {
        "encoder": EFIMOV.model,
        "bitext": EFIMOV.bitext,
        "pairs": EFIMOV.pairs,
        "panels": {language: figure.panels for language in figure.languages},
    }
    for name, figure in EFIMOV.figures.items()
}
TRANSFER |= {f"efimov2022/{name}": item for name, item in EFIMOV.tables.items()}
PLOTS |= {
    f"efimov2022/{name}": figure_title(
        "efimov2022", name, languages=language_names(table.languages)
    )
    for name, table in EFIMOV.tables.items()
}
CONDITION_NAMES |= {
    f"efimov2022/{name}": by_size(table, RUNS) for name, table in EFIMOV.tables.items()
}
TABLES |= {
    f"efimov2022/{name}": {"measurements": [f"<results>/measurements/efimov2022/{name}.csv"]}
    for name in ["table1", *EFIMOV.tables]
}
TABLES["efimov2022/table1"]["facts"] = [
    {
        "language": item.name,
        "family": f"{item.family} / {item.genus}",
        "script": item.script,
        "word order": item.word_order,
    }
    for item in [LANGUAGES[code] for code in EFIMOV.languages]
]
MEASUREMENTS["efimov2022"] = expand(
    "<results>/measurements/efimov2022/{artifact}.csv",
    artifact=["table1", *EFIMOV.tables, *EFIMOV.figures],
)
ARTIFACTS["efimov2022"] = {
    **{
        name: expand(
            f"<results>/figures/efimov2022/{name}.{{language}}{{protocol}}.svg",
            language=[f"{code}." for code in figure.languages] if name == "figure1" else [""],
            protocol=PROTOCOLS,
        )
        for name, figure in EFIMOV.figures.items()
    },
    "table1": ["<results>/tables/efimov2022/table1.html"],
    **{
        name: [
            f"<results>/tables/efimov2022/{name}.html",
            f"<results>/figures/efimov2022/{name}.svg",
        ]
        for name in EFIMOV.tables
    },
}
HIGHLIGHTS["efimov2022"] = {
    "artifacts": ["figure1", "table2"],
    "measurements": expand(
        "<results>/measurements/efimov2022/{artifact}.csv", artifact=["figure1", "table2"]
    ),
}


localrules:
    list_languages,
    measure_distances,
    plot_distances,
    plot_distance_grid,


rule list_languages:
    """Table 1: the articles of each Wikipedia; its other columns are facts."""
    input:
        [f"<results>/data/{EFIMOV.pages}/{language}.card.json" for language in EFIMOV.languages],
    output:
        "<results>/measurements/efimov2022/table1.csv",
    log:
        "<results>/logs/list_languages.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        model=EFIMOV.model,
        protocols=PROTOCOLS,
        code=code("efimov2022/list_languages"),
    script:
        "../scripts/efimov2022/list_languages.py"


rule measure_distances:
    """Figures 1 and 2: how far apart related and unrelated pairs are."""
    input:
        lambda wildcards: expand(
            "<results>/distances/efimov2022/{artifact}/{language}/seed{seed}.json",
            artifact=wildcards.artifact,
            language=EFIMOV.figures[wildcards.artifact].languages,
            seed=CONFIG.seeds,
        ),
    output:
        "<results>/measurements/efimov2022/{artifact}.csv",
    log:
        "<results>/logs/measure_distances/{artifact}.log",
    wildcard_constraints:
        artifact=any_of(EFIMOV.figures),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        model=EFIMOV.model,
        panels=lambda wildcards: list(EFIMOV.figures[wildcards.artifact].panels),
        code=code("efimov2022/measure_distances"),
    script:
        "../scripts/efimov2022/measure_distances.py"


rule plot_distances:
    """Figure 1: histograms of word pair distances, a panel per model."""
    input:
        lambda wildcards: expand(
            "<results>/distances/efimov2022/figure1/{language}/seed{seed}.parquet",
            language=wildcards.language,
            seed=CONFIG.seeds,
        ),
    output:
        report(
            "<results>/figures/efimov2022/figure1.{language}.{protocol}.png",
            caption="../scripts/efimov2022/figure1.rst",
            category="efimov2022",
            subcategory="Figure 1",
            labels={"language": "{language}", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/efimov2022/figure1.{language}.{protocol}.svg",
    log:
        "<results>/logs/plot_distances/{language}.{protocol}.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        panels=lambda wildcards: list(EFIMOV.figures["figure1"].panels),
        name=lambda wildcards: LANGUAGES[wildcards.language].name,
        code=code("efimov2022/plot_distances"),
    script:
        "../scripts/efimov2022/plot_distances.py"


rule plot_distance_grid:
    """Figure 2: the same for every language and task, small."""
    input:
        lambda wildcards: expand(
            "<results>/distances/efimov2022/figure2/{language}/seed{seed}.parquet",
            language=EFIMOV.figures["figure2"].languages,
            seed=CONFIG.seeds,
        ),
    output:
        report(
            "<results>/figures/efimov2022/figure2.{protocol}.png",
            caption="../scripts/efimov2022/figure2.rst",
            category="efimov2022",
            subcategory="Figure 2",
            labels={"language": "all", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/efimov2022/figure2.{protocol}.svg",
    log:
        "<results>/logs/plot_distance_grid/{protocol}.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        panels=lambda wildcards: list(EFIMOV.figures["figure2"].panels),
        names={language.code: language.name for language in LANGUAGES},
        code=code("efimov2022/plot_distance_grid"),
    script:
        "../scripts/efimov2022/plot_distance_grid.py"
