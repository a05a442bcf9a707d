# Needs: dictionaries, running texts, encoders or static vectors. Makes: vectors of word types, and the ranks of their
# translations.


rule find_word_contexts:
    """Where the words of a dictionary stand in running texts, as token ids."""
    input:
        dictionaries=dictionary_tables,
        texts=lambda wildcards: table(RETRIEVAL[wildcards.dictionary]["texts"], wildcards.language),
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.encoder),
    output:
        directory("<results>/tokens/{encoder}/contexts/{dictionary}/{language}"),
    log:
        "<results>/logs/find_word_contexts/{encoder}/{dictionary}/{language}.log",
    benchmark:
        "<results>/benchmarks/find_word_contexts/{encoder}/{dictionary}/{language}.tsv"
    wildcard_constraints:
        dictionary=any_of(RETRIEVAL),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("find_word_contexts").threads
    resources:
        mem_mb=memory("find_word_contexts"),
        runtime=minutes("find_word_contexts"),
    params:
        side=dictionary_side,
        options=lambda wildcards: {
            key: value for key, value in RETRIEVAL[wildcards.dictionary].items() if key != "texts"
        },
        code=code("find_word_contexts"),
    script:
        "../scripts/find_word_contexts.py"


rule word_vectors:
    """Words as the mean over their contexts, all layers (Liu et al. 2020, section 3.1.1)."""
    input:
        encoder=lambda wildcards: encoder_folder(wildcards.encoder),
        contexts=lambda wildcards: (
            f"<results>/tokens/{tokenised_by(wildcards.encoder)}/contexts/{{dictionary}}/{{language}}"
        ),
    output:
        temp(directory("<results>/words/{encoder}/{dictionary}/{language}")),
    log:
        "<results>/logs/word_vectors/{encoder}/{dictionary}/{language}.log",
    benchmark:
        "<results>/benchmarks/word_vectors/{encoder}/{dictionary}/{language}.tsv"
    wildcard_constraints:
        dictionary=any_of(RETRIEVAL),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("word_vectors").threads
    resources:
        mem_mb=memory("word_vectors"),
        runtime=minutes("word_vectors"),
        gpu=request("word_vectors").gpu,
    params:
        code=code("word_vectors"),
    script:
        "../scripts/word_vectors.py"


rule static_word_vectors:
    """Words as the mean of static vectors of their pieces."""
    input:
        static="<results>/static/{static}/vectors",
        tokenizer=lambda wildcards: tokenizer_folder(STATIC[wildcards.static]),
        dictionaries=dictionary_tables,
    output:
        temp(directory("<results>/words/{static}/{dictionary}/{language}")),
    log:
        "<results>/logs/static_word_vectors/{static}/{dictionary}/{language}.log",
    benchmark:
        "<results>/benchmarks/static_word_vectors/{static}/{dictionary}/{language}.tsv"
    wildcard_constraints:
        static=any_of(STATIC),
        dictionary=any_of(RETRIEVAL),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("static_word_vectors").threads
    resources:
        mem_mb=memory("static_word_vectors"),
        runtime=minutes("static_word_vectors"),
    params:
        side=dictionary_side,
        code=code("static_word_vectors"),
    script:
        "../scripts/static_word_vectors.py"


rule retrieve_words:
    """Ranks of translations by layer and direction (Liu et al. 2020, Eq. 1 and 2)."""
    input:
        dictionary=lambda wildcards: table(wildcards.dictionary, wildcards.language),
        english="<results>/words/{vectors}/{dictionary}/en",
        other="<results>/words/{vectors}/{dictionary}/{language}",
    output:
        "<results>/retrieval/{vectors}/{dictionary}/{language}.parquet",
    log:
        "<results>/logs/retrieve_words/{vectors}/{dictionary}/{language}.log",
    benchmark:
        "<results>/benchmarks/retrieve_words/{vectors}/{dictionary}/{language}.tsv"
    wildcard_constraints:
        vectors=any_of([*CONFIG.encoders, *STATIC]),
        dictionary=any_of(RETRIEVAL),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("retrieve_words").threads
    resources:
        mem_mb=memory("retrieve_words"),
        runtime=minutes("retrieve_words"),
    params:
        code=code("retrieve_words"),
    script:
        "../scripts/retrieve_words.py"
