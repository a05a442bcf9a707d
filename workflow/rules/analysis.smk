# Needs: predictions and vectors. Makes: measurements, one tidy CSV per artifact, in the columns of
# resources/reported/*.csv plus protocol, seed and n. CPU only: a new metric never costs a GPU hour.


rule identify_languages:
    """Language identification by a linear layer, trained in isolation on features."""
    input:
        features=features_folder,
        choice=lambda wildcards: choice_of(RUNS[wildcards.run]),
    output:
        published="<results>/languages/{features}/{run}/seed{seed}.published.parquet",
        corrected="<results>/languages/{features}/{run}/seed{seed}.corrected.parquet",
        report="<results>/languages/{features}/{run}/seed{seed}.json",
    log:
        "<results>/logs/identify_languages/{features}/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/identify_languages/{features}/{run}/seed{seed}.tsv"
    wildcard_constraints:
        features=any_of(PROBES),
    priority: 2
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("identify_languages").threads
    resources:
        mem_mb=memory("identify_languages"),
        runtime=minutes("identify_languages"),
        features=1,
    params:
        hyperparameters=lambda wildcards: RUNS[wildcards.run].specification["hyperparameters"],
        probe=lambda wildcards: PROBES[wildcards.features],
        code=code("identify_languages"),
    script:
        "../scripts/identify_languages.py"


rule draw_points:
    """A sample of the test sets, kept: neither clusters nor maps encode again."""
    input:
        "<results>/features/{features}/{model}",
    output:
        directory("<results>/points/{features}/{model}"),
    log:
        "<results>/logs/draw_points/{features}/{model}.log",
    wildcard_constraints:
        features=any_of(SAMPLES),
        model=r"[^/]+(/seed\d+)?",
    priority: 2
    conda:
        "../../envs/mbert-atlas.yaml"
    resources:
        features=1,
    params:
        sample=sampling("seed", "per_cell", "per_language"),
        code=code("draw_points"),
    script:
        "../scripts/draw_points.py"


rule cluster_points:
    """K-means of a sample of the test sets against labels and languages."""
    input:
        points_folder,
    output:
        "<results>/clusters/{features}/{run}/seed{seed}.json",
    log:
        "<results>/logs/cluster_points/{features}/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/cluster_points/{features}/{run}/seed{seed}.tsv"
    wildcard_constraints:
        features=any_of(SAMPLES),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("cluster_points").threads
    resources:
        mem_mb=memory("cluster_points"),
        runtime=minutes("cluster_points"),
    params:
        sample=sampling("language_clusters"),
        code=code("cluster_points"),
    script:
        "../scripts/cluster_points.py"


rule project_points:
    """t-SNE of the same sample."""
    input:
        points_folder,
    output:
        "<results>/projections/{features}/{run}/seed{seed}.parquet",
    log:
        "<results>/logs/project_points/{features}/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/project_points/{features}/{run}/seed{seed}.tsv"
    wildcard_constraints:
        features=any_of(SAMPLES),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("project_points").threads
    resources:
        mem_mb=memory("project_points"),
        runtime=minutes("project_points"),
    params:
        sample=sampling("seed", "perplexity"),
        code=code("project_points"),
    script:
        "../scripts/project_points.py"


rule measure_similarity:
    """Centred kernel alignment of languages by layer, under one model."""
    input:
        "<results>/features/{features}/{model}",
    output:
        "<results>/similarity/{features}/{model}.parquet",
    log:
        "<results>/logs/measure_similarity/{features}/{model}.log",
    benchmark:
        "<results>/benchmarks/measure_similarity/{features}/{model}.tsv"
    wildcard_constraints:
        features=any_of(SIMILARITIES),
        model=r"[^/]+(/seed\d+)?",
    priority: 2
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("measure_similarity").threads
    resources:
        mem_mb=memory("measure_similarity"),
        runtime=minutes("measure_similarity"),
        features=1,
    params:
        pivots=lambda wildcards: SIMILARITIES[wildcards.features]["pivots"],
        stores=lambda wildcards: SIMILARITIES[wildcards.features]["stores"],
        code=code("measure_similarity"),
    script:
        "../scripts/measure_similarity.py"


localrules:
    draw_points,
    measure_transfer,


rule measure_transfer:
    """Scores by source, condition, language and seed, with significance tests."""
    input:
        lambda wildcards: [cell["path"] for cell in transfer_cells(wildcards.table)],
    output:
        "<results>/measurements/{table}.csv",
    log:
        "<results>/logs/measure_transfer/{table}.log",
    wildcard_constraints:
        table=any_of(TRANSFER),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=lambda wildcards: [{**cell, "path": None} for cell in transfer_cells(wildcards.table)],
        table=lambda wildcards: TRANSFER[wildcards.table].model_dump(
            include={"model", "against", "gains_over"}
        ),
        code=code("measure_transfer"),
    script:
        "../scripts/measure_transfer.py"
