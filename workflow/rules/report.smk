# Needs: measurements. Makes: figures, tables, scorecard, claims with verdicts, a page per paper, costs, the index, and a
# target per artifact and paper. The collected report is `snakemake --report results/<run>/report.html`.


localrules:
    plot_transfer,
    lay_out_table,
    available,
    scorecard,
    judge_claims,
    cost,
    write_replication,
    write_index,
    write_alignment_scores,


ALIGNED = sorted(
    {
        *((run.specification["bitext"], run.language) for run in RUNS if run.kind == "adjustment"),
        *((item["bitext"], code) for item in DISTANCES.values() for code in item["panels"]),
    }
)
"""The bitexts and languages whose words are aligned."""


wildcard_constraints:
    scope="|highlights/|available/",


rule plot_transfer:
    """Scores by language, condition and seed, with the reported ones."""
    input:
        "<results>/measurements/{table}.csv",
    output:
        report(
            "<results>/figures/{table}.png",
            caption="../report/transfer.rst",
            category=paper_of,
            subcategory=lambda wildcards: headline(wildcards.table),
            labels={"language": "all", "protocol": "both", "kind": "figure"},
        ),
        "<results>/figures/{table}.svg",
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
        conditions=lambda wildcards: CONDITION_NAMES.get(wildcards.table, {}),
        order=lambda wildcards: condition_order(paper_of(wildcards)),
        code=code("plot_transfer"),
    script:
        "../scripts/plot_transfer.py"


rule lay_out_table:
    """One table as the paper has it, reported and reproduced, from its own measurements only."""
    input:
        measurements=lambda wildcards: TABLES[wildcards.table]["measurements"],
        facts=lambda wildcards: TABLES[wildcards.table].get("facts_from", []),
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
        conditions=lambda wildcards: CONDITION_NAMES.get(wildcards.table, {}),
        code=code("lay_out_table"),
    script:
        "../scripts/lay_out_table.py"


rule scorecard:
    """Reported against reproduced, cell by cell, with a verdict by a stated rule."""
    input:
        measurements=lambda wildcards: shown_measurements(wildcards.scope),
        reasons=lambda wildcards: made(NOT_RUN) or [] if wildcards.scope else [],
    output:
        csv="<results>/{scope}scorecard.csv",
        html=report(
            "<results>/{scope}scorecard.html",
            caption="../report/scorecard.rst",
            category="Scorecard",
            labels={"language": "all", "protocol": "both", "kind": "table"},
        ),
    log:
        "<results>/logs/{scope}scorecard.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        run=CONFIG.run,
        figures=lambda wildcards: shown_figures(wildcards.scope),
        comparable=CONFIG.comparable,
        reported=[reported_file(paper) for paper in ARTIFACTS],
        reported_content=[content(reported_file(paper)) for paper in ARTIFACTS],
        titles={paper: claims(paper).TITLE for paper in ARTIFACTS},
        contrasts={paper: list(map(list, claims(paper).CONTRASTS)) for paper in ARTIFACTS},
        names={language.code: language.name for language in LANGUAGES},
        conditions=CONDITION_NAMES,
        code=code("scorecard"),
    script:
        "../scripts/scorecard.py"


rule judge_claims:
    """Whether what the papers claim in words holds here, by a stated rule."""
    input:
        lambda wildcards: shown_measurements(wildcards.scope),
    output:
        "<results>/{scope}claims.csv",
    log:
        "<results>/logs/{scope}claims.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        claims=lambda wildcards: {paper: claims_file(paper) for paper in in_scope(wildcards.scope)},
        claims_content=lambda wildcards: [
            content(claims_file(paper)) for paper in in_scope(wildcards.scope)
        ],
        reported=[reported_file(paper) for paper in ARTIFACTS],
        reported_content=[content(reported_file(paper)) for paper in ARTIFACTS],
        code=code("judge_claims"),
    script:
        "../scripts/judge_claims.py"


