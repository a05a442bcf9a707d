# Needs: predictions, vectors, distances. Makes: measurements, one tidy CSV per artifact, in the columns of
# resources/reported/*.csv plus protocol, seed and n. CPU only: a new metric never costs a GPU hour.


rule identify_languages:
    """Language identification by a linear layer, trained in isolation on the features of Wikipedia."""
    input:
        target=features_folder("target"),
        wikipedia=features_folder("wikipedia"),
        choice=lambda wildcards: choice_of(RUNS[wildcards.run]),
    output:
        published="<results>/languages/{task}/{run}/seed{seed}.published.parquet",
        corrected="<results>/languages/{task}/{run}/seed{seed}.corrected.parquet",
        report="<results>/languages/{task}/{run}/seed{seed}.json",
    log:
        "<results>/logs/identify_languages/{task}/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/identify_languages/{task}/{run}/seed{seed}.tsv"
    wildcard_constraints:
        task=any_of(CONFIG.tanti2021.tasks),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("identify_languages").threads
    resources:
        mem_mb=memory("identify_languages"),
        runtime=minutes("identify_languages"),
    params:
        hyperparameters=lambda wildcards: RUNS[wildcards.run].specification["hyperparameters"],
        probe=CONFIG.tanti2021.probe.model_dump(mode="json"),
        code=code("identify_languages"),
    script:
        "../scripts/identify_languages.py"


rule cluster_points:
    """K-means of a sample of the test sets against labels and languages (App. B)."""
    input:
        target=features_folder("target"),
        wikipedia=features_folder("wikipedia"),
    output:
        "<results>/clusters/{task}/{run}/seed{seed}.json",
    log:
        "<results>/logs/cluster_points/{task}/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/cluster_points/{task}/{run}/seed{seed}.tsv"
    wildcard_constraints:
        task=any_of(CONFIG.tanti2021.tasks),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("cluster_points").threads
    resources:
        mem_mb=memory("cluster_points"),
        runtime=minutes("cluster_points"),
    params:
        sample=lambda wildcards: sample_of(wildcards.task),
        language_clusters=CONFIG.tanti2021.language_clusters,
        code=code("cluster_points"),
    script:
        "../scripts/cluster_points.py"


rule project_points:
    """t-SNE of the same sample."""
    input:
        target=features_folder("target"),
        wikipedia=features_folder("wikipedia"),
    output:
        "<results>/projections/{task}/{run}/seed{seed}.parquet",
    log:
        "<results>/logs/project_points/{task}/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/project_points/{task}/{run}/seed{seed}.tsv"
    wildcard_constraints:
        task=any_of(CONFIG.tanti2021.tasks),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("project_points").threads
    resources:
        mem_mb=memory("project_points"),
        runtime=minutes("project_points"),
    params:
        sample=lambda wildcards: sample_of(wildcards.task),
        perplexity=CONFIG.tanti2021.perplexity,
        code=code("project_points"),
    script:
        "../scripts/project_points.py"


localrules:
    list_languages,
    measure_transfer,
    measure_distances,
    list_choices,
    count_points,


rule list_languages:
    """efimov2022 Table 1: the articles of each Wikipedia; its other columns are facts."""
    input:
        [
            f"<results>/data/{CONFIG.efimov2022.pages}/{language}.card.json"
            for language in CONFIG.efimov2022.languages
        ],
    output:
        "<results>/measurements/efimov2022/table1.csv",
    log:
        "<results>/logs/list_languages.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        model=CONFIG.efimov2022.model,
        protocols=PROTOCOLS,
        code=code("list_languages"),
    script:
        "../scripts/list_languages.py"


rule measure_transfer:
    """efimov2022 Tables 2 to 9: scores by condition, language and seed, with significance tests."""
    input:
        lambda wildcards: [cell["path"] for cell in transfer_cells(wildcards.artifact)],
    output:
        "<results>/measurements/efimov2022/{artifact}.csv",
    log:
        "<results>/logs/measure_transfer/{artifact}.log",
    wildcard_constraints:
        artifact=any_of(CONFIG.efimov2022.tables),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=lambda wildcards: [
            {**cell, "path": None} for cell in transfer_cells(wildcards.artifact)
        ],
        table=lambda wildcards: CONFIG.efimov2022.tables[wildcards.artifact].model_dump(
            include={"model", "against", "gains_over"}
        ),
        code=code("measure_transfer"),
    script:
        "../scripts/measure_transfer.py"


rule measure_distances:
    """efimov2022 Figures 1 and 2: how far apart related and unrelated pairs are."""
    input:
        lambda wildcards: distance_files(
            CONFIG.efimov2022.figures[wildcards.artifact].languages, "json"
        ),
    output:
        "<results>/measurements/efimov2022/{artifact}.csv",
    log:
        "<results>/logs/measure_distances/{artifact}.log",
    wildcard_constraints:
        artifact=any_of(CONFIG.efimov2022.figures),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        model=CONFIG.efimov2022.model,
        panels=lambda wildcards: list(CONFIG.efimov2022.figures[wildcards.artifact].panels),
        code=code("measure_distances"),
    script:
        "../scripts/measure_distances.py"


rule measure_experiments:
    """tanti2021 Tables 1 to 3 and the captions of Figures 3 and 4: scores, or clusters, by seed."""
    input:
        labels=experiment_files("<results>/runs/{run}/seed{seed}/predictions.parquet", True),
        languages=experiment_files(
            "<results>/languages/{task}/{run}/seed{seed}.{protocol}.parquet", True
        ),
        reports=experiment_files("<results>/languages/{task}/{run}/seed{seed}.json", True),
        clusters=experiment_files("<results>/clusters/{task}/{run}/seed{seed}.json", False),
    output:
        "<results>/measurements/tanti2021/{artifact}_{task}.csv",
    log:
        "<results>/logs/measure_experiments/{artifact}_{task}.log",
    benchmark:
        "<results>/benchmarks/measure_experiments/{artifact}_{task}.tsv"
    wildcard_constraints:
        artifact=any_of(CONDITIONS),
        task=any_of(CONFIG.tanti2021.tasks),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("measure_experiments").threads
    resources:
        mem_mb=memory("measure_experiments"),
        runtime=minutes("measure_experiments"),
    params:
        cells=lambda wildcards: experiment_cells(wildcards.artifact, wildcards.task),
        model=CONFIG.tanti2021.model,
        code=code("measure_experiments"),
    script:
        "../scripts/measure_experiments.py"


rule list_choices:
    """tanti2021 Table 5: what the random searches choose."""
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
        model=CONFIG.tanti2021.model,
        code=code("list_choices"),
    script:
        "../scripts/list_choices.py"


rule count_examples:
    """tanti2021 appendix A: examples of each set, those with unknown pieces left out."""
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
        model=CONFIG.tanti2021.model,
        code=code("count_examples"),
    script:
        "../scripts/count_examples.py"


rule count_points:
    """tanti2021 appendix B: points of the samples."""
    input:
        [
            f"<results>/clusters/{task}/{run.id}/seed{run.seeds[0]}.json"
            for task in CONFIG.tanti2021.tasks
            for run in [experiment(task, "initial", "published")]
        ],
    output:
        "<results>/measurements/tanti2021/appendixB.csv",
    log:
        "<results>/logs/count_points.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        tasks=list(CONFIG.tanti2021.tasks),
        protocols=PROTOCOLS,
        model=CONFIG.tanti2021.model,
        code=code("count_points"),
    script:
        "../scripts/count_points.py"
