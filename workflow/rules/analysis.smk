# Needs: features. Makes: language identification, clusters, t-SNE, similarity between languages. CPU only.


use rule job as identify_languages with:
    """Language identification by a linear layer, trained on features of a model that stays fixed."""
    input:
        features=lambda wildcards: plan.features_of("features", **wildcards),
        choice=lambda wildcards: plan.choice(plan.runs[wildcards.run]),
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
        hyperparameters=lambda wildcards: plan.runs[wildcards.run].specification["hyperparameters"],
        probe=lambda wildcards: plan.features[wildcards.features].probe,
        job=plan.job("analysis:identify_languages"),


use rule job as draw_points with:
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
        sample=lambda wildcards: plan.sample(wildcards.features, "seed", "per_cell", "per_language"),
        job=plan.job("analysis:draw_points"),


use rule job as cluster_points with:
    """K-means of a sample of the test sets against labels and languages."""
    input:
        lambda wildcards: plan.features_of("points", **wildcards),
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
        sample=lambda wildcards: plan.sample(wildcards.features, "language_clusters"),
        job=plan.job("analysis:cluster_points"),


use rule job as project_points with:
    """t-SNE of the same sample."""
    input:
        lambda wildcards: plan.features_of("points", **wildcards),
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
        sample=lambda wildcards: plan.sample(wildcards.features, "seed", "perplexity"),
        job=plan.job("analysis:project_points"),


use rule job as measure_similarity with:
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
        pivots=lambda wildcards: plan.features[wildcards.features].similarity["pivots"],
        stores=lambda wildcards: plan.features[wildcards.features].similarity["stores"],
        job=plan.job("analysis:measure_similarity"),
