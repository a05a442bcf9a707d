# Needs: paragraphs. Makes: pretrained encoders, language-model heads. Priority: other jobs wait for what encoders need.


rule train_tokenizer:
    """A cased vocabulary over all languages: WordPiece, or for XLM-R SentencePiece's unigram."""
    input:
        texts=job.pretraining_texts,
    output:
        directory("<results>/encoders/{encoder}/tokenizer"),
    log:
        "<results>/logs/train_tokenizer/{encoder}.log",
    benchmark:
        "<results>/benchmarks/train_tokenizer/{encoder}.tsv"
    priority: 1
    threads: plan.threads("train_tokenizer")
    resources:
        **plan.resources("train_tokenizer"),
    params:
        pretraining=job(
            plan.pretraining,
            keys=("architecture", "vocabulary_size", "alphabet_size", "texts_per_language"),
        ),
        code=plan.code("train_tokenizer"),
    script:
        "../scripts/train_tokenizer.py"


rule convert_encoder:
    """An encoder of a folder whose tokenizer is no tokenizer.json yet, with links to its weights."""
    input:
        lambda w: plan.config.encoders[w.encoder].folder,
    output:
        directory("<results>/encoders/{encoder}/converted"),
    log:
        "<results>/logs/convert_encoder/{encoder}.log",
    localrule: True
    params:
        code=plan.code("convert_encoder"),
    script:
        "../scripts/convert_encoder.py"


rule extend_encoder:
    """Another encoder with a larger vocabulary, not trained yet (Wang et al. 2020)."""
    input:
        encoder=lambda w: plan.encoder(plan.config.encoders[w.encoder].changed.encoder),
        texts=job.pretraining_texts,
    output:
        directory("<results>/encoders/{encoder}/extended"),
    log:
        "<results>/logs/extend_encoder/{encoder}.log",
    benchmark:
        "<results>/benchmarks/extend_encoder/{encoder}.tsv"
    priority: 1
    threads: plan.threads("extend_encoder")
    resources:
        **plan.resources("extend_encoder"),
    params:
        extension=lambda w: plan.config.encoders[w.encoder].changed.extension.model_dump(),
        seed=lambda w: plan.config.encoders[w.encoder].changed.seed,
        code=plan.code("extend_encoder"),
    script:
        "../scripts/extend_encoder.py"


rule encode_pretraining_texts:
    """The texts for pretraining, or for fitting a language-model head, as token ids."""
    input:
        texts=job.pretraining_texts,
        tokenizer=job.tokenizer,
    output:
        directory("<results>/tokens/{encoder}/{training}"),
    log:
        "<results>/logs/encode_pretraining_texts/{encoder}/{training}.log",
    benchmark:
        "<results>/benchmarks/encode_pretraining_texts/{encoder}/{training}.tsv"
    priority: 1
    threads: plan.threads("encode_pretraining_texts")
    resources:
        **plan.resources("encode_pretraining_texts"),
    params:
        pretraining=job(
            plan.pretraining,
            keys=("max_length", "texts_per_language", "sentences_per_language", "packed"),
        ),
        code=plan.code("encode_pretraining_texts"),
    script:
        "../scripts/encode_pretraining_texts.py"


rule start_embeddings:
    """Initial word embeddings from translations: supervision across languages."""
    input:
        bitexts=job.start_bitexts,
        tokenizer=job.tokenizer,
    output:
        directory("<results>/encoders/{encoder}/start"),
    log:
        "<results>/logs/start_embeddings/{encoder}.log",
    benchmark:
        "<results>/benchmarks/start_embeddings/{encoder}.tsv"
    priority: 1
    threads: plan.threads("start_embeddings")
    resources:
        **plan.resources("start_embeddings"),
    params:
        dims=lambda w: plan.pretraining(w.encoder)["hidden_size"],
        deviation=lambda w: plan.aligned_start(w.encoder).deviation,
        pairs=lambda w: plan.aligned_start(w.encoder).pairs,
        seed=lambda w: plan.config.encoders[w.encoder].scratch.seed,
        code=plan.code("start_embeddings"),
    script:
        "../scripts/start_embeddings.py"


