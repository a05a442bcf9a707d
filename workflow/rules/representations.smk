# Needs: encoders and tokenised texts. Makes: memory-mapped vectors for probes and projections; distances.


use rule job as extract_features with:
    """Vectors of one or more token stores under one model, as papers declare them."""
    input:
        model=lambda wildcards: plan.features_model(wildcards.model),
        stores=lambda wildcards: [
            store.folder for store in plan.features[wildcards.features].stores.values()
        ],
    output:
        # Each takes gigabytes. Writers and readers share the resource `features`, and readers go first, so that few exist at
        # once.
        temp(directory("<results>/features/{features}/{model}")),
    log:
        "<results>/logs/extract_features/{features}/{model}.log",
    benchmark:
        "<results>/benchmarks/extract_features/{features}/{model}.tsv"
    priority: 1
    threads: plan.threads("extract_features")
    resources:
        **plan.resources("extract_features"),
        features=1,
    params:
        stores=lambda wildcards: plan.store_options(wildcards.features),
        pooling=lambda wildcards: plan.features[wildcards.features].pooling,
        layers=lambda wildcards: plan.features[wildcards.features].layers,
        job=plan.job("representations:extract_features"),


use rule job as collect_vectors with:
    """Token vectors of some languages, all layers: the moments of most, and a sample to probe."""
    input:
        encoder=lambda wildcards: plan.encoder(wildcards.encoder),
        store=lambda wildcards: plan.encoded(
            wildcards.encoder, wildcards.dataset, plan.vectors[wildcards.dataset].encoding
        ),
    output:
        temp(directory("<results>/vectors/{encoder}/{dataset}/{group}")),
    log:
        "<results>/logs/collect_vectors/{encoder}/{dataset}/{group}.log",
    benchmark:
        "<results>/benchmarks/collect_vectors/{encoder}/{dataset}/{group}.tsv"
    wildcard_constraints:
        dataset=plan.any_of(plan.vectors),
    threads: plan.threads("collect_vectors")
    resources:
        **plan.resources("collect_vectors"),
    params:
        languages=lambda wildcards: plan.language_groups(wildcards.dataset)[int(wildcards.group)],
        summed=lambda wildcards: plan.vectors[wildcards.dataset].summed,
        probed=lambda wildcards: plan.vectors[wildcards.dataset].probed,
        job=plan.job("representations:collect_vectors"),


use rule job as find_directions with:
    """DensRay and LDA of all layers, from the moments of some languages (Liang et al. 2021)."""
    input:
        lambda wildcards: plan.vectors_of(wildcards.encoder, wildcards.dataset, wildcards.languages),
    output:
        directory("<results>/directions/{encoder}/{dataset}/{languages}"),
    log:
        "<results>/logs/find_directions/{encoder}/{dataset}/{languages}.log",
    benchmark:
        "<results>/benchmarks/find_directions/{encoder}/{dataset}/{languages}.tsv"
    wildcard_constraints:
        dataset=plan.any_of(plan.vectors),
        languages="[a-z]+[0-9]*",
    threads: plan.threads("find_directions")
    resources:
        **plan.resources("find_directions"),
    params:
        languages=lambda wildcards: plan.vectors[wildcards.dataset].language_sets.get(
            wildcards.languages
        ),
        job=plan.job("representations:find_directions"),


use rule job as language_means with:
    """The mean vector of all texts of a language, in every layer (Liu et al. 2020)."""
    input:
        encoder=lambda wildcards: plan.encoder(wildcards.encoder),
        store=lambda wildcards: plan.encoded(
            wildcards.encoder, wildcards.dataset, plan.means[wildcards.dataset]["encoding"]
        ),
    output:
        directory("<results>/means/{encoder}/{dataset}"),
    log:
        "<results>/logs/language_means/{encoder}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/language_means/{encoder}/{dataset}.tsv"
    wildcard_constraints:
        dataset=plan.any_of(plan.means),
    threads: plan.threads("language_means")
    resources:
        **plan.resources("language_means"),
    params:
        languages=lambda wildcards: plan.config.datasets[wildcards.dataset].languages,
        texts=lambda wildcards: plan.means[wildcards.dataset]["texts"],
        job=plan.job("representations:language_means"),


use rule job as word_pair_distances with:
    """L2 distances of related and unrelated word pairs under every model of one seed."""
    input:
        pairs=lambda wildcards: plan.heldout_pairs(wildcards.distances, wildcards.language),
        models=lambda wildcards: plan.distance_models(**wildcards)["folder"],
    output:
        distances="<results>/distances/{distances}/{language}/seed{seed}.parquet",
        summary="<results>/distances/{distances}/{language}/seed{seed}.json",
    log:
        "<results>/logs/word_pair_distances/{distances}/{language}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/word_pair_distances/{distances}/{language}/seed{seed}.tsv"
    priority: 1
    threads: plan.threads("word_pair_distances")
    resources:
        **plan.resources("word_pair_distances"),
    params:
        panels=lambda wildcards: plan.distance_models(**wildcards)["panel"],
        protocols=lambda wildcards: plan.distance_models(**wildcards)["protocols"],
        pairs=lambda wildcards: plan.distances[wildcards.distances].pairs,
        job=plan.job("representations:word_pair_distances"),
