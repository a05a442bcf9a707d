# Needs: measurements and distances. Makes: figures, tables, scorecard, costs. The collected report is
# `snakemake --report results/<run>/report.html`.


localrules:
    plot_distances,
    plot_distance_grid,
    plot_transfer,
    plot_projections,
    lay_out_table,
    scorecard,
    cost,


FIGURE_TITLES = {
    ("efimov2022", "table2"): "Zero-shot inference before and after cross-lingual adjustment",
    ("efimov2022", "table3"): "Zero-shot named entities before and after cross-lingual adjustment",
    ("efimov2022", "table4"): "Zero-shot questions before and after cross-lingual adjustment",
    ("efimov2022", "table5"): "Gain by the number of parallel sentences",
    ("efimov2022", "table6"): "Gain by how the pieces of a word become one vector",
    ("efimov2022", "table7"): "Gain by what is pulled together",
    ("efimov2022", "table8"): "Answers in the language of training, before and after adjustment",
    ("efimov2022", "table9"): "Hindi with an extended vocabulary, before and after adjustment",
    ("tanti2021", "table1_udpos"): "Zero-shot part-of-speech tagging, initial and fine-tuned",
    ("tanti2021", "table1_xnli"): "Zero-shot inference, initial and fine-tuned",
    ("tanti2021", "table2_udpos"): "Zero-shot part-of-speech tagging after unlearning language",
    ("tanti2021", "table2_xnli"): "Zero-shot inference after unlearning language",
}


