# Needs: upstream files. Makes: tidy Parquet (columns in mbert_atlas/schemas.py), each with a dataset card.
# What is read, by which function, and which rule does it, is said in mbert_atlas/config/corpora/kinds.py.


use rule job as read_corpus with:
    """All languages of a corpus that has one table."""
    input:
        lambda wildcards: plan.sources(wildcards.dataset),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/read_corpus/{dataset}.log",
    benchmark:
        "<results>/benchmarks/read_corpus/{dataset}.tsv"
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=False, by_language=False, large=False)),
    localrule: True
    params:
        dataset=lambda wildcards: plan.described(wildcards.dataset),
        read=lambda wildcards: plan.config.datasets[wildcards.dataset].function,
        job=lambda wildcards: plan.job(
            "corpora:read_corpus", plan.config.datasets[wildcards.dataset].function
        ),


# The same as a submitted job, for corpora that take minutes.
use rule read_corpus as read_corpus_large with:
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=False, by_language=False, large=True)),
    threads: lambda wildcards: plan.corpus_request(wildcards.dataset).threads
    resources:
        **plan.growing(lambda wildcards: plan.corpus_request(wildcards.dataset)),


# One language of a corpus that has a table for each.
use rule read_corpus as read_corpus_by_language with:
    input:
        lambda wildcards: plan.sources(wildcards.dataset, [wildcards.language]),
    output:
        table="<results>/data/{dataset}/{language}.parquet",
        card="<results>/data/{dataset}/{language}.card.json",
    log:
        "<results>/logs/read_corpus_by_language/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/read_corpus_by_language/{dataset}/{language}.tsv"
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=False, by_language=True, large=False)),
    priority: 1
    localrule: True
    params:
        dataset=lambda wildcards: plan.described(wildcards.dataset, [wildcards.language]),


use rule read_corpus_by_language as read_corpus_by_language_large with:
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=False, by_language=True, large=True)),
    threads: lambda wildcards: plan.corpus_request(wildcards.dataset).threads
    resources:
        **plan.growing(lambda wildcards: plan.corpus_request(wildcards.dataset)),


use rule job as derive_dataset with:
    """A dataset that is derived from another one: mixed languages, or a sample."""
    input:
        tables=lambda wildcards: plan.parents(wildcards.dataset),
        tokenizer=lambda wildcards: plan.dataset_tokenizer(wildcards.dataset),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/derive_dataset/{dataset}.log",
    benchmark:
        "<results>/benchmarks/derive_dataset/{dataset}.tsv"
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=True, by_language=False, large=False)),
    localrule: True
    params:
        dataset=lambda wildcards: plan.config.datasets[wildcards.dataset].model_dump(mode="json"),
        derive=lambda wildcards: plan.config.datasets[wildcards.dataset].function,
        job=lambda wildcards: plan.job(
            "corpora:derive_dataset", plan.config.datasets[wildcards.dataset].function
        ),


use rule derive_dataset as derive_dataset_large with:
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=True, by_language=False, large=True)),
    threads: lambda wildcards: plan.corpus_request(wildcards.dataset).threads
    resources:
        **plan.growing(lambda wildcards: plan.corpus_request(wildcards.dataset)),


use rule derive_dataset as derive_dataset_by_language with:
    input:
        tables=lambda wildcards: plan.parents(wildcards.dataset, wildcards.language),
        tokenizer=lambda wildcards: plan.dataset_tokenizer(wildcards.dataset),
    output:
        table="<results>/data/{dataset}/{language}.parquet",
    log:
        "<results>/logs/derive_dataset_by_language/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/derive_dataset_by_language/{dataset}/{language}.tsv"
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=True, by_language=True)),
    localrule: True
