# Needs: encoders and tokenised texts. Makes: memory-mapped vectors for probes and projections; distances.


rule extract_features:
    """Vectors of one or more token stores under one model, as papers declare them."""
    input:
        model=job.features_model,
        stores=lambda w: [it.folder for it in plan.features[w.features].stores.values()],
    output:
        # Each takes gigabytes: the resource `features` and their readers' priority keep few of them.
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
        stores=job.store_options,
        pooling=job.features.pooling,
        layers=job.features.layers,
        code=plan.code("extract_features"),
    script:
        "../scripts/extract_features.py"


rule collect_vectors:
    """Token vectors of some languages, all layers: the moments of most, and a sample to probe."""
    input:
        encoder=job.encoder,
        store=lambda w: plan.encoded(w.encoder, w.dataset, plan.vectors[w.dataset].encoding),
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
        languages=lambda w: plan.language_groups(w.dataset)[int(w.group)],
        summed=job.vectors.summed,
        probed=job.vectors.probed,
        code=plan.code("collect_vectors"),
    script:
        "../scripts/collect_vectors.py"


rule find_directions:
    """DensRay and LDA of all layers, from the moments of some languages (Liang et al. 2021)."""
    input:
        job.vectors_of,
    output:
        directory("<results>/directions/{encoder}/{dataset}/{languages}"),
    log:
        "<results>/logs/find_directions/{encoder}/{dataset}/{languages}.log",
    benchmark:
        "<results>/benchmarks/find_directions/{encoder}/{dataset}/{languages}.tsv"
    wildcard_constraints:
        dataset=plan.any_of(plan.vectors),
        languages=plan.any_of(plan.language_sets),
    threads: plan.threads("find_directions")
    resources:
        **plan.resources("find_directions"),
    params:
        languages=lambda w: plan.vectors[w.dataset].language_sets.get(w.languages),
        code=plan.code("find_directions"),
    script:
        "../scripts/find_directions.py"


rule language_means:
    """The mean vector of all texts of a language, in every layer (Liu et al. 2020)."""
    input:
        encoder=job.encoder,
        store=lambda w: plan.encoded(w.encoder, w.dataset, plan.means[w.dataset]["encoding"]),
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
        languages=job.datasets.languages,
        texts=lambda w: plan.means[w.dataset]["texts"],
        code=plan.code("language_means"),
    script:
        "../scripts/language_means.py"


rule word_pair_distances:
    """L2 distances of related and unrelated word pairs under every model of one seed."""
    input:
        pairs=job.heldout_pairs,
        models=lambda w: plan.distance_models(**w)["folder"],
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
        panels=lambda w: plan.distance_models(**w)["panel"],
        protocols=lambda w: plan.distance_models(**w)["protocols"],
        pairs=job.distances.pairs,
        code=plan.code("word_pair_distances"),
    script:
        "../scripts/word_pair_distances.py"
