# Needs: encoders and tokenised data. Makes: models and predictions; no scores. A model goes when its last reader has run.
# Resumable state lies in results/<run>/state, outside Snakemake's control: a killed job resumes from it.


use rule job as encode_examples with:
    """A dataset's examples as token ids for one way of encoding a task."""
    input:
        table="<results>/data/{dataset}.parquet",
        tokenizer=lambda wildcards: plan.tokenizer(wildcards.encoder),
    output:
        directory("<results>/tokens/{encoder}/examples/{encoding}/{dataset}"),
    log:
        "<results>/logs/encode_examples/{encoder}/{encoding}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/encode_examples/{encoder}/{encoding}/{dataset}.tsv"
    threads: plan.threads("encode_examples")
    resources:
        **plan.resources("encode_examples"),
    params:
        encoding=lambda wildcards: plan.config.encodings[wildcards.encoding].model_dump(mode="json"),
        languages=lambda wildcards: plan.config.datasets[wildcards.dataset].languages,
        job=lambda wildcards: plan.encoding_job(wildcards.encoding),


use rule job as adjust with:
    """Cross-lingual adjustment (Efimov et al. 2022, Eq. 1)."""
    input:
        encoder=lambda wildcards: plan.start(plan.runs[wildcards.run], wildcards.seed),
        pairs=lambda wildcards: plan.pairs(plan.runs[wildcards.run]),
    output:
        model=plan.temporary("<results>/runs/{run}/seed{seed}/model"),
        counts="<results>/runs/{run}/seed{seed}/counts.json",
    log:
        "<results>/logs/adjust/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/adjust/{run}/seed{seed}.tsv"
    wildcard_constraints:
        run=plan.any_of(run.id for run in plan.runs if run.kind == "adjustment"),
    # Later than the readers of its weights: else those of all adjustments exist at once.
    priority: -1
    threads: plan.threads("adjust")
    resources:
        **plan.resources("adjust"),
    params:
        specification=lambda wildcards: plan.runs[wildcards.run].specification,
        state=lambda wildcards: f"{plan.results}/state/{wildcards.run}/seed{wildcards.seed}",
        job=lambda wildcards: plan.job("training:adjust", *plan.runs[wildcards.run].code),


use rule job as finetune with:
    """Fine-tuning on a task, then predictions on its test sets."""
    input:
        unpack(lambda wildcards: plan.method_inputs(plan.runs[wildcards.run])),
        encoder=lambda wildcards: plan.start(plan.runs[wildcards.run], wildcards.seed),
        train=lambda wildcards: plan.all_examples(plan.runs[wildcards.run])[0],
        evaluate=lambda wildcards: plan.all_examples(plan.runs[wildcards.run])[1:],
        choice=lambda wildcards: plan.choice(plan.runs[wildcards.run]),
    output:
        model=plan.temporary("<results>/runs/{run}/seed{seed}/model"),
        predictions="<results>/runs/{run}/seed{seed}/predictions.parquet",
    log:
        "<results>/logs/finetune/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/finetune/{run}/seed{seed}.tsv"
    wildcard_constraints:
        run=plan.any_of(plan.saved),
    threads: plan.threads("finetune")
    resources:
        **plan.resources("finetune"),
    params:
        specification=lambda wildcards: plan.runs[wildcards.run].specification,
        state=lambda wildcards: f"{plan.results}/state/{wildcards.run}/seed{wildcards.seed}",
        job=lambda wildcards: plan.job("training:finetune", *plan.runs[wildcards.run].code),


use rule finetune as finetune_unsaved with:
    # Nothing reads these models: writing one takes seconds and, at paper scale, .7 GB.
    output:
        predictions="<results>/runs/{run}/seed{seed}/predictions.parquet",
    wildcard_constraints:
        run=plan.any_of(
            run.id for run in plan.runs if run.kind == "finetuning" and run.id not in plan.saved
        ),


use rule job as choose_hyperparameters with:
    """The best draw of a search, by development data."""
    input:
        lambda wildcards: [
            plan.predictions(plan.runs[run], plan.runs[run].seeds[0])
            for run in plan.runs.searches[wildcards.search]
        ],
    output:
        "<results>/search/{search}.{protocol}.json",
    log:
        "<results>/logs/choose_hyperparameters/{search}.{protocol}.log",
    benchmark:
        "<results>/benchmarks/choose_hyperparameters/{search}.{protocol}.tsv"
    wildcard_constraints:
        search=plan.any_of(plan.runs.searches),
    threads: plan.threads("choose_hyperparameters")
    resources:
        **plan.resources("choose_hyperparameters"),
    params:
        draws=lambda wildcards: list(plan.runs.searches[wildcards.search].values()),
        choose_by=lambda wildcards: plan.choose_by(wildcards.search, wildcards.protocol),
        job=plan.job("training:choose_hyperparameters"),
