# Needs: paragraphs. Makes: tokenizers and encoders pretrained from scratch (demo, small, liu2020).


rule train_tokenizer:
    """A cased WordPiece vocabulary over all languages."""
    input:
        texts=pretraining_texts,
    output:
        directory("<results>/encoders/{encoder}/tokenizer"),
    log:
        "<results>/logs/train_tokenizer/{encoder}.log",
    benchmark:
        "<results>/benchmarks/train_tokenizer/{encoder}.tsv"
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: asked("train_tokenizer").threads
    resources:
        mem_mb=memory("train_tokenizer"),
        runtime=minutes("train_tokenizer"),
    params:
        pretraining=lambda wildcards: CONFIG.encoders[
            wildcards.encoder
        ].scratch.pretraining.model_dump(
            mode="json", include={"vocabulary_size", "alphabet_size", "texts_per_language"}
        ),
        code=code("train_tokenizer"),
    script:
        "../scripts/train_tokenizer.py"


rule encode_pretraining_texts:
    """The pretraining corpus as token ids."""
    input:
        texts=pretraining_texts,
        tokenizer="<results>/encoders/{encoder}/tokenizer",
    output:
        directory("<results>/tokens/{encoder}/pretraining"),
    log:
        "<results>/logs/encode_pretraining_texts/{encoder}.log",
    benchmark:
        "<results>/benchmarks/encode_pretraining_texts/{encoder}.tsv"
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: asked("encode_pretraining_texts").threads
    resources:
        mem_mb=memory("encode_pretraining_texts"),
        runtime=minutes("encode_pretraining_texts"),
    params:
        pretraining=lambda wildcards: CONFIG.encoders[
            wildcards.encoder
        ].scratch.pretraining.model_dump(mode="json", include={"max_length", "texts_per_language"}),
        code=code("encode_pretraining_texts"),
    script:
        "../scripts/encode_pretraining_texts.py"


rule pretrain:
    """Masked language modelling from random weights."""
    input:
        tokenizer="<results>/encoders/{encoder}/tokenizer",
        tokens="<results>/tokens/{encoder}/pretraining",
    output:
        directory("<results>/encoders/{encoder}/model"),
    log:
        "<results>/logs/pretrain/{encoder}.log",
    benchmark:
        "<results>/benchmarks/pretrain/{encoder}.tsv"
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: asked("pretrain").threads
    resources:
        mem_mb=memory("pretrain"),
        runtime=minutes("pretrain"),
        gpu=asked("pretrain").gpu,
    params:
        scratch=lambda wildcards: CONFIG.encoders[wildcards.encoder].scratch.model_dump(mode="json"),
        state=lambda wildcards: f"{RESULTS}/state/pretrain/{wildcards.encoder}",
        code=code("pretrain"),
    script:
        "../scripts/pretrain.py"
