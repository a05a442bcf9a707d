# Needs: paragraphs. Makes: encoders pretrained from scratch, or from another one with more word pieces.
# Priority: every other job waits for encoders, so what leads to them goes first.


localrules:
    take_shipped_encoder,


rule train_tokenizer:
    """A cased vocabulary over all languages: WordPiece, or for XLM-R SentencePiece's unigram."""
    input:
        texts=pretraining_texts,
    output:
        directory("<results>/encoders/{encoder}/tokenizer"),
    log:
        "<results>/logs/train_tokenizer/{encoder}.log",
    benchmark:
        "<results>/benchmarks/train_tokenizer/{encoder}.tsv"
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("train_tokenizer").threads
    resources:
        mem_mb=memory("train_tokenizer"),
        runtime=minutes("train_tokenizer"),
    params:
        pretraining=lambda wildcards: CONFIG.encoders[
            wildcards.encoder
        ].scratch.pretraining.model_dump(
            mode="json",
            include={"architecture", "vocabulary_size", "alphabet_size", "texts_per_language"},
        ),
        code=code("train_tokenizer"),
    script:
        "../scripts/train_tokenizer.py"


rule extend_encoder:
    """Another encoder with more word pieces, not trained yet (Wang et al. 2020)."""
    input:
        encoder=lambda wildcards: encoder_folder(CONFIG.encoders[wildcards.encoder].changed.encoder),
        texts=pretraining_texts,
    output:
        directory("<results>/encoders/{encoder}/extended"),
    log:
        "<results>/logs/extend_encoder/{encoder}.log",
    benchmark:
        "<results>/benchmarks/extend_encoder/{encoder}.tsv"
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("extend_encoder").threads
    resources:
        mem_mb=memory("extend_encoder"),
        runtime=minutes("extend_encoder"),
    params:
        changed=lambda wildcards: CONFIG.encoders[wildcards.encoder].changed.model_dump(
            mode="json", include={"extension", "seed"}
        ),
        code=code("extend_encoder"),
    script:
        "../scripts/extend_encoder.py"


rule encode_pretraining_texts:
    """The pretraining corpus as token ids."""
    input:
        texts=pretraining_texts,
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.encoder),
    output:
        directory("<results>/tokens/{encoder}/pretraining"),
    log:
        "<results>/logs/encode_pretraining_texts/{encoder}.log",
    benchmark:
        "<results>/benchmarks/encode_pretraining_texts/{encoder}.tsv"
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("encode_pretraining_texts").threads
    resources:
        mem_mb=memory("encode_pretraining_texts"),
        runtime=minutes("encode_pretraining_texts"),
    params:
        pretraining=lambda wildcards: pretraining(wildcards.encoder).model_dump(
            mode="json",
            include={"max_length", "texts_per_language", "sentences_per_language", "packed"},
        ),
        code=code("encode_pretraining_texts"),
    script:
        "../scripts/encode_pretraining_texts.py"


rule start_embeddings:
    """Word embeddings to begin with, from translations: supervision across languages."""
    input:
        bitexts=lambda wildcards: [
            table(name, language)
            for name in aligned_start(wildcards.encoder).bitexts
            for language in CONFIG.datasets[name].languages
        ],
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.encoder),
    output:
        directory("<results>/encoders/{encoder}/start"),
    log:
        "<results>/logs/start_embeddings/{encoder}.log",
    benchmark:
        "<results>/benchmarks/start_embeddings/{encoder}.tsv"
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("start_embeddings").threads
    resources:
        mem_mb=memory("start_embeddings"),
        runtime=minutes("start_embeddings"),
    params:
        dims=lambda wildcards: pretraining(wildcards.encoder).hidden_size,
        deviation=lambda wildcards: aligned_start(wildcards.encoder).deviation,
        pairs=lambda wildcards: aligned_start(wildcards.encoder).pairs,
        seed=lambda wildcards: CONFIG.encoders[wildcards.encoder].scratch.seed,
        code=code("start_embeddings"),
    script:
        "../scripts/start_embeddings.py"


rule pretrain:
    """Masked language modelling, from random weights or from a changed encoder."""
    input:
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.encoder),
        tokens="<results>/tokens/{encoder}/pretraining",
        start=lambda wildcards: (
            "<results>/encoders/{encoder}/start" if aligned_start(wildcards.encoder) else []
        ),
    output:
        directory("<results>/encoders/{encoder}/model"),
    log:
        "<results>/logs/pretrain/{encoder}.log",
    benchmark:
        "<results>/benchmarks/pretrain/{encoder}.tsv"
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("pretrain").threads
    resources:
        mem_mb=memory("pretrain"),
        runtime=minutes("pretrain"),
        gpu=request("pretrain").gpu,
    params:
        encoder=lambda wildcards: CONFIG.encoders[wildcards.encoder].model_dump(
            mode="json", include={"scratch", "changed"}, exclude={"scratch": {"shipped"}}
        ),
        state=lambda wildcards: f"{RESULTS}/state/pretrain/{wildcards.encoder}",
        code=code("pretrain"),
    script:
        "../scripts/pretrain.py"


rule take_shipped_encoder:
    """An encoder of the repository, checked, in single precision; its files' times say nothing."""
    output:
        directory("<results>/encoders/{encoder}/shipped"),
    log:
        "<results>/logs/take_shipped_encoder/{encoder}.log",
    wildcard_constraints:
        encoder=any_of(SHIPPED),
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        folder=lambda wildcards: at_home(CONFIG.encoders[wildcards.encoder].scratch.shipped),
        files=lambda wildcards: SHIPPED[wildcards.encoder],
        code=code("take_shipped_encoder"),
    script:
        "../scripts/take_shipped_encoder.py"


if not CONFIG.use_shipped:

    TO_SHIP = {
        name: item.scratch.shipped
        for name, item in CONFIG.encoders.items()
        if item.scratch and item.scratch.shipped
    }

    localrules:
        ship_encoders,

    rule ship_encoders:
        """Put what has been trained into the repository; `make encoder` asks for it."""
        input:
            [f"<results>/encoders/{name}/model" for name in TO_SHIP],
        log:
            "<results>/logs/ship_encoders.log",
        conda:
            "../../envs/mbert-atlas.yaml"
        params:
            folders=TO_SHIP,
            specifications={name: shipping.specification(CONFIG, name) for name in TO_SHIP},
            code={
                script: code(script)
                for script in (
                    *(["miniature"] if CONFIG.miniature else []),
                    *("extract_wikipedia", "read_plain_text", "read_bitext", "train_tokenizer"),
                    *("start_embeddings", "encode_pretraining_texts", "pretrain"),
                )
            },
        script:
            "../scripts/ship_encoders.py"
