# Needs: bitext, gold links where there are some. Makes: Pharaoh links, their scores, word pairs as ids, also shuffled ones.


rule align:
    """Word links of a bitext; the gold sentences are aligned with it and scored."""
    input:
        bitext="<results>/data/{dataset}/{language}.parquet",
        gold=job.gold,
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
        alignment=job.align_options,
        gold=job.gold_sources,
        code=job.aligning_code,
    script:
        "../scripts/align.py"


rule encode_word_pairs:
    """Word pairs for adjustment and, held out from them, for histograms; tokenised once."""
    input:
        bitext="<results>/data/{dataset}/{language}.parquet",
        pharaoh="<results>/alignment/{dataset}/{language}{aligner}.pharaoh",
        tokenizer=job.tokenizer,
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
        alignment=plan.pair_options(),
        made_from=job.datasets.made_from,
        code=plan.code("encode_word_pairs"),
    script:
        "../scripts/encode_word_pairs.py"


rule shuffle_word_pairs:
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
        code=plan.code("shuffle_word_pairs"),
    script:
        "../scripts/shuffle_word_pairs.py"
