# Needs: bitext, gold links where there are some. Makes: Pharaoh links, their scores, word pairs as ids, also shuffled ones.


use rule job as align with:
    """Word links of a bitext; the gold sentences are aligned with it and scored."""
    input:
        bitext="<results>/data/{dataset}/{language}.parquet",
        gold=lambda wildcards: plan.gold(wildcards.dataset, wildcards.language),
    output:
        pharaoh="<results>/alignment/{dataset}/{language}.pharaoh",
        scores="<results>/alignment/{dataset}/{language}.scores.json",
    log:
        "<results>/logs/align/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/align/{dataset}/{language}.tsv"
    threads: plan.threads("align")
    resources:
        **plan.resources("align"),
    params:
        symmetrisation=plan.config.alignment.symmetrisation,
        gold=lambda wildcards: plan.gold_sources(wildcards.dataset, wildcards.language),
        job=plan.job("alignment:align"),


use rule job as encode_word_pairs with:
    """Word pairs for adjustment and, held out from them, for histograms; tokenised once."""
    input:
        bitext="<results>/data/{dataset}/{language}.parquet",
        pharaoh="<results>/alignment/{dataset}/{language}.pharaoh",
        tokenizer=lambda wildcards: plan.tokenizer(wildcards.encoder),
    output:
        train=directory("<results>/tokens/{encoder}/pairs/{dataset}/{language}/train"),
        heldout=directory("<results>/tokens/{encoder}/pairs/{dataset}/{language}/heldout"),
        card="<results>/tokens/{encoder}/pairs/{dataset}/{language}/card.json",
    log:
        "<results>/logs/encode_word_pairs/{encoder}/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/encode_word_pairs/{encoder}/{dataset}/{language}.tsv"
    threads: plan.threads("encode_word_pairs")
    resources:
        **plan.resources("encode_word_pairs"),
    params:
        alignment=plan.config.alignment.model_dump(mode="json", exclude={"gold"}),
        units=lambda wildcards: (
            "subwords" if plan.config.datasets[wildcards.dataset].made_from else "words"
        ),
        job=plan.job("alignment:encode_word_pairs"),


use rule job as shuffle_word_pairs with:
    """The pairs for adjustment with words of other sentences: what adjustment on wrong pairs does."""
    input:
        "<results>/tokens/{encoder}/pairs/{dataset}/{language}/train",
    output:
        directory("<results>/tokens/{encoder}/pairs/{dataset}/{language}/shuffled"),
    log:
        "<results>/logs/shuffle_word_pairs/{encoder}/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/shuffle_word_pairs/{encoder}/{dataset}/{language}.tsv"
    threads: plan.threads("encode_word_pairs")
    resources:
        **plan.resources("encode_word_pairs"),
    params:
        job=plan.job("alignment:shuffle_word_pairs"),
