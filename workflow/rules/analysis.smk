# Needs: features. Makes: language identification, clusters, t-SNE, similarity between languages. CPU only.


rule identify_languages:
    """Language identification by a linear layer, trained on features of a model that stays fixed."""
    input:
        features=job(plan.features_of, kind="features"),
        choice=job.choice,
    output:
        published="<results>/languages/{features}/{run}/seed{seed}.published.parquet",
        corrected="<results>/languages/{features}/{run}/seed{seed}.corrected.parquet",
        report="<results>/languages/{features}/{run}/seed{seed}.json",
    log:
        "<results>/logs/identify_languages/{features}/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/identify_languages/{features}/{run}/seed{seed}.tsv"
    priority: 2
    threads: plan.threads("identify_languages")
    resources:
        **plan.resources("identify_languages"),
        features=1,
    params:
        specification=job.runs.specification,
        probe=job.features.probe,
        code=plan.code("identify_languages"),
    script:
        "../scripts/identify_languages.py"


rule draw_points:
    """A sample of the test sets, kept, so that clusters and maps need not encode again."""
    input:
        "<results>/features/{features}/{model}",
    output:
        directory("<results>/points/{features}/{model}"),
    log:
        "<results>/logs/draw_points/{features}/{model}.log",
    priority: 2
    localrule: True
    resources:
        features=1,
    params:
        sample=job(plan.sample, keys=("seed", "per_cell", "per_language")),
        code=plan.code("draw_points"),
    script:
        "../scripts/draw_points.py"


rule cluster_points:
    """K-means of a sample of the test sets against labels and languages."""
    input:
        job(plan.features_of, kind="points"),
    output:
        "<results>/clusters/{features}/{run}/seed{seed}.json",
    log:
        "<results>/logs/cluster_points/{features}/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/cluster_points/{features}/{run}/seed{seed}.tsv"
    threads: plan.threads("cluster_points")
    resources:
        **plan.resources("cluster_points"),
    params:
        sample=job(plan.sample, keys=("language_clusters",)),
        code=plan.code("cluster_points"),
    script:
        "../scripts/cluster_points.py"


rule project_points:
    """t-SNE of the same sample."""
    input:
        job(plan.features_of, kind="points"),
    output:
        "<results>/projections/{features}/{run}/seed{seed}.parquet",
    log:
        "<results>/logs/project_points/{features}/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/project_points/{features}/{run}/seed{seed}.tsv"
    threads: plan.threads("project_points")
    resources:
        **plan.resources("project_points"),
    params:
        sample=job(plan.sample, keys=("seed", "perplexity")),
        code=plan.code("project_points"),
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
    priority: 2
    threads: plan.threads("measure_similarity")
    resources:
        **plan.resources("measure_similarity"),
        features=1,
    params:
        similarity=job.features.similarity,
        code=plan.code("measure_similarity"),
    script:
        "../scripts/measure_similarity.py"
