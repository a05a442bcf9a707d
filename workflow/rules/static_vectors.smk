# Needs: tokenised texts of encoders from scratch. Makes: static vectors of their subwords, and classifiers on them.


use rule job as train_static_vectors with:
    """Word2Vec or GloVe of the subwords that an encoder is pretrained on."""
    input:
        tokenizer=lambda wildcards: plan.tokenizer(plan.static[wildcards.static]),
        tokens=lambda wildcards: f"<results>/tokens/{plan.static[wildcards.static]}/pretraining",
    output:
        directory("<results>/static/{static}/vectors"),
    log:
        "<results>/logs/train_static_vectors/{static}.log",
    benchmark:
        "<results>/benchmarks/train_static_vectors/{static}.tsv"
    threads: plan.threads("train_static_vectors")
    resources:
        **plan.resources("train_static_vectors")
        | {
            "gpu": lambda wildcards: (
                plan.request("train_static_vectors").gpu
                if plan.config.static_vectors[wildcards.static].method == "glove"
                else 0  # gensim runs on CPUs
            )
        },
    params:
        vectors=lambda wildcards: plan.config.static_vectors[wildcards.static].model_dump(
            mode="json"
        ),
        job=plan.job("static_vectors:train_static_vectors"),


use rule job as classify_with_static_vectors with:
    """NLI by mean vectors of premise and hypothesis, trained as a family of runs is."""
    input:
        vectors="<results>/static/{static}/vectors",
        train=lambda wildcards: plan.static_examples(wildcards.family, wildcards.static)[0],
        evaluate=lambda wildcards: plan.static_examples(wildcards.family, wildcards.static)[1:],
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
        network=lambda wildcards: plan.static_families[wildcards.family],
        languages=lambda wildcards: plan.config.runs[wildcards.family].evaluate,
        job=plan.job("static_vectors:classify_with_static_vectors", "tasks:TASKS[nli]"),
