# Needs: measurements. Makes: figures, tables, scorecard, costs, and a target per artifact and paper. The collected
# report is `snakemake --report results/<run>/report.html`.


localrules:
    plot_transfer,
    lay_out_table,
    scorecard,
    cost,


rule plot_transfer:
    """Scores by language, condition and seed, with the reported ones."""
    input:
        "<results>/measurements/{table}.csv",
    output:
        report(
            "<results>/figures/{table}.svg",
            caption="../report/transfer.rst",
            category=paper_of,
            subcategory=lambda wildcards: headline(wildcards.table),
            labels={"language": "all", "protocol": "both", "kind": "figure"},
        ),
        "<results>/figures/{table}.png",
    log:
        "<results>/logs/plot_transfer/{table}.log",
    wildcard_constraints:
        table=any_of(PLOTS),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        reported=reported,
        reported_content=lambda wildcards: content(reported(wildcards)),
        comparable=CONFIG.comparable,
        title=lambda wildcards: PLOTS[wildcards.table],
        names={language.code: language.name for language in LANGUAGES},
        code=code("plot_transfer"),
    script:
        "../scripts/plot_transfer.py"


rule lay_out_table:
    """One table as the paper has it, reported and reproduced, from its own measurements only."""
    input:
        lambda wildcards: TABLES[wildcards.table]["measurements"],
    output:
        html=report(
            "<results>/tables/{table}.html",
            caption="../report/table.rst",
            category=paper_of,
            subcategory=lambda wildcards: headline(wildcards.table),
            labels={"language": "all", "protocol": "both", "kind": "table"},
        ),
        csv="<results>/tables/{table}.csv",
    log:
        "<results>/logs/lay_out_table/{table}.log",
    wildcard_constraints:
        table=any_of(TABLES),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        reported=reported,
        reported_content=lambda wildcards: content(reported(wildcards)),
        comparable=CONFIG.comparable,
        names={language.code: language.name for language in LANGUAGES},
        paper=lambda wildcards: claims(paper_of(wildcards)).TITLE,
        contrasts=lambda wildcards: list(map(list, claims(paper_of(wildcards)).CONTRASTS)),
        facts=lambda wildcards: TABLES[wildcards.table].get("facts", []),
        code=code("lay_out_table"),
    script:
        "../scripts/lay_out_table.py"


rule scorecard:
    """Reported against reproduced, cell by cell, with a verdict by a stated rule."""
    input:
        [path for paper in ARTIFACTS for path in MEASUREMENTS[paper]],
    output:
        csv="<results>/scorecard.csv",
        html=report(
            "<results>/scorecard.html",
            caption="../report/scorecard.rst",
            category="Scorecard",
            labels={"language": "all", "protocol": "both", "kind": "table"},
        ),
    log:
        "<results>/logs/scorecard.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        run=CONFIG.run,
        figures=[
            {"paper": paper, "artifact": artifact, "path": path.replace("<results>", RESULTS)}
            for paper in ARTIFACTS
            for artifact, paths in ARTIFACTS[paper].items()
            for path in paths
            if path.endswith(".svg")
        ],
        comparable=CONFIG.comparable,
        reported=[f"resources/reported/{paper}.csv" for paper in ARTIFACTS],
        reported_content=[content(f"resources/reported/{paper}.csv") for paper in ARTIFACTS],
        titles={paper: claims(paper).TITLE for paper in ARTIFACTS},
        contrasts={paper: list(map(list, claims(paper).CONTRASTS)) for paper in ARTIFACTS},
        names={language.code: language.name for language in LANGUAGES},
        code=code("scorecard"),
    script:
        "../scripts/scorecard.py"


rule cost:
    """Jobs, CPU hours and GPU hours by paper and stage, from the benchmark files."""
    input:
        figures=[path for paper in ARTIFACTS for path in artifacts(paper)],
        scorecard="<results>/scorecard.csv",
    output:
        "<results>/cost.csv",
    log:
        "<results>/logs/cost.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        benchmarks=f"{RESULTS}/benchmarks",
        logs=f"{RESULTS}/logs",
        rules=lambda wildcards: {
            item.name: (
                {"stage": "analysis", "paper": Path(item.snakefile).stem}
                if Path(item.snakefile).stem in ARTIFACTS
                else {"stage": Path(item.snakefile).stem}
            )
            for item in workflow.rules
            if item.benchmark
        },
        papers={
            **{paper: paper for paper in ARTIFACTS},
            **{
                f"{name}.{protocol}": family.paper
                for name, family in CONFIG.runs.items()
                for protocol in PROTOCOLS
            },
            **{run.id: run.paper for run in RUNS},
        },
        code=code("cost"),
    script:
        "../scripts/cost.py"


for paper in ARTIFACTS:
    for artifact, files in ARTIFACTS[paper].items():

        rule:
            name:
                f"{paper}_{artifact}"
            input:
                files,

    rule:
        name:
            paper
        input:
            artifacts(paper),
