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
    list_languages,
    measure_transfer,
    measure_distances,
    measure_tagging,
    measure_languages,


rule list_languages:
    """efimov2022 Table 1: the articles of each Wikipedia; its other columns are facts."""
    input:
        [
            f"<results>/data/{CONFIG.efimov2022.pages}/{language}.card.json"
            for language in CONFIG.efimov2022.languages
        ],
    output:
        "<results>/measurements/efimov2022/table1.csv",
    log:
        "<results>/logs/list_languages.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        model=CONFIG.efimov2022.model,
        protocols=PROTOCOLS,
        code=code("list_languages"),
    script:
        "../scripts/list_languages.py"


rule measure_transfer:
    """efimov2022 Tables 2 to 9: scores by condition, language and seed, with significance tests."""
    input:
        lambda wildcards: [cell["path"] for cell in transfer_cells(wildcards.artifact)],
    output:
        "<results>/measurements/efimov2022/{artifact}.csv",
    log:
        "<results>/logs/measure_transfer/{artifact}.log",
    wildcard_constraints:
        artifact=either(CONFIG.efimov2022.tables),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=lambda wildcards: [
            {**cell, "path": None} for cell in transfer_cells(wildcards.artifact)
        ],
        table=lambda wildcards: CONFIG.efimov2022.tables[wildcards.artifact].model_dump(
            include={"model", "against", "gains_over"}
        ),
        code=code("measure_transfer"),
    script:
        "../scripts/measure_transfer.py"


rule measure_distances:
    """efimov2022 Figures 1 and 2: how far apart related and unrelated pairs are."""
    input:
        lambda wildcards: distance_files(
            CONFIG.efimov2022.figures[wildcards.artifact].languages, "json"
        ),
    output:
        "<results>/measurements/efimov2022/{artifact}.csv",
    log:
        "<results>/logs/measure_distances/{artifact}.log",
    wildcard_constraints:
        artifact=either(CONFIG.efimov2022.figures),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        model=CONFIG.efimov2022.model,
        panels=lambda wildcards: list(CONFIG.efimov2022.figures[wildcards.artifact].panels),
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
