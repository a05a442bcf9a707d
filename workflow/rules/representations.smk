# Needs: encoders and tokenised texts. Makes: memory-mapped vectors for probes and projections.


rule extract_features:
    """The vectors that classifiers of a task see, of its test set and of Wikipedia, under one model."""
    input:
        model=lambda wildcards: (
            encoder_folder(wildcards.model)
            if wildcards.model in CONFIG.encoders
            else f"<results>/runs/{wildcards.model}/model"
        ),
        stores=lambda wildcards: [
            example_folder(
                experiment(wildcards.task, "fine_tuned", "published"),
                CONFIG.tanti2021.tasks[wildcards.task].test,
            ),
            encoded(CONFIG.tanti2021.model, CONFIG.tanti2021.tasks[wildcards.task].wikipedia),
        ],
    output:
        target=temp(directory("<results>/features/{task}/{model}/target")),
        wikipedia=temp(directory("<results>/features/{task}/{model}/wikipedia")),
    log:
        "<results>/logs/extract_features/{task}/{model}.log",
    benchmark:
        "<results>/benchmarks/extract_features/{task}/{model}.tsv"
    wildcard_constraints:
        task=any_of(CONFIG.tanti2021.tasks),
        model=r"[^/]+(/seed\d+)?",
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("extract_features").threads
    resources:
        mem_mb=memory("extract_features"),
        runtime=minutes("extract_features"),
        gpu=request("extract_features").gpu,
    params:
        pooling=lambda wildcards: CONFIG.tanti2021.tasks[wildcards.task].pooling,
        splits=["train", "validation", "test"],  # of Wikipedia
        languages=lambda wildcards: [tested_languages(wildcards.task), None],
        code=code("extract_features"),
    script:
        "../scripts/extract_features.py"


rule word_pair_distances:
    """L2 distances of related and unrelated word pairs under every model of one seed (Figures 1 and 2)."""
    input:
        pairs=lambda wildcards: f"<results>/tokens/{CONFIG.efimov2022.model}/pairs/{CONFIG.efimov2022.bitext}/{wildcards.language}/heldout",
        models=lambda wildcards: list(distance_models(wildcards.language, wildcards.seed).values()),
    output:
        distances="<results>/distances/{language}/seed{seed}.parquet",
        summary="<results>/distances/{language}/seed{seed}.json",
    log:
        "<results>/logs/word_pair_distances/{language}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/word_pair_distances/{language}/seed{seed}.tsv"
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("word_pair_distances").threads
    resources:
        mem_mb=memory("word_pair_distances"),
        runtime=minutes("word_pair_distances"),
        gpu=request("word_pair_distances").gpu,
    params:
        panels=lambda wildcards: list(distance_models(wildcards.language, wildcards.seed)),
        pairs=CONFIG.efimov2022.pairs,
        code=code("word_pair_distances"),
    script:
        "../scripts/word_pair_distances.py"
