# Needs: encoders and tokenised data. Makes: models and predictions; no scores. A model goes when its last reader has run.
# Resumable state lies in results/<run>/state, which Snakemake does not own: a killed job goes on from it.


rule encode_examples:
    """A dataset's examples as token ids for one way of encoding a task."""
    input:
        table="<results>/data/{dataset}.parquet",
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.encoder),
    output:
        directory("<results>/tokens/{encoder}/examples/{encoding}/{dataset}"),
    log:
        "<results>/logs/encode_examples/{encoder}/{encoding}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/encode_examples/{encoder}/{encoding}/{dataset}.tsv"
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("encode_examples").threads
    resources:
        mem_mb=memory("encode_examples"),
        runtime=minutes("encode_examples"),
    params:
        encoding=lambda wildcards: CONFIG.encodings[wildcards.encoding].model_dump(mode="json"),
        languages=lambda wildcards: CONFIG.datasets[wildcards.dataset].languages,
        code=code("encode_examples"),
    script:
        "../scripts/encode_examples.py"


rule adjust:
    """Cross-lingual adjustment (Efimov et al. 2022, Eq. 1)."""
    input:
        encoder=lambda wildcards: start_folder(RUNS[wildcards.run], wildcards.seed),
        pairs=lambda wildcards: pairs_folder(RUNS[wildcards.run]),
    output:
        model=weights("<results>/runs/{run}/seed{seed}/model"),
        counts="<results>/runs/{run}/seed{seed}/counts.json",
    log:
        "<results>/logs/adjust/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/adjust/{run}/seed{seed}.tsv"
    wildcard_constraints:
        run=any_of(run.id for run in RUNS if run.kind == "adjustment"),
    # Later than what reads its weights: else those of all adjustments lie there at once.
    priority: -1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("adjust").threads
    resources:
        mem_mb=memory("adjust"),
        runtime=minutes("adjust"),
        gpu=request("adjust").gpu,
    params:
        specification=lambda wildcards: RUNS[wildcards.run].specification,
        state=lambda wildcards: f"{RESULTS}/state/{wildcards.run}/seed{wildcards.seed}",
        code=code("adjust"),
    script:
        "../scripts/adjust.py"


rule finetune:
    """Fine-tuning on a task, then predictions on its test sets."""
    input:
        unpack(lambda wildcards: method_inputs(RUNS[wildcards.run])),
        encoder=lambda wildcards: start_folder(RUNS[wildcards.run], wildcards.seed),
        train=lambda wildcards: example_folder(
            RUNS[wildcards.run], RUNS[wildcards.run].specification["train"]
        ),
        evaluate=lambda wildcards: [
            example_folder(RUNS[wildcards.run], dataset)
            for dataset in RUNS[wildcards.run].specification["evaluate"]
        ],
        choice=lambda wildcards: choice_of(RUNS[wildcards.run]),
    output:
        model=weights("<results>/runs/{run}/seed{seed}/model"),
        predictions="<results>/runs/{run}/seed{seed}/predictions.parquet",
    log:
        "<results>/logs/finetune/{run}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/finetune/{run}/seed{seed}.tsv"
    wildcard_constraints:
        run=any_of(run.id for run in RUNS if run.kind == "finetuning" and run.id not in DRAWS),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("finetune").threads
    resources:
        mem_mb=memory("finetune"),
        runtime=minutes("finetune"),
        gpu=request("finetune").gpu,
    params:
        specification=lambda wildcards: RUNS[wildcards.run].specification,
        state=lambda wildcards: f"{RESULTS}/state/{wildcards.run}/seed{wildcards.seed}",
        code=code("finetune"),
    script:
        "../scripts/finetune.py"


use rule finetune as finetune_draw with:
    output:
        predictions="<results>/runs/{run}/seed{seed}/predictions.parquet",
    wildcard_constraints:
        run=any_of(DRAWS),


rule choose_hyperparameters:
    """The best draw of a search, by development data."""
    input:
        lambda wildcards: [
            f"<results>/runs/{run}/seed{RUNS[run].seeds[0]}/predictions.parquet"
            for run in RUNS.draws(wildcards.search)
        ],
    output:
        "<results>/search/{search}.{protocol}.json",
    log:
        "<results>/logs/choose_hyperparameters/{search}.{protocol}.log",
    benchmark:
        "<results>/benchmarks/choose_hyperparameters/{search}.{protocol}.tsv"
    wildcard_constraints:
        search=any_of(RUNS.searches()),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("choose_hyperparameters").threads
    resources:
        mem_mb=memory("choose_hyperparameters"),
        runtime=minutes("choose_hyperparameters"),
    params:
        draws=lambda wildcards: list(RUNS.draws(wildcards.search).values()),
        choose_by=lambda wildcards: choose_by(wildcards.search, wildcards.protocol),
        code=code("choose_hyperparameters"),
    script:
        "../scripts/choose_hyperparameters.py"
