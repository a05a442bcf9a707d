# Needs: dictionaries, texts, encoders or static vectors. Makes: vectors of word types, and the ranks of their translations.


rule find_word_contexts:
    """Contexts of a dictionary's words in running texts, as token ids."""
    input:
        dictionaries=job.dictionaries,
        texts=lambda w: plan.table(plan.retrieval[w.dictionary]["texts"], w.language),
        tokenizer=job.tokenizer,
    output:
        directory("<results>/tokens/{encoder}/contexts/{dictionary}/{language}"),
    log:
        "<results>/logs/find_word_contexts/{encoder}/{dictionary}/{language}.log",
    benchmark:
        "<results>/benchmarks/find_word_contexts/{encoder}/{dictionary}/{language}.tsv"
    threads: plan.threads("find_word_contexts")
    resources:
        **plan.resources("find_word_contexts"),
    params:
        options=lambda w: {k: v for k, v in plan.retrieval[w.dictionary].items() if k != "texts"},
        code=plan.code("find_word_contexts"),
    script:
        "../scripts/find_word_contexts.py"


rule word_vectors:
    """Words as the mean over their contexts, all layers (Liu et al. 2020, section 3.1.1)."""
    input:
        encoder=job.encoder,
        contexts=lambda w: (
            f"<results>/tokens/{plan.tokenised_by(w.encoder)}/contexts/{w.dictionary}/{w.language}"
        ),
    output:
        temp(directory("<results>/words/{encoder}/{dictionary}/{language}")),
    log:
        "<results>/logs/word_vectors/{encoder}/{dictionary}/{language}.log",
    benchmark:
        "<results>/benchmarks/word_vectors/{encoder}/{dictionary}/{language}.tsv"
    threads: plan.threads("word_vectors")
    resources:
        **plan.resources("word_vectors"),
    params:
        code=plan.code("word_vectors"),
    script:
        "../scripts/word_vectors.py"


rule static_word_vectors:
    """Words as the mean of static vectors of their subwords."""
    input:
        static="<results>/static/{static}/vectors",
        tokenizer=lambda w: plan.tokenizer(plan.static[w.static]),
        dictionaries=job.dictionaries,
    output:
        temp(directory("<results>/words/{static}/{dictionary}/{language}")),
    log:
        "<results>/logs/static_word_vectors/{static}/{dictionary}/{language}.log",
    benchmark:
        "<results>/benchmarks/static_word_vectors/{static}/{dictionary}/{language}.tsv"
    threads: plan.threads("static_word_vectors")
    resources:
        **plan.resources("static_word_vectors"),
    params:
        code=plan.code("static_word_vectors"),
    script:
        "../scripts/static_word_vectors.py"


rule retrieve_words:
    """Ranks of translations by layer and direction (Liu et al. 2020, Eq. 1 and 2)."""
    input:
        dictionary=lambda w: plan.table(w.dictionary, w.language),
        english="<results>/words/{vectors}/{dictionary}/en",
        other="<results>/words/{vectors}/{dictionary}/{language}",
    output:
        "<results>/retrieval/{vectors}/{dictionary}/{language}.parquet",
    log:
        "<results>/logs/retrieve_words/{vectors}/{dictionary}/{language}.log",
    benchmark:
        "<results>/benchmarks/retrieve_words/{vectors}/{dictionary}/{language}.tsv"
    threads: plan.threads("retrieve_words")
    resources:
        **plan.resources("retrieve_words"),
    params:
        code=plan.code("retrieve_words"),
    script:
        "../scripts/retrieve_words.py"
