# Needs: bitext, gold links where there are some. Makes: Pharaoh links, their scores, word pairs as ids.


localrules:
    split_into_pieces,


rule split_into_pieces:
    """A bitext whose words are word pieces: sub-word alignment (Efimov et al. 2022, Table 6)."""
    input:
        bitext=lambda wildcards: table(
            CONFIG.datasets[wildcards.dataset].made_from, wildcards.language
        ),
        tokenizer=lambda wildcards: tokenizer_folder(CONFIG.datasets[wildcards.dataset].encoder),
    output:
        "<results>/data/{dataset}/{language}.parquet",
    log:
        "<results>/logs/split_into_pieces/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/split_into_pieces/{dataset}/{language}.tsv"
    wildcard_constraints:
        dataset=derived_datasets("bitext"),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        code=code("split_into_pieces"),
    script:
        "../scripts/split_into_pieces.py"


rule align:
    """Word links of a bitext; the gold sentences are aligned with it and scored."""
    input:
        bitext="<results>/data/{dataset}/{language}.parquet",
        gold=gold_files,
    output:
        pharaoh="<results>/alignment/{dataset}/{language}.pharaoh",
        scores="<results>/alignment/{dataset}/{language}.scores.json",
    log:
        "<results>/logs/align/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/align/{dataset}/{language}.tsv"
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("align").threads
    resources:
        mem_mb=memory("align"),
        runtime=minutes("align"),
    params:
        backend=CONFIG.alignment.backend,
        symmetrisation=CONFIG.alignment.symmetrisation,
        gold=gold_sources,
        code=code("align"),
    script:
        "../scripts/align.py"


rule encode_word_pairs:
    """Word pairs for adjustment and, apart from them, for histograms; tokenised once."""
    input:
        bitext="<results>/data/{dataset}/{language}.parquet",
        pharaoh="<results>/alignment/{dataset}/{language}.pharaoh",
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.encoder),
    output:
        train=directory("<results>/tokens/{encoder}/pairs/{dataset}/{language}/train"),
        heldout=directory("<results>/tokens/{encoder}/pairs/{dataset}/{language}/heldout"),
        card="<results>/tokens/{encoder}/pairs/{dataset}/{language}/card.json",
    log:
        "<results>/logs/encode_word_pairs/{encoder}/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/encode_word_pairs/{encoder}/{dataset}/{language}.tsv"
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("encode_word_pairs").threads
    resources:
        mem_mb=memory("encode_word_pairs"),
        runtime=minutes("encode_word_pairs"),
    params:
        alignment=CONFIG.alignment.model_dump(mode="json", exclude={"gold", "backend"}),
        units=lambda wildcards: (
            "pieces" if CONFIG.datasets[wildcards.dataset].made_from else "words"
        ),
        code=code("encode_word_pairs"),
    script:
        "../scripts/encode_word_pairs.py"
