# Needs: predictions, vectors, distances. Makes: measurements, one tidy CSV per artifact, in the columns of
# resources/reported/*.csv plus protocol, seed and n. CPU only: a new metric never costs a GPU hour.


rule probe_language_identification:
    """Language identification by a linear layer on cached vectors."""
    input:
        vectors="<results>/representations/{name}",
        texts=lambda wildcards: table(CONFIG.representations[wildcards.name].dataset),
    output:
        predictions="<results>/probes/{name}/{protocol}/seed{seed}.parquet",
    log:
        "<results>/logs/probe_language_identification/{name}/{protocol}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/probe_language_identification/{name}/{protocol}/seed{seed}.tsv"
    wildcard_constraints:
        name=either(CONFIG.representations),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: asked("probe_language_identification").threads
    resources:
        mem_mb=memory("probe_language_identification"),
        runtime=minutes("probe_language_identification"),
    params:
        probe=lambda wildcards: CONFIG.tanti2021.probe[wildcards.protocol].model_dump(mode="json"),
        code=code("probe_language_identification"),
    script:
        "../scripts/probe_language_identification.py"


rule project_languages:
    """t-SNE and k-means of a sample of the test texts, the same number per language (App. B)."""
    input:
        vectors="<results>/representations/{name}",
        texts=lambda wildcards: table(CONFIG.representations[wildcards.name].dataset),
    output:
        points="<results>/projections/{name}.parquet",
        clusters="<results>/projections/{name}.json",
    log:
        "<results>/logs/project_languages/{name}.log",
    benchmark:
        "<results>/benchmarks/project_languages/{name}.tsv"
    wildcard_constraints:
        name=either(CONFIG.representations),
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: asked("project_languages").threads
    resources:
        mem_mb=memory("project_languages"),
        runtime=minutes("project_languages"),
    params:
        per_language=CONFIG.tanti2021.per_language,
        perplexity=CONFIG.tanti2021.perplexity,
        code=code("project_languages"),
    script:
        "../scripts/project_languages.py"


localrules:
    measure_transfer,
    measure_distances,
    measure_tagging,
    measure_languages,


rule measure_transfer:
    """efimov2022 Table 2: accuracy per condition, language and seed, with the paired t-test."""
    input:
        [cell["path"] for cell in transfer_cells()],
    output:
        "<results>/measurements/efimov2022/table2.csv",
    log:
        "<results>/logs/measure_transfer.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=[{**cell, "path": None} for cell in transfer_cells()],
        against=CONFIG.efimov2022.against,
        model=CONFIG.efimov2022.model,
        code=code("measure_transfer"),
    script:
        "../scripts/measure_transfer.py"


rule measure_distances:
    """efimov2022 Figure 1: how far apart related and unrelated pairs are."""
    input:
        [path for language in figure1_languages() for path in distance_files(language, "json")],
    output:
        "<results>/measurements/efimov2022/figure1.csv",
    log:
        "<results>/logs/measure_distances.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        model=CONFIG.efimov2022.model,
        code=code("measure_distances"),
    script:
        "../scripts/measure_distances.py"


rule measure_tagging:
    """tanti2021 Table 1, UDPOS: the authors' span score beside token scores, and each language."""
    input:
        [cell["path"] for cell in tagging_cells()],
    output:
        "<results>/measurements/tanti2021/table1_udpos.csv",
    log:
        "<results>/logs/measure_tagging.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=[{**cell, "path": None} for cell in tagging_cells()],
        code=code("measure_tagging"),
    script:
        "../scripts/measure_tagging.py"


rule measure_languages:
    """tanti2021 Table 1 and Figure 4, languages under the initial encoder."""
    input:
        predictions=[cell["path"] for cell in probe_cells()],
        clusters=f"<results>/projections/{CONFIG.tanti2021.representation}.json",
    output:
        "<results>/measurements/tanti2021/languages.csv",
    log:
        "<results>/logs/measure_languages.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=[{**cell, "path": None} for cell in probe_cells()],
        code=code("measure_languages"),
    script:
        "../scripts/measure_languages.py"
