# Needs: upstream files. Makes: tidy Parquet (columns in mbert_atlas/schemas.py), each with a dataset card.


rule extract_wikipedia:
    """Paragraphs of one language's dump, through wikiextractor."""
    input:
        lambda wildcards: source_files(wildcards.dataset, wildcards.language),
    output:
        table="<results>/data/{dataset}/{language}.parquet",
        card="<results>/data/{dataset}/{language}.card.json",
    log:
        "<results>/logs/extract_wikipedia/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/extract_wikipedia/{dataset}/{language}.tsv"
    wildcard_constraints:
        dataset=datasets_of("wikipedia"),
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("extract_wikipedia").threads
    resources:
        mem_mb=memory("extract_wikipedia"),
        runtime=minutes("extract_wikipedia"),
    params:
        dataset=lambda wildcards: described(wildcards.dataset, [wildcards.language]),
        code=code("extract_wikipedia"),
    script:
        "../scripts/extract_wikipedia.py"


localrules:
    read_plain_text,
    read_typology,
    read_dictionary,
    read_nli,
    read_ner,
    read_qa,
    mix_languages,
    cross_questions,


rule read_plain_text:
    """Running text of one language from any source that has some, for pretraining."""
    input:
        lambda wildcards: source_files(wildcards.dataset, wildcards.language),
    output:
        table="<results>/data/{dataset}/{language}.parquet",
        card="<results>/data/{dataset}/{language}.card.json",
    log:
        "<results>/logs/read_plain_text/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/read_plain_text/{dataset}/{language}.tsv"
    wildcard_constraints:
        dataset=datasets_of("plain_text"),
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        dataset=lambda wildcards: described(wildcards.dataset, [wildcards.language]),
        code=code("read_plain_text"),
    script:
        "../scripts/read_plain_text.py"


rule read_bitext:
    """Tokenised sentence pairs, English and one other language."""
    input:
        lambda wildcards: source_files(wildcards.dataset, wildcards.language),
    output:
        table="<results>/data/{dataset}/{language}.parquet",
        card="<results>/data/{dataset}/{language}.card.json",
    log:
        "<results>/logs/read_bitext/{dataset}/{language}.log",
    benchmark:
        "<results>/benchmarks/read_bitext/{dataset}/{language}.tsv"
    wildcard_constraints:
        dataset=datasets_of("bitext"),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("read_bitext").threads
    resources:
        mem_mb=memory("read_bitext"),
        runtime=minutes("read_bitext"),
    params:
        dataset=lambda wildcards: described(wildcards.dataset, [wildcards.language]),
        code=code("read_bitext"),
    script:
        "../scripts/read_bitext.py"


rule read_typology:
    """Features of all languages in the World Atlas of Language Structures."""
    input:
        lambda wildcards: all_source_files(wildcards.dataset),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/read_typology/{dataset}.log",
    wildcard_constraints:
        dataset=datasets_of("typology"),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        languages=lambda wildcards: [
            LANGUAGES[code].model_dump() for code in CONFIG.datasets[wildcards.dataset].languages
        ],
        code=code("read_typology"),
    script:
        "../scripts/read_typology.py"


rule read_dictionary:
    """English words and their translations into one language."""
    input:
        lambda wildcards: source_files(wildcards.dataset, wildcards.language),
    output:
        table="<results>/data/{dataset}/{language}.parquet",
        card="<results>/data/{dataset}/{language}.card.json",
    log:
        "<results>/logs/read_dictionary/{dataset}/{language}.log",
    wildcard_constraints:
        dataset=datasets_of("dictionary"),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        dataset=lambda wildcards: described(wildcards.dataset, [wildcards.language]),
        code=code("read_dictionary"),
    script:
        "../scripts/read_dictionary.py"


rule read_universal_dependencies:
    """Sentences of all languages of a treebank dataset."""
    input:
        lambda wildcards: all_source_files(wildcards.dataset),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/read_universal_dependencies/{dataset}.log",
    benchmark:
        "<results>/benchmarks/read_universal_dependencies/{dataset}.tsv"
    wildcard_constraints:
        dataset=datasets_of("universal_dependencies"),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("read_universal_dependencies").threads
    resources:
        mem_mb=memory("read_universal_dependencies"),
        runtime=minutes("read_universal_dependencies"),
    params:
        dataset=lambda wildcards: described(wildcards.dataset),
        code=code("read_universal_dependencies"),
    script:
        "../scripts/read_universal_dependencies.py"


