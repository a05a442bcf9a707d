# Needs: dictionaries, running texts, encoders or static vectors. Makes: vectors of word types, and the ranks of their
# translations.


use rule job as find_word_contexts with:
    """Contexts of a dictionary's words in running texts, as token ids."""
    input:
        dictionaries=lambda wildcards: plan.dictionaries(wildcards.dictionary, wildcards.language),
        texts=lambda wildcards: plan.table(
            plan.retrieval[wildcards.dictionary]["texts"], wildcards.language
        ),
        tokenizer=lambda wildcards: plan.tokenizer(wildcards.encoder),
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
        side=lambda wildcards: "source" if wildcards.language == "en" else "target",
        options=lambda wildcards: {
            key: value
            for key, value in plan.retrieval[wildcards.dictionary].items()
            if key != "texts"
        },
        job=plan.job("retrieval:find_word_contexts"),


use rule job as word_vectors with:
    """Words as the mean over their contexts, all layers (Liu et al. 2020, section 3.1.1)."""
    input:
        encoder=lambda wildcards: plan.encoder(wildcards.encoder),
        contexts=lambda wildcards: (
            f"<results>/tokens/{plan.tokenised_by(wildcards.encoder)}/contexts/"
            "{dictionary}/{language}"
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
        job=plan.job("retrieval:word_vectors"),


use rule job as static_word_vectors with:
    """Words as the mean of static vectors of their subwords."""
    input:
        static="<results>/static/{static}/vectors",
        tokenizer=lambda wildcards: plan.tokenizer(plan.static[wildcards.static]),
        dictionaries=lambda wildcards: plan.dictionaries(wildcards.dictionary, wildcards.language),
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
        side=lambda wildcards: "source" if wildcards.language == "en" else "target",
        job=plan.job("retrieval:static_word_vectors"),


use rule job as retrieve_words with:
    """Ranks of translations by layer and direction (Liu et al. 2020, Eq. 1 and 2)."""
    input:
        dictionary=lambda wildcards: plan.table(wildcards.dictionary, wildcards.language),
        english="<results>/words/{vectors}/{dictionary}/en",
        other="<results>/words/{vectors}/{dictionary}/{language}",
    output:
        "<results>/retrieval/{vectors}/{dictionary}/{language}.parquet",
    log:
        "<results>/logs/retrieve_words/{vectors}/{dictionary}/{language}.log",
    benchmark:
        "<results>/benchmarks/retrieve_words/{vectors}/{dictionary}/{language}.tsv"
    wildcard_constraints:
        vectors=plan.any_of([*plan.config.encoders, *plan.static]),
    threads: plan.threads("retrieve_words")
    resources:
        **plan.resources("retrieve_words"),
    params:
        job=plan.job("retrieval:retrieve_words"),
