# Needs: tokenised texts of encoders from scratch. Makes: static vectors of their subwords, and classifiers on them.


rule train_static_vectors:
    """Word2Vec or GloVe of the subwords that an encoder is pretrained on."""
    input:
        tokenizer=lambda w: plan.tokenizer(plan.static[w.static]),
        tokens=lambda w: f"<results>/tokens/{plan.static[w.static]}/pretraining",
    output:
        directory("<results>/static/{static}/vectors"),
    log:
        "<results>/logs/train_static_vectors/{static}.log",
    benchmark:
        "<results>/benchmarks/train_static_vectors/{static}.tsv"
    threads: plan.threads("train_static_vectors")
    resources:
        **plan.resources("train_static_vectors") | {"gpu": job.static_gpus},
    params:
        vectors=lambda w: plan.config.static_vectors[w.static].model_dump(mode="json"),
        code=plan.code("train_static_vectors"),
    script:
        "../scripts/train_static_vectors.py"


rule classify_with_static_vectors:
    """NLI by mean vectors of premise and hypothesis, trained as a family of runs is."""
    input:
        unpack(job.static_examples),
        vectors="<results>/static/{static}/vectors",
    output:
        "<results>/static/{static}/{family}/seed{seed}/predictions.parquet",
    log:
        "<results>/logs/classify_with_static_vectors/{static}/{family}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/classify_with_static_vectors/{static}/{family}/seed{seed}.tsv"
    wildcard_constraints:
        family=plan.any_of(plan.static_families),
    threads: plan.threads("classify_with_static_vectors")
    resources:
        **plan.resources("classify_with_static_vectors"),
    params:
        network=lambda w: plan.static_families[w.family],
        languages=lambda w: plan.config.runs[w.family].evaluate,
        code=plan.code("classify_with_static_vectors", "tasks:TASKS[nli]"),
    script:
        "../scripts/classify_with_static_vectors.py"