rule read_nli:
    """Premises and hypotheses of all languages of an inference dataset."""
    input:
        lambda wildcards: all_source_files(wildcards.dataset),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/read_nli/{dataset}.log",
    benchmark:
        "<results>/benchmarks/read_nli/{dataset}.tsv"
    wildcard_constraints:
        dataset=datasets_of("nli"),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        dataset=lambda wildcards: described(wildcards.dataset),
        code=code("read_nli"),
    script:
        "../scripts/read_nli.py"


rule read_ner:
    """Tagged sentences of all languages of a WikiANN dataset."""
    input:
        lambda wildcards: all_source_files(wildcards.dataset),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/read_ner/{dataset}.log",
    benchmark:
        "<results>/benchmarks/read_ner/{dataset}.tsv"
    wildcard_constraints:
        dataset=datasets_of("ner"),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        dataset=lambda wildcards: described(wildcards.dataset),
        code=code("read_ner"),
    script:
        "../scripts/read_ner.py"


rule read_qa:
    """Questions and paragraphs of all languages of a dataset in SQuAD's layout."""
    input:
        lambda wildcards: all_source_files(wildcards.dataset),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/read_qa/{dataset}.log",
    benchmark:
        "<results>/benchmarks/read_qa/{dataset}.tsv"
    wildcard_constraints:
        dataset=datasets_of("qa"),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        dataset=lambda wildcards: described(wildcards.dataset),
        code=code("read_qa"),
    script:
        "../scripts/read_qa.py"


rule mix_languages:
    """XNLI with one side of each pair in English (Efimov et al. 2022, section 4.2)."""
    input:
        lambda wildcards: table(CONFIG.datasets[wildcards.dataset].made_from),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/mix_languages/{dataset}.log",
    benchmark:
        "<results>/benchmarks/mix_languages/{dataset}.tsv"
    wildcard_constraints:
        dataset=derived_datasets("nli"),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        dataset=lambda wildcards: CONFIG.datasets[wildcards.dataset].model_dump(mode="json"),
        code=code("mix_languages"),
    script:
        "../scripts/mix_languages.py"


rule cross_questions:
    """Questions of one language about paragraphs of another, by joining a parallel dataset."""
    input:
        lambda wildcards: table(CONFIG.datasets[wildcards.dataset].made_from),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/cross_questions/{dataset}.log",
    benchmark:
        "<results>/benchmarks/cross_questions/{dataset}.tsv"
    wildcard_constraints:
        dataset=derived_datasets("qa"),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        dataset=lambda wildcards: CONFIG.datasets[wildcards.dataset].model_dump(mode="json"),
        code=code("cross_questions"),
    script:
        "../scripts/cross_questions.py"


rule sample_language_identification:
    """Paragraphs sampled per language and split, those with [UNK] left out (Tanti et al. 2021)."""
    input:
        paragraphs=lambda wildcards: [
            table(CONFIG.datasets[wildcards.dataset].paragraphs, language)
            for language in CONFIG.datasets[wildcards.dataset].languages
        ],
        tokenizer=lambda wildcards: (
            tokenizer_folder(encoder)
            if (encoder := CONFIG.datasets[wildcards.dataset].encoder)
            else []
        ),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/sample_language_identification/{dataset}.log",
    benchmark:
        "<results>/benchmarks/sample_language_identification/{dataset}.tsv"
    wildcard_constraints:
        dataset=derived_datasets("language_identification"),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("sample_language_identification").threads
    resources:
        mem_mb=memory("sample_language_identification"),
        runtime=minutes("sample_language_identification"),
    params:
        dataset=lambda wildcards: CONFIG.datasets[wildcards.dataset].model_dump(mode="json"),
        code=code("sample_language_identification"),
    script:
        "../scripts/sample_language_identification.py"


rule read_released_languages:
    """The language identification set that Tanti et al. (2021) released, instead of a sample."""
    input:
        lambda wildcards: all_source_files(wildcards.dataset),
    output:
        table="<results>/data/{dataset}.parquet",
        card="<results>/data/{dataset}.card.json",
    log:
        "<results>/logs/read_released_languages/{dataset}.log",
    benchmark:
        "<results>/benchmarks/read_released_languages/{dataset}.tsv"
    wildcard_constraints:
        dataset=datasets_of("language_identification"),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("sample_language_identification").threads
    resources:
        mem_mb=memory("sample_language_identification"),
        runtime=minutes("sample_language_identification"),
    params:
        dataset=lambda wildcards: described(wildcards.dataset),
        code=code("read_released_languages"),
    script:
        "../scripts/read_released_languages.py"
