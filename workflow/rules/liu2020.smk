# Liu et al. 2020: shifted sentences. Needs: parallel test sets, language means, models. Makes: what becomes of them.

liu2020 = plan.config.liu2020
shown_head, *_ = plan.heads(liu2020.embeddings.reference).values()  # in the samples


rule encode_parallel:
    """Parallel sentences of XNLI as token ids."""
    input:
        tables=[plan.table(name) for name in liu2020.translation.sentences],
        tokenizer=job.tokenizer,
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
        languages=["en", *liu2020.translation.languages],
        max_length=liu2020.translation.max_length,
        code=plan.code("liu2020.encode_parallel"),
    script:
        "../scripts/liu2020/encode_parallel.py"


rule translate_tokens:
    """Tokens predicted from sentences that are shifted to another language, at every layer."""
    input:
        encoder=job.encoder_of_head,
        head=job.language_model_head,
        sentences=job(plan.below_head, pattern="<results>/tokens/{encoder}/parallel"),
        means=job(plan.below_head, pattern=f"<results>/means/{{encoder}}/{liu2020.means}"),
    output:
        "<results>/translation/{head}/{source}-{target}.parquet",
    log:
        "<results>/logs/translate_tokens/{head}/{source}-{target}.log",
    benchmark:
        "<results>/benchmarks/translate_tokens/{head}/{source}-{target}.tsv"
    threads: plan.threads("translate_tokens")
    resources:
        **plan.resources("translate_tokens"),
    params:
        layers=list(range(1, liu2020.layers + 1)),
        weights=liu2020.translation.weights,
        limit=liu2020.translation.limit,
        shown=lambda w: liu2020.translation.shown_sentences.get(w.target, []),
        random_layers=[liu2020.translation.rate_layer],
        seeds=job.seeds_of_head,
        code=plan.code("liu2020.translate_tokens"),
    script:
        "../scripts/liu2020/translate_tokens.py"


rule sample_translations:
    """Table 1: what some sentences become, in words."""
    input:
        sentences=f"<results>/tokens/{liu2020.embeddings.reference}/parallel",
        tokenizer=plan.tokenizer(liu2020.embeddings.reference),
        translations=[
            f"<results>/translation/{shown_head}/en-{it}.parquet"
            for it in liu2020.translation.shown_sentences
        ],
    output:
        "<results>/samples/liu2020/table1.json",
    log:
        "<results>/logs/sample_translations.log",
    localrule: True
    params:
        shown=liu2020.translation.shown_sentences,
        layer=liu2020.translation.rate_layer,
        weights=liu2020.translation.best_of,
        code=plan.code("liu2020.sample_translations"),
    script:
        "../scripts/liu2020/sample_translations.py"


rule classify_shifted:
    """Test and development sets shifted to the language of training, with every weight."""
    input:
        model="<results>/runs/{run}/seed{seed}/model",
        examples=lambda w: [plan.examples(plan.runs[w.run], it) for it in liu2020.shifted_datasets],
        means=lambda w: f"<results>/means/{plan.runs[w.run].base}/{liu2020.means}",
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
        datasets=liu2020.shifted_datasets,
        shift=liu2020.transfer.model_dump(include={"layer", "weights", "languages"}),
        code=plan.code("liu2020.classify_shifted", "tasks:TASKS[nli]"),
    script:
        "../scripts/liu2020/classify_shifted.py"
