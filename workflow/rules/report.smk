# Needs: measurements, figures, tables. Makes: scorecard, verdicts on claims, a page per paper, costs, the index. The
# collected report is `snakemake --report results/<run>/report.html`.


use rule job as scorecard with:
    """Reported against reproduced, cell by cell, with a verdict by a stated rule."""
    input:
        measurements=lambda wildcards: plan.measured(wildcards.scope),
        reasons=lambda wildcards: wildcards.scope and plan.existing(plan.not_run) or [],
        library=rules.write_library.output,
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
    localrule: True
    params:
        setting=plan.setting(),
        figures=lambda wildcards: plan.drawn(wildcards.scope),
        reported=plan.reported(*plan.papers),
        titles={paper: plan.papers[paper].title for paper in plan.papers},
        contrasts=plan.contrasts(*plan.papers),
        not_reproducible=plan.with_content("resources/not_reproducible.csv"),
        citation=plan.with_content("CITATION.cff"),
        job=plan.job("report:scorecard"),


use rule job as judge_claims with:
    """Whether the claims in the papers' texts hold here, by the rule in docs/verdicts.md."""
    input:
        measurements=lambda wildcards: plan.measured(wildcards.scope),
        resamples=lambda wildcards: plan.measured(wildcards.scope, kind="resamples"),
    output:
        "<results>/{scope}claims.csv",
    log:
        "<results>/logs/{scope}claims.log",
    localrule: True
    params:
        claims=lambda wildcards: {
            paper: plan.with_content(f"mbert_atlas/papers/{paper}/claims.yaml")
            for paper in plan.papers_shown(wildcards.scope)
        },
        reported=plan.reported(*plan.papers),
        languages=sorted(plan.language_names()),
        comparable=plan.config.comparable,
        job=plan.job("report:judge_claims"),


use rule job as cost with:
    """Jobs, CPU hours and GPU hours by paper and stage, from the benchmark files."""
    input:
        lambda wildcards: plan.made(wildcards.scope),
        lambda wildcards: plan.measured(wildcards.scope),
    output:
        "<results>/{scope}cost.csv",
    log:
        "<results>/logs/{scope}cost.log",
    localrule: True
    params:
        benchmarks=f"{plan.results}/benchmarks",
        logs=f"{plan.results}/logs",
        rules=lambda wildcards: plan.stages(workflow.rules),
        papers=plan.charged(),
        job=plan.job("report:cost"),


use rule job as write_replication with:
    """One paper's page: its claims with verdicts, figures, tables, deviations and cost, in one file."""
    input:
        shown=lambda wildcards: plan.made(wildcards.scope, wildcards.paper),
        measurements=lambda wildcards: plan.measured(wildcards.scope, wildcards.paper),
        claims="<results>/{scope}claims.csv",
        cost="<results>/{scope}cost.csv",
        provenance="<results>/{scope}provenance.json",
    output:
        "<results>/{scope}papers/{paper}.html",
    log:
        "<results>/logs/{scope}papers/{paper}.log",
    wildcard_constraints:
        paper=plan.any_of(plan.papers),
    localrule: True
    params:
        setting=plan.setting(),
        title=lambda wildcards: plan.papers[wildcards.paper].title,
        contrasts=lambda wildcards: plan.contrasts(wildcards.paper),
        not_reproducible=plan.with_content("resources/not_reproducible.csv"),
        artifacts=lambda wildcards: [
            artifact.name for _, artifact in plan.shown(wildcards.scope, wildcards.paper)
        ],
        figures=lambda wildcards: plan.drawn(wildcards.scope, wildcards.paper),
        reported=lambda wildcards: plan.reported(wildcards.paper),
        prose=lambda wildcards: plan.with_content(f"docs/papers/{wildcards.paper}.md"),
        citation=plan.with_content("CITATION.cff"),
        job=plan.job("report:write_replication"),


use rule job as write_index with:
    """The page to start from: what was run and found, by paper, with links to the rest; all claims in one table."""
    input:
        lambda wildcards: plan.made(wildcards.scope),
        claims="<results>/{scope}claims.csv",
        provenance="<results>/{scope}provenance.json",
        pages=lambda wildcards: [
            f"<results>/{wildcards.scope}papers/{paper}.html"
            for paper in plan.papers_shown(wildcards.scope)
        ],
        scorecard=lambda wildcards: (
            []
            if wildcards.scope == "highlights/"
            else f"<results>/{wildcards.scope}scorecard.html"
        ),
        alignment=lambda wildcards: (
            "<results>/alignment.html" if plan.aligned() and not wildcards.scope else []
        ),
        cost="<results>/{scope}cost.csv",
        library=rules.write_library.output,
    output:
        index="<results>/{scope}index.html",
        claims="<results>/{scope}claims.html",
    log:
        "<results>/logs/{scope}index.log",
    localrule: True
    params:
        setting=plan.setting(),
        titles=lambda wildcards: {
            paper: plan.papers[paper].title for paper in plan.papers_shown(wildcards.scope)
        },
        figures=lambda wildcards: plan.drawn(wildcards.scope),
        citation=plan.with_content("CITATION.cff"),
        job=plan.job("report:write_index"),


use rule job as write_alignment_scores with:
    """The alignment error rate (AER) of the word links against gold links."""
    input:
        [
            f"<results>/alignment/{bitext}/{language}{aligner}.scores.json"
            for bitext, language, aligner in plan.aligned()
        ],
    output:
        report(
            "<results>/alignment.html",
            caption="../report/alignment.rst",
            category="Word alignment",
            labels={"language": "all", "protocol": "both", "kind": "table"},
        ),
    log:
        "<results>/logs/write_alignment_scores.log",
    localrule: True
    params:
        pairs=[list(pair) for pair in plan.aligned()],
        names=plan.language_names(),
        job=plan.job("report:write_alignment_scores"),


rule available:
    """Pages of the results that exist, after a run that could not be finished; runs nothing else."""
    input:
        "<results>/available/index.html",
