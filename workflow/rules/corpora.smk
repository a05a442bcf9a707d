# Needs: upstream files. Makes: tidy Parquet (mbert_atlas/schemas.py) with cards, by mbert_atlas/config/corpora/kinds.py.


rule read_corpus:
    """All languages of a corpus that has one table."""
    input:
        job.sources,
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
        dataset=job.described,
        read=job.datasets.function,
        code=job(plan.dataset_code, script="read_corpus"),
    script:
        "../scripts/read_corpus.py"


# The same as a submitted job, for corpora that take minutes.
use rule read_corpus as read_corpus_large with:
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=False, by_language=False, large=True)),
    threads: lambda w: plan.corpus_request(w.dataset).threads
    resources:
        **plan.growing(job.corpus_request),


# One language of a corpus that has a table for each.
use rule read_corpus as read_corpus_by_language with:
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


use rule read_corpus_by_language as read_corpus_by_language_large with:
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=False, by_language=True, large=True)),
    threads: lambda w: plan.corpus_request(w.dataset).threads
    resources:
        **plan.growing(job.corpus_request),


rule derive_dataset:
    """A dataset that is derived from another one: mixed languages, or a sample."""
    input:
        tables=job.parents,
        tokenizer=job.dataset_tokenizer,
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
        dataset=lambda w: plan.config.datasets[w.dataset].model_dump(mode="json"),
        derive=job.datasets.function,
        code=job(plan.dataset_code, script="derive_dataset"),
    script:
        "../scripts/derive_dataset.py"


use rule derive_dataset as derive_dataset_large with:
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=True, by_language=False, large=True)),
    threads: lambda w: plan.corpus_request(w.dataset).threads
    resources:
        **plan.growing(job.corpus_request),


use rule derive_dataset as derive_dataset_by_language with:
    output:
        table="<results>/data/{dataset}/{language}.parquet",
    log:
        "<results>/logs/derive_dataset_by_language/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/derive_dataset_by_language/{dataset}/{language}.tsv"
    wildcard_constraints:
        dataset=plan.any_of(plan.select_datasets(derived=True, by_language=True)),
    localrule: True
