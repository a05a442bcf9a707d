# Needs: tokenised texts of encoders from scratch. Makes: static vectors of their pieces, and classifiers on them.


rule train_static_vectors:
    """Word2Vec or GloVe of the pieces that an encoder is pretrained on."""
    input:
        tokenizer=lambda wildcards: tokenizer_folder(STATIC[wildcards.static]),
        tokens=lambda wildcards: f"<results>/tokens/{STATIC[wildcards.static]}/pretraining",
    output:
        directory("<results>/static/{static}/vectors"),
    log:
        "<results>/logs/train_static_vectors/{static}.log",
    benchmark:
        "<results>/benchmarks/train_static_vectors/{static}.tsv"
    wildcard_constraints:
        static=any_of(STATIC),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("train_static_vectors").threads
    resources:
        mem_mb=memory("train_static_vectors"),
        runtime=minutes("train_static_vectors"),
        gpu=lambda wildcards: (
            request("train_static_vectors").gpu
            if CONFIG.static_vectors[wildcards.static].method == "glove"
            else 0  # gensim runs on CPUs
        ),
    params:
        vectors=lambda wildcards: CONFIG.static_vectors[wildcards.static].model_dump(mode="json"),
        code=code("train_static_vectors"),
    script:
        "../scripts/train_static_vectors.py"


rule classify_with_static_vectors:
    """Inference by mean vectors of premise and hypothesis, trained as a family of runs is."""
    input:
        vectors="<results>/static/{static}/vectors",
        train=lambda wildcards: static_examples(wildcards)[0],
        evaluate=lambda wildcards: static_examples(wildcards)[1:],
    output:
        "<results>/static/{static}/{family}/seed{seed}/predictions.parquet",
    log:
        "<results>/logs/classify_with_static_vectors/{static}/{family}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/classify_with_static_vectors/{static}/{family}/seed{seed}.tsv"
    wildcard_constraints:
        static=any_of(STATIC),
        family=any_of(STATIC_RUNS),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("classify_with_static_vectors").threads
    resources:
        mem_mb=memory("classify_with_static_vectors"),
        runtime=minutes("classify_with_static_vectors"),
        gpu=request("classify_with_static_vectors").gpu,
    params:
        network=lambda wildcards: STATIC_RUNS[wildcards.family],
        languages=lambda wildcards: CONFIG.runs[wildcards.family].evaluate,
        code=code("classify_with_static_vectors"),
    script:
        "../scripts/classify_with_static_vectors.py"