rule plot_distances:
    """Histograms of word pair distances, a panel per model (efimov2022 Figure 1)."""
    input:
        lambda wildcards: distance_files([wildcards.language], "parquet"),
    output:
        report(
            "<results>/figures/efimov2022/figure1.{language}.{protocol}.svg",
            caption=caption("efimov2022_figure1"),
            category="efimov2022",
            subcategory="Figure 1",
            labels={"language": "{language}", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/efimov2022/figure1.{language}.{protocol}.png",
    log:
        "<results>/logs/plot_distances/{language}.{protocol}.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        panels=list(CONFIG.efimov2022.figures["figure1"].panels),
        name=lambda wildcards: LANGUAGES[wildcards.language].name,
        code=code("plot_distances"),
    script:
        "../scripts/plot_distances.py"


rule plot_distance_grid:
    """The same for every language and task, small (efimov2022 Figure 2)."""
    input:
        distance_files(CONFIG.efimov2022.figures["figure2"].languages, "parquet"),
    output:
        report(
            "<results>/figures/efimov2022/figure2.{protocol}.svg",
            caption=caption("efimov2022_figure2"),
            category="efimov2022",
            subcategory="Figure 2",
            labels={"language": "all", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/efimov2022/figure2.{protocol}.png",
    log:
        "<results>/logs/plot_distance_grid/{protocol}.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        panels=list(CONFIG.efimov2022.figures["figure2"].panels),
        names={language.code: language.name for language in LANGUAGES},
        code=code("plot_distance_grid"),
    script:
        "../scripts/plot_distance_grid.py"


rule plot_transfer:
    """Scores by language, condition and seed, with the reported ones."""
    input:
        "<results>/measurements/{paper}/{artifact}.csv",
    output:
        report(
            "<results>/figures/{paper}/{artifact}.svg",
            caption=caption("transfer"),
            category="{paper}",
            subcategory=headline,
            labels={"language": "all", "protocol": "both", "kind": "figure"},
        ),
        "<results>/figures/{paper}/{artifact}.png",
    log:
        "<results>/logs/plot_transfer/{paper}/{artifact}.log",
    wildcard_constraints:
        artifact=any_of(artifact for _, artifact in FIGURE_TITLES),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        reported="resources/reported/{paper}.csv",
        reported_content=lambda wildcards: content(f"resources/reported/{wildcards.paper}.csv"),
        comparable=CONFIG.comparable,
        title=lambda wildcards: FIGURE_TITLES.get(
            (wildcards.paper, wildcards.artifact), headline(wildcards)
        ),
        names={language.code: language.name for language in LANGUAGES},
        code=code("plot_transfer"),
    script:
        "../scripts/plot_transfer.py"


rule plot_projections:
    """Maps of a task's labels and languages under two conditions (tanti2021 Figures 3 to 6)."""
    input:
        points=lambda wildcards: projected(wildcards, "projections", "parquet"),
        clusters=lambda wildcards: projected(wildcards, "clusters", "json"),
        scores=lambda wildcards: "<results>/measurements/tanti2021/{}_{}.csv".format(
            "table1" if wildcards.artifact in ("figure3", "figure4") else "table2",
            PROJECTIONS[wildcards.artifact][0],
        ),
    output:
        report(
            "<results>/figures/tanti2021/{artifact}.{protocol}.svg",
            caption=caption("tanti2021_projections"),
            category="tanti2021",
            subcategory=headline,
            labels={"language": "all", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/tanti2021/{artifact}.{protocol}.png",
    log:
        "<results>/logs/plot_projections/{artifact}.{protocol}.log",
    wildcard_constraints:
        artifact=any_of(PROJECTIONS),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        conditions=lambda wildcards: CONDITIONS[wildcards.artifact],
        task=lambda wildcards: PROJECTIONS[wildcards.artifact][0],
        title=lambda wildcards: PROJECTIONS[wildcards.artifact][1],
        seed=lambda wildcards: first_seed(wildcards),
        sample=lambda wildcards: sample_of(PROJECTIONS[wildcards.artifact][0]),
        names={language.code: language.name for language in LANGUAGES},
        genera={language.code: language.genus for language in LANGUAGES},
        languages=lambda wildcards: projected_languages(),
        code=code("plot_projections"),
    script:
        "../scripts/plot_projections.py"


rule lay_out_table:
    """One table as the paper has it, reported and reproduced, from its own measurements only."""
    input:
        lambda wildcards: TABLES[wildcards.paper][wildcards.artifact],
    output:
        html=report(
            "<results>/tables/{paper}/{artifact}.html",
            caption=caption("table"),
            category="{paper}",
            subcategory=headline,
            labels={"language": "all", "protocol": "both", "kind": "table"},
        ),
        csv="<results>/tables/{paper}/{artifact}.csv",
    log:
        "<results>/logs/lay_out_table/{paper}/{artifact}.log",
    wildcard_constraints:
        paper=any_of(TABLES),
        artifact=any_of({artifact for tables in TABLES.values() for artifact in tables}),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        reported="resources/reported/{paper}.csv",
        reported_content=lambda wildcards: content(f"resources/reported/{wildcards.paper}.csv"),
        comparable=CONFIG.comparable,
        names={language.code: language.name for language in LANGUAGES},
        facts=lambda wildcards: facts(wildcards.paper, wildcards.artifact),
        code=code("lay_out_table"),
    script:
        "../scripts/lay_out_table.py"


rule scorecard:
    """Reported against reproduced, cell by cell, with a verdict by a stated rule."""
    input:
        measurement_files(),
    output:
        csv="<results>/scorecard.csv",
        html=report(
            "<results>/scorecard.html",
            caption=caption("scorecard"),
            category="Scorecard",
            labels={"language": "all", "protocol": "both", "kind": "table"},
        ),
    log:
        "<results>/logs/scorecard.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        run=CONFIG.run,
        figures=[
            {"paper": paper, "artifact": artifact, "path": path.replace("<results>", RESULTS)}
            for paper in CONFIG.papers
            for artifact, paths in ARTIFACTS[paper].items()
            for path in paths
            if path.endswith(".svg")
        ],
        comparable=CONFIG.comparable,
        reported=[f"resources/reported/{paper}.csv" for paper in CONFIG.papers],
        reported_content=[content(f"resources/reported/{paper}.csv") for paper in CONFIG.papers],
        names={language.code: language.name for language in LANGUAGES},
        code=code("scorecard"),
    script:
        "../scripts/scorecard.py"


# How `cost` books the benchmark files.
STAGES = {
    "corpora": [
        "miniature",
        "extract_wikipedia",
        "read_plain_text",
        "read_bitext",
        "read_universal_dependencies",
        "read_nli",
        "read_named_entities",
        "read_question_answering",
        "mix_languages",
        "cross_questions",
        "sample_language_identification",
        "read_released_languages",
    ],
    "alignment": ["split_into_pieces", "align", "encode_word_pairs"],
    "encoders": ["train_tokenizer", "extend_encoder", "encode_pretraining_texts", "pretrain"],
    "training": ["encode_examples", "adjust", "finetune", "choose_hyperparameters"],
    "representations": ["extract_features", "word_pair_distances"],
    "analysis": [
        "identify_languages",
        "cluster_points",
        "project_points",
        "measure_experiments",
        "count_examples",
    ],
}
PAYERS = {
    "word_pair_distances": "efimov2022",
    "align": "efimov2022",
    "read_bitext": "efimov2022",
    "encode_word_pairs": "efimov2022",
    "choose_hyperparameters": "tanti2021",
    "extract_features": "tanti2021",
    "identify_languages": "tanti2021",
    "cluster_points": "tanti2021",
    "project_points": "tanti2021",
    "measure_experiments": "tanti2021",
    "count_examples": "tanti2021",
}


rule cost:
    """Jobs, CPU hours and GPU hours by paper and stage, from the benchmark files."""
    input:
        figures=[target for paper in CONFIG.papers for target in artifacts(paper)],
        scorecard="<results>/scorecard.csv",
    output:
        "<results>/cost.csv",
    log:
        "<results>/logs/cost.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        benchmarks=f"{RESULTS}/benchmarks",
        logs=f"{RESULTS}/logs",
        rules={
            rule: {"stage": stage, "paper": PAYERS.get(rule, "shared")}
            for stage, rules in STAGES.items()
            for rule in rules
        },
        papers={run.id: run.paper for run in RUNS},
        code=code("cost"),
    script:
        "../scripts/cost.py"
