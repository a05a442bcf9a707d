# Liu et al. 2020: shifted sentences and what becomes of them. Needs: parallel test sets, language means, fine-tuned models.
# Makes: token translations, with samples of them in words, and classifications of shifted texts.


use rule job as encode_parallel with:
    """Parallel sentences of XNLI as token ids."""
    input:
        tables=[plan.table(name) for name in plan.config.liu2020.translation.sentences],
        tokenizer=lambda wildcards: plan.tokenizer(wildcards.encoder),
    output:
        directory("<results>/tokens/{encoder}/parallel"),
    log:
        "<results>/logs/encode_parallel/{encoder}.log",
    benchmark:
        "<results>/benchmarks/encode_parallel/{encoder}.tsv"
    threads: plan.threads("encode_parallel")
    resources:
        **plan.resources("encode_parallel"),
    params:
        languages=["en", *plan.config.liu2020.translation.languages],
        max_length=plan.config.liu2020.translation.max_length,
        job=plan.job("liu2020:encode_parallel"),


use rule job as translate_tokens with:
    """Tokens predicted from sentences that are shifted to another language, at every layer."""
    input:
        encoder=lambda wildcards: plan.encoder(wildcards.encoder),
        head=lambda wildcards: plan.language_model_head(wildcards.encoder),
        sentences="<results>/tokens/{encoder}/parallel",
        means=f"<results>/means/{{encoder}}/{plan.config.liu2020.means}",
    output:
        "<results>/translation/{encoder}/{source}-{target}.parquet",
    log:
        "<results>/logs/translate_tokens/{encoder}/{source}-{target}.log",
    benchmark:
        "<results>/benchmarks/translate_tokens/{encoder}/{source}-{target}.tsv"
    wildcard_constraints:
        source="[a-z_]+",
        target="[a-z_]+",
    threads: plan.threads("translate_tokens")
    resources:
        **plan.resources("translate_tokens"),
    params:
        layers=list(range(1, plan.config.liu2020.layers + 1)),
        weights=plan.config.liu2020.translation.weights,
        limit=plan.config.liu2020.translation.limit,
        shown=lambda wildcards: plan.config.liu2020.translation.shown_sentences.get(
            wildcards.target, []
        ),
        random_layers=[plan.config.liu2020.translation.rate_layer],
        seeds=plan.config.seeds,
        job=plan.job("liu2020:translate_tokens"),


use rule job as sample_translations with:
    """Table 1: what some sentences become, in words."""
    input:
        sentences=f"<results>/tokens/{plan.config.liu2020.embeddings.reference}/parallel",
        tokenizer=plan.tokenizer(plan.config.liu2020.embeddings.reference),
        translations=expand(
            "<results>/translation/{encoder}/en-{target}.parquet",
            encoder=plan.config.liu2020.embeddings.reference,
            target=plan.config.liu2020.translation.shown_sentences,
        ),
    output:
        "<results>/samples/liu2020/table1.json",
    log:
        "<results>/logs/sample_translations.log",
    localrule: True
    params:
        shown=plan.config.liu2020.translation.shown_sentences,
        layer=plan.config.liu2020.translation.rate_layer,
        weights=plan.config.liu2020.translation.best_of,
        job=plan.job("liu2020:sample_translations"),


use rule job as classify_shifted with:
    """Test and development sets shifted to the language of training, with every weight."""
    input:
        model="<results>/runs/{run}/seed{seed}/model",
        examples=lambda wildcards: [
            plan.examples(plan.runs[wildcards.run], name)
            for name in plan.config.liu2020.shifted_datasets
        ],
        means=lambda wildcards: (
            f"<results>/means/{plan.runs[wildcards.run].base}/{plan.config.liu2020.means}"
        ),
    output:
        "<results>/shifted/{run}/seed{seed}.{protocol}.parquet",
    log:
        "<results>/logs/classify_shifted/{run}/seed{seed}.{protocol}.log",
    benchmark:
        "<results>/benchmarks/classify_shifted/{run}/seed{seed}.{protocol}.tsv"
    priority: 1
    threads: plan.threads("classify_shifted")
    resources:
        **plan.resources("classify_shifted"),
    params:
        datasets=plan.config.liu2020.shifted_datasets,
        shift={
            **plan.config.liu2020.transfer.model_dump(include={"layer", "weights", "languages"}),
            "target": "en",
        },
        job=plan.job("liu2020:classify_shifted", "tasks:TASKS[nli]"),
