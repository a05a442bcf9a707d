# Needs: paragraphs. Makes: encoders pretrained from scratch, or from another one with an extended vocabulary; language-model
# heads of encoders that have none.
# Priority: every other job waits for encoders, so what they need goes first.


use rule job as train_tokenizer with:
    """A cased vocabulary over all languages: WordPiece, or for XLM-R SentencePiece's unigram."""
    input:
        texts=lambda wildcards: plan.pretraining_texts(wildcards.encoder),
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
        pretraining=lambda wildcards: plan.pretraining(
            wildcards.encoder,
            *("architecture", "vocabulary_size", "alphabet_size", "texts_per_language"),
        ),
        job=plan.job("encoders:train_tokenizer"),


use rule job as extend_encoder with:
    """Another encoder with a larger vocabulary, not trained yet (Wang et al. 2020)."""
    input:
        encoder=lambda wildcards: plan.encoder(
            plan.config.encoders[wildcards.encoder].changed.encoder
        ),
        texts=lambda wildcards: plan.pretraining_texts(wildcards.encoder),
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
        changed=lambda wildcards: plan.config.encoders[wildcards.encoder].changed.model_dump(
            mode="json", include={"extension", "seed"}
        ),
        job=plan.job("encoders:extend_encoder"),


use rule job as encode_pretraining_texts with:
    """The pretraining corpus as token ids."""
    input:
        texts=lambda wildcards: plan.pretraining_texts(wildcards.encoder),
        tokenizer=lambda wildcards: plan.tokenizer(wildcards.encoder),
    output:
        directory("<results>/tokens/{encoder}/pretraining"),
    log:
        "<results>/logs/encode_pretraining_texts/{encoder}.log",
    benchmark:
        "<results>/benchmarks/encode_pretraining_texts/{encoder}.tsv"
    priority: 1
    threads: plan.threads("encode_pretraining_texts")
    resources:
        **plan.resources("encode_pretraining_texts"),
    params:
        pretraining=lambda wildcards: plan.pretraining(
            wildcards.encoder,
            *("max_length", "texts_per_language", "sentences_per_language", "packed"),
        ),
        job=plan.job("encoders:encode_pretraining_texts"),


use rule job as start_embeddings with:
    """Initial word embeddings from translations: supervision across languages."""
    input:
        bitexts=lambda wildcards: plan.start_bitexts(wildcards.encoder),
        tokenizer=lambda wildcards: plan.tokenizer(wildcards.encoder),
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
        dims=lambda wildcards: plan.pretraining(wildcards.encoder)["hidden_size"],
        deviation=lambda wildcards: plan.aligned_start(wildcards.encoder).deviation,
        pairs=lambda wildcards: plan.aligned_start(wildcards.encoder).pairs,
        seed=lambda wildcards: plan.config.encoders[wildcards.encoder].scratch.seed,
        job=plan.job("encoders:start_embeddings"),


use rule job as pretrain with:
    """Masked language modelling, from random weights or from a changed encoder."""
    input:
        tokenizer=lambda wildcards: plan.tokenizer(wildcards.encoder),
        tokens="<results>/tokens/{encoder}/pretraining",
        start=lambda wildcards: (
            "<results>/encoders/{encoder}/start" if plan.aligned_start(wildcards.encoder) else []
        ),
    output:
        directory("<results>/encoders/{encoder}/model"),
    log:
        "<results>/logs/pretrain/{encoder}.log",
    benchmark:
        "<results>/benchmarks/pretrain/{encoder}.tsv"
    priority: 1
    threads: plan.threads("pretrain")
    resources:
        **plan.resources("pretrain"),
    params:
        encoder=lambda wildcards: plan.config.encoders[wildcards.encoder].model_dump(
            mode="json", include={"scratch", "changed"}, exclude={"scratch": {"shipped"}}
        ),
        state=lambda wildcards: f"{plan.results}/state/pretrain/{wildcards.encoder}",
        job=plan.job("encoders:pretrain"),


use rule encode_pretraining_texts as encode_head_texts with:
    input:
        texts=plan.head_texts(),
        tokenizer=lambda wildcards: plan.tokenizer(wildcards.encoder),
    output:
        directory("<results>/tokens/{encoder}/head"),
    log:
        "<results>/logs/encode_head_texts/{encoder}.log",
    benchmark:
        "<results>/benchmarks/encode_head_texts/{encoder}.tsv"
    params:
        pretraining=plan.head_fitting(
            *("max_length", "texts_per_language", "sentences_per_language", "packed")
        ),


use rule job as fit_head with:
    """The language-model head of an encoder that has none, over the frozen encoder."""
    input:
        encoder=lambda wildcards: plan.encoder(wildcards.encoder),
        tokens="<results>/tokens/{encoder}/head",
    output:
        directory("<results>/encoders/{encoder}/head"),
        card="<results>/encoders/{encoder}/head.card.json",
    log:
        "<results>/logs/fit_head/{encoder}.log",
    benchmark:
        "<results>/benchmarks/fit_head/{encoder}.tsv"
    priority: 1
    threads: plan.threads("fit_head")
    resources:
        **plan.resources("fit_head"),
    params:
        training=plan.head_fitting(),
        seed=plan.config.fitted_head.seed if plan.config.fitted_head else 1,
        state=lambda wildcards: f"{plan.results}/state/fit_head/{wildcards.encoder}",
        job=plan.job("encoders:fit_head"),


use rule job as predict_masked with:
    """What an encoder's language-model head, or the fitted one, predicts at masked subwords."""
    input:
        encoder=lambda wildcards: plan.encoder(wildcards.encoder),
        head=lambda wildcards: plan.language_model_head(wildcards.encoder),
        tokens="<results>/tokens/{encoder}/head",
    output:
        "<results>/masked/{encoder}.parquet",
    log:
        "<results>/logs/predict_masked/{encoder}.log",
    benchmark:
        "<results>/benchmarks/predict_masked/{encoder}.tsv"
    threads: plan.threads("predict_masked")
    resources:
        **plan.resources("predict_masked"),
    params:
        training=plan.head_fitting(),
        seed=plan.config.fitted_head.seed if plan.config.fitted_head else 1,
        job=plan.job("encoders:predict_masked"),


use rule job as take_shipped_encoder with:
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
        folder=lambda wildcards: str(
            plan.home / plan.config.encoders[wildcards.encoder].scratch.shipped
        ),
        files=lambda wildcards: plan.shipped[wildcards.encoder],
        job=plan.job("encoders:take_shipped_encoder"),


if not plan.config.use_shipped:

    rule ship_encoders:
        """Put what has been trained into the repository; `make encoder` requests it."""
        input:
            [f"<results>/encoders/{name}/model" for name in plan.to_ship()],
        log:
            "<results>/logs/ship_encoders.log",
        localrule: True
        conda:
            "../../envs/mbert-atlas.yaml"
        params:
            folders=plan.to_ship(),
            specifications=plan.ship_specifications(),
            code=plan.ship_code(),
            job={"function": "encoders:ship_encoders", "code": ""},
        script:
            "../scripts/job.py"
