# Needs: encoders and tokenised texts. Makes: memory-mapped vectors for probes and projections.


rule extract_representations:
    """Vectors of a dataset's texts under an encoder, all wanted layers in one pass."""
    input:
        encoder=lambda wildcards: encoder_folder(CONFIG.representations[wildcards.name].encoder),
        tokens=lambda wildcards: "<results>/tokens/{0.encoder}/examples/{0.encoding}/{0.dataset}".format(
            CONFIG.representations[wildcards.name]
        ),
    output:
        directory("<results>/representations/{name}"),
    log:
        "<results>/logs/extract_representations/{name}.log",
    benchmark:
        "<results>/benchmarks/extract_representations/{name}.tsv"
    wildcard_constraints:
        name=either(CONFIG.representations),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: asked("extract_representations").threads
    resources:
        mem_mb=memory("extract_representations"),
        runtime=minutes("extract_representations"),
        gpu=asked("extract_representations").gpu,
    params:
        representation=lambda wildcards: CONFIG.representations[wildcards.name].model_dump(
            mode="json"
        ),
        code=code("extract_representations"),
    script:
        "../scripts/extract_representations.py"


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
    threads: asked("word_pair_distances").threads
    resources:
        mem_mb=memory("word_pair_distances"),
        runtime=minutes("word_pair_distances"),
        gpu=asked("word_pair_distances").gpu,
    params:
        panels=lambda wildcards: list(distance_models(wildcards.language, wildcards.seed)),
        pairs=CONFIG.efimov2022.pairs,
        code=code("word_pair_distances"),
    script:
        "../scripts/word_pair_distances.py"