rule pretrain:
    """Masked language modelling, from random weights or from a changed encoder."""
    input:
        tokenizer=job.tokenizer,
        tokens="<results>/tokens/{encoder}/pretraining",
        start=lambda w: plan.aligned_start(w.encoder) and "<results>/encoders/{encoder}/start" or [],
    output:
        directory("<results>/encoders/{encoder}/model"),
        curve="<results>/encoders/{encoder}/training.parquet",
    log:
        "<results>/logs/pretrain/{encoder}.log",
    benchmark:
        "<results>/benchmarks/pretrain/{encoder}.tsv"
    priority: 1
    threads: plan.threads("pretrain")
    resources:
        **plan.resources("pretrain"),
    params:
        encoder=job.recipe,
        state=f"{plan.results}/state/pretrain/{{encoder}}",
        code=plan.code("pretrain"),
    script:
        "../scripts/pretrain.py"


rule fit_head:
    """The language-model head of an encoder that has none, over the frozen encoder."""
    input:
        encoder=job.encoder,
        tokens="<results>/tokens/{encoder}/head",
    output:
        directory("<results>/encoders/{encoder}/head/seed{seed}"),
        card="<results>/encoders/{encoder}/head/seed{seed}.card.json",
        curve="<results>/encoders/{encoder}/head/seed{seed}.training.parquet",
    log:
        "<results>/logs/fit_head/{encoder}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/fit_head/{encoder}/seed{seed}.tsv"
    priority: 1
    threads: plan.threads("fit_head")
    resources:
        **plan.resources("fit_head"),
    params:
        training=plan.head_fitting(),
        seed=lambda w: int(w.seed),
        state=f"{plan.results}/state/fit_head/{{encoder}}/seed{{seed}}",
        code=plan.code("fit_head"),
    script:
        "../scripts/fit_head.py"


rule predict_masked:
    """What an encoder's language-model head, or the fitted one, predicts at masked subwords."""
    input:
        encoder=job.encoder_of_head,
        head=job.language_model_head,
        tokens=job(plan.below_head, pattern="<results>/tokens/{encoder}/head"),
    output:
        "<results>/masked/{head}.parquet",
    log:
        "<results>/logs/predict_masked/{head}.log",
    benchmark:
        "<results>/benchmarks/predict_masked/{head}.tsv"
    threads: plan.threads("predict_masked")
    resources:
        **plan.resources("predict_masked"),
    params:
        training=plan.head_fitting(),
        code=plan.code("predict_masked"),
    script:
        "../scripts/predict_masked.py"


rule take_shipped_encoder:
    """An encoder of the repository, checked, in single precision; its files' times don't count."""
    output:
        directory("<results>/encoders/{encoder}/shipped"),
    log:
        "<results>/logs/take_shipped_encoder/{encoder}.log",
    wildcard_constraints:
        encoder=plan.any_of(plan.shipped),
    priority: 1
    localrule: True
    params:
        folder=lambda w: f"{plan.home / plan.to_ship()[w.encoder]}",
        files=lambda w: plan.shipped[w.encoder],
        code=plan.code("take_shipped_encoder"),
    script:
        "../scripts/take_shipped_encoder.py"


if not plan.config.use_shipped:

    rule ship_encoders:
        """Put what has been trained into the repository; `make encoder` requests it."""
        input:
            [f"<results>/encoders/{name}/model" for name in plan.to_ship()],
        log:
            "<results>/logs/ship_encoders.log",
        localrule: True
        params:
            folders=plan.to_ship(),
            specifications=plan.ship_specifications(),
            code=plan.ship_code(),
        script:
            "../scripts/ship_encoders.py"
