# Needs: bitext, gold links where there are some. Makes: Pharaoh links, their scores, word pairs as ids, also shuffled ones.


use rule job as align with:
    """Word links of a bitext; the gold sentences are aligned with it and scored."""
    input:
        bitext="<results>/data/{dataset}/{language}.parquet",
        gold=lambda wildcards: plan.gold(wildcards.dataset, wildcards.language),
    output:
        pharaoh="<results>/alignment/{dataset}/{language}{aligner}.pharaoh",
        scores="<results>/alignment/{dataset}/{language}{aligner}.scores.json",
    log:
        "<results>/logs/align/{dataset}/{language}{aligner}.log",
    benchmark:
        "<results>/benchmarks/align/{dataset}/{language}{aligner}.tsv"
    threads: plan.threads("align")
    resources:
        **plan.resources("align"),
    params:
        alignment=lambda wildcards: plan.align_options(wildcards.aligner),
        gold=lambda wildcards: plan.gold_sources(wildcards.dataset, wildcards.language),
        job=lambda wildcards: plan.job(
            "alignment:align", f"alignment:ALIGNERS[{plan.aligner(wildcards.aligner)}]"
        ),


use rule job as encode_word_pairs with:
    """Word pairs for adjustment and, held out from them, for histograms; tokenised once."""
    input:
        bitext="<results>/data/{dataset}/{language}.parquet",
        pharaoh="<results>/alignment/{dataset}/{language}{aligner}.pharaoh",
        tokenizer=lambda wildcards: plan.tokenizer(wildcards.encoder),
    output:
        train=directory("<results>/tokens/{encoder}/pairs/{dataset}/{language}{aligner}/train"),
        heldout=directory("<results>/tokens/{encoder}/pairs/{dataset}/{language}{aligner}/heldout"),
        card="<results>/tokens/{encoder}/pairs/{dataset}/{language}{aligner}/card.json",
    log:
        "<results>/logs/encode_word_pairs/{encoder}/{dataset}/{language}{aligner}.log",
    benchmark:
        "<results>/benchmarks/encode_word_pairs/{encoder}/{dataset}/{language}{aligner}.tsv"
    threads: plan.threads("encode_word_pairs")
    resources:
        **plan.resources("encode_word_pairs"),
    params:
        alignment=plan.config.alignment.model_dump(
            include={"held_out", "maximum_words", "maximum_length"}
        ),
        units=lambda wildcards: (
            "subwords" if plan.config.datasets[wildcards.dataset].made_from else "words"
        ),
        job=plan.job("alignment:encode_word_pairs"),


use rule job as shuffle_word_pairs with:
    """The pairs for adjustment with words of other sentences: what adjustment on wrong pairs does."""
    input:
        "<results>/tokens/{encoder}/pairs/{dataset}/{language}{aligner}/train",
    output:
        directory("<results>/tokens/{encoder}/pairs/{dataset}/{language}{aligner}/shuffled"),
    log:
        "<results>/logs/shuffle_word_pairs/{encoder}/{dataset}/{language}{aligner}.log",
    benchmark:
        "<results>/benchmarks/shuffle_word_pairs/{encoder}/{dataset}/{language}{aligner}.tsv"
    threads: plan.threads("encode_word_pairs")
    resources:
        **plan.resources("encode_word_pairs"),
    params:
        job=plan.job("alignment:shuffle_word_pairs"),