rule cost:
    """Jobs, CPU hours and GPU hours by paper and stage, from the benchmark files."""
    input:
        lambda wildcards: shown_paths(wildcards.scope),
        lambda wildcards: shown_measurements(wildcards.scope),
    output:
        "<results>/{scope}cost.csv",
    log:
        "<results>/logs/{scope}cost.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        benchmarks=f"{RESULTS}/benchmarks",
        logs=f"{RESULTS}/logs",
        rules=lambda wildcards: stages(),
        papers=payers(),
        code=code("cost"),
    script:
        "../scripts/cost.py"


rule write_replication:
    """One paper's page: its claims with verdicts, figures, tables, deviations and cost, in one file."""
    input:
        shown=lambda wildcards: shown_paths(wildcards.scope, wildcards.paper),
        measurements=lambda wildcards: shown_measurements(wildcards.scope, wildcards.paper),
        claims="<results>/{scope}claims.csv",
        cost="<results>/{scope}cost.csv",
    output:
        "<results>/{scope}papers/{paper}.html",
    log:
        "<results>/logs/{scope}papers/{paper}.log",
    wildcard_constraints:
        paper=any_of(ARTIFACTS),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        run=CONFIG.run,
        comparable=CONFIG.comparable,
        world=CONFIG.world,
        title=lambda wildcards: claims(wildcards.paper).TITLE,
        contrasts=lambda wildcards: list(map(list, claims(wildcards.paper).CONTRASTS)),
        artifacts=lambda wildcards: in_scope(wildcards.scope)[wildcards.paper]["artifacts"],
        figures=lambda wildcards: shown_figures(wildcards.scope, wildcards.paper),
        reported=lambda wildcards: reported_file(wildcards.paper),
        reported_content=lambda wildcards: content(reported_file(wildcards.paper)),
        prose=lambda wildcards: at_home(f"docs/papers/{wildcards.paper}.md"),
        prose_content=lambda wildcards: content(at_home(f"docs/papers/{wildcards.paper}.md")),
        names={language.code: language.name for language in LANGUAGES},
        conditions=CONDITION_NAMES,
        code=code("write_replication"),
    script:
        "../scripts/write_replication.py"


rule write_index:
    """Where one starts: the claims of every paper at a glance, its figures, links to the rest."""
    input:
        lambda wildcards: shown_paths(wildcards.scope),
        claims="<results>/{scope}claims.csv",
        pages=lambda wildcards: [
            f"<results>/{wildcards.scope}papers/{paper}.html"
            for paper in in_scope(wildcards.scope)
        ],
        scorecard=lambda wildcards: (
            []
            if wildcards.scope == "highlights/"
            else f"<results>/{wildcards.scope}scorecard.html"
        ),
        alignment=lambda wildcards: (
            "<results>/alignment.html" if ALIGNED and not wildcards.scope else []
        ),
    output:
        "<results>/{scope}index.html",
    log:
        "<results>/logs/{scope}index.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        run=CONFIG.run,
        comparable=CONFIG.comparable,
        world=CONFIG.world,
        titles=lambda wildcards: {paper: claims(paper).TITLE for paper in in_scope(wildcards.scope)},
        figures=lambda wildcards: shown_figures(wildcards.scope),
        names={language.code: language.name for language in LANGUAGES},
        code=code("write_index"),
    script:
        "../scripts/write_index.py"


rule write_alignment_scores:
    """The alignment error rate (AER) of the word links against gold links."""
    input:
        [f"<results>/alignment/{bitext}/{language}.scores.json" for bitext, language in ALIGNED],
    output:
        report(
            "<results>/alignment.html",
            caption="../report/alignment.rst",
            category="Word alignment",
            labels={"language": "all", "protocol": "both", "kind": "table"},
        ),
    log:
        "<results>/logs/write_alignment_scores.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        pairs=[list(pair) for pair in ALIGNED],
        names={language.code: language.name for language in LANGUAGES},
        code=code("write_alignment_scores"),
    script:
        "../scripts/write_alignment_scores.py"


rule available:
    """Pages of what is there, after a run that could not be finished; runs nothing else."""
    input:
        "<results>/available/index.html",


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
