# Needs: encoders and tokenised data. Makes: models and predictions; no scores. Models are temporary: deleted after their last reader.
# Resumable state lies in results/<run>/state, outside Snakemake's control: a killed job resumes from it.


rule encode_examples:
    """A dataset's examples as token ids for one way of encoding a task."""
    input:
        table="<results>/data/{dataset}.parquet",
        tokenizer=job.tokenizer,
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
        encoding=lambda w: plan.config.encodings[w.encoding].model_dump(mode="json"),
        allow_unknown=job.allows_unknown,
        languages=job.datasets.languages,
        code=job.encoding_code,
    script:
        "../scripts/encode_examples.py"


rule adjust:
    """Cross-lingual adjustment (Efimov et al. 2022, Eq. 1)."""
    input:
        encoder=job.start,
        pairs=job.pairs,
    output:
        model=plan.temporary("<results>/runs/{run}/seed{seed}/model"),
        counts="<results>/runs/{run}/seed{seed}/counts.json",
        curve="<results>/runs/{run}/seed{seed}/training.parquet",
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
        specification=job.runs.specification,
        state=f"{plan.results}/state/{{run}}/seed{{seed}}",
        code=job(plan.training_code, script="adjust"),
    script:
        "../scripts/adjust.py"


rule finetune:
    """Fine-tuning on a task, then predictions on its test sets."""
    input:
        unpack(job.finetuning_inputs),
    output:
        model=plan.temporary("<results>/runs/{run}/seed{seed}/model"),
        predictions="<results>/runs/{run}/seed{seed}/predictions.parquet",
        curve="<results>/runs/{run}/seed{seed}/training.parquet",
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
        specification=job.runs.specification,
        state=f"{plan.results}/state/{{run}}/seed{{seed}}",
        code=job(plan.training_code, script="finetune"),
    script:
        "../scripts/finetune.py"


use rule finetune as finetune_unsaved with:
    # Nothing reads these models: writing one takes seconds and, at paper scale, .7 GB.
    output:
        predictions="<results>/runs/{run}/seed{seed}/predictions.parquet",
        curve="<results>/runs/{run}/seed{seed}/training.parquet",
    wildcard_constraints:
        run=plan.any_of(
            run.id for run in plan.runs if run.kind == "finetuning" and run.id not in plan.saved
        ),


rule choose_hyperparameters:
    """The best draw of a search, by development data."""
    input:
        job.drawn_predictions,
    output:
        "<results>/search/{search}.{protocol}.json",
    log:
        "<results>/logs/choose_hyperparameters/{search}.{protocol}.log",
    benchmark:
        "<results>/benchmarks/choose_hyperparameters/{search}.{protocol}.tsv"
    threads: plan.threads("choose_hyperparameters")
    resources:
        **plan.resources("choose_hyperparameters"),
    params:
        draws=lambda w: list(plan.runs.searches[w.search].values()),
        choose_by=job.choose_by,
        code=plan.code("choose_hyperparameters"),
    script:
        "../scripts/choose_hyperparameters.py"
