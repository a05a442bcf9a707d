# Needs: encoders and tokenised texts. Makes: memory-mapped vectors for probes and projections; distances.


rule extract_features:
    """Vectors of one or more token stores under one model, as a paper registers them."""
    input:
        model=lambda wildcards: (
            encoder_folder(wildcards.model)
            if wildcards.model in CONFIG.encoders
            else f"<results>/runs/{wildcards.model}/model"
        ),
        stores=lambda wildcards: [
            store["folder"] for store in FEATURES[wildcards.features]["stores"].values()
        ],
    output:
        # Each takes gigabytes. What writes and what reads them shares the resource `features`, and readers go first, so that
        # few of them lie there at once.
        temp(directory("<results>/features/{features}/{model}")),
    log:
        "<results>/logs/extract_features/{features}/{model}.log",
    benchmark:
        "<results>/benchmarks/extract_features/{features}/{model}.tsv"
    wildcard_constraints:
        features=any_of(FEATURES),
        model=r"[^/]+(/seed\d+)?",
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("extract_features").threads
    resources:
        mem_mb=memory("extract_features"),
        runtime=minutes("extract_features"),
        gpu=request("extract_features").gpu,
        features=1,
    params:
        stores=lambda wildcards: {
            name: {key: value for key, value in store.items() if key != "folder"}
            for name, store in FEATURES[wildcards.features]["stores"].items()
        },
        pooling=lambda wildcards: FEATURES[wildcards.features]["pooling"],
        layers=lambda wildcards: FEATURES[wildcards.features]["layers"],
        code=code("extract_features"),
    script:
        "../scripts/extract_features.py"


rule collect_vectors:
    """Token vectors of some languages, all layers: the moments of most, and a sample to probe."""
    input:
        encoder=lambda wildcards: encoder_folder(wildcards.encoder),
        store=lambda wildcards: encoded(
            wildcards.encoder,
            {"dataset": wildcards.dataset, "encoding": VECTORS[wildcards.dataset]["encoding"]},
        ),
    output:
        temp(directory("<results>/vectors/{encoder}/{dataset}/{group}")),
    log:
        "<results>/logs/collect_vectors/{encoder}/{dataset}/{group}.log",
    benchmark:
        "<results>/benchmarks/collect_vectors/{encoder}/{dataset}/{group}.tsv"
    wildcard_constraints:
        dataset=any_of(VECTORS),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("collect_vectors").threads
    resources:
        mem_mb=memory("collect_vectors"),
        runtime=minutes("collect_vectors"),
        gpu=request("collect_vectors").gpu,
    params:
        languages=lambda wildcards: language_parts(wildcards.dataset)[int(wildcards.group)],
        tokens=lambda wildcards: {
            key: VECTORS[wildcards.dataset][key] for key in ("summed", "probed")
        },
        code=code("collect_vectors"),
    script:
        "../scripts/collect_vectors.py"


rule find_directions:
    """DensRay and LDA of all layers, from the moments of some languages (Liang et al. 2021)."""
    input:
        lambda wildcards: vectors_folders(
            wildcards.encoder,
            wildcards.dataset,
            LANGUAGE_SETS[wildcards.dataset].get(wildcards.languages),
        ),
    output:
        directory("<results>/directions/{encoder}/{dataset}/{languages}"),
    log:
        "<results>/logs/find_directions/{encoder}/{dataset}/{languages}.log",
    benchmark:
        "<results>/benchmarks/find_directions/{encoder}/{dataset}/{languages}.tsv"
    wildcard_constraints:
        dataset=any_of(VECTORS),
        languages="[a-z]+",
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("find_directions").threads
    resources:
        mem_mb=memory("find_directions"),
        runtime=minutes("find_directions"),
    params:
        languages=lambda wildcards: LANGUAGE_SETS[wildcards.dataset].get(wildcards.languages),
        code=code("find_directions"),
    script:
        "../scripts/find_directions.py"


rule language_means:
    """What all texts of a language have in common, in every layer (Liu et al. 2020)."""
    input:
        encoder=lambda wildcards: encoder_folder(wildcards.encoder),
        store=lambda wildcards: encoded(
            wildcards.encoder,
            {"dataset": wildcards.dataset, "encoding": MEANS[wildcards.dataset]["encoding"]},
        ),
    output:
        directory("<results>/means/{encoder}/{dataset}"),
    log:
        "<results>/logs/language_means/{encoder}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/language_means/{encoder}/{dataset}.tsv"
    wildcard_constraints:
        dataset=any_of(MEANS),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("language_means").threads
    resources:
        mem_mb=memory("language_means"),
        runtime=minutes("language_means"),
        gpu=request("language_means").gpu,
    params:
        languages=lambda wildcards: CONFIG.datasets[wildcards.dataset].languages,
        texts=lambda wildcards: MEANS[wildcards.dataset]["texts"],
        code=code("language_means"),
    script:
        "../scripts/language_means.py"


rule word_pair_distances:
    """L2 distances of related and unrelated word pairs under every model of one seed."""
    input:
        pairs=lambda wildcards: (
            f"<results>/tokens/{DISTANCES[wildcards.distances]['encoder']}/pairs/"
            f"{DISTANCES[wildcards.distances]['bitext']}/{wildcards.language}/heldout"
        ),
        models=lambda wildcards: list(distance_models(wildcards).values()),
    output:
        distances="<results>/distances/{distances}/{language}/seed{seed}.parquet",
        summary="<results>/distances/{distances}/{language}/seed{seed}.json",
    log:
        "<results>/logs/word_pair_distances/{distances}/{language}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/word_pair_distances/{distances}/{language}/seed{seed}.tsv"
    wildcard_constraints:
        distances=any_of(DISTANCES),
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("word_pair_distances").threads
    resources:
        mem_mb=memory("word_pair_distances"),
        runtime=minutes("word_pair_distances"),
        gpu=request("word_pair_distances").gpu,
    params:
        panels=lambda wildcards: list(distance_models(wildcards)),
        pairs=lambda wildcards: DISTANCES[wildcards.distances]["pairs"],
        code=code("word_pair_distances"),
    script:
        "../scripts/word_pair_distances.py"
