# Needs: measurements, figures, tables. Makes: pages. The collected report is `snakemake --report results/<run>/report.html`.


rule scorecard:
    """Reported against reproduced, cell by cell, with a verdict by a stated rule."""
    input:
        measurements=job.measured,
        reasons=lambda w: w.scope and plan.existing(plan.not_run) or [],
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
        figures=job.drawn,
        compared=plan.compared(*plan.papers),
        titles={it: plan.papers[it].title for it in plan.papers},
        citation=plan.with_content("CITATION.cff"),
        code=plan.code("scorecard"),
    script:
        "../scripts/scorecard.py"


rule judge_claims:
    """Whether the claims in the papers' texts hold here, by the rule in docs/verdicts.md."""
    input:
        measurements=job.measured,
        resamples=job(plan.measured, kind="resamples"),
    output:
        "<results>/{scope}claims.csv",
    log:
        "<results>/logs/{scope}claims.log",
    localrule: True
    params:
        claims=lambda w: plan.claims(*plan.papers_shown(w.scope)),
        reported=plan.reported(*plan.papers),
        languages=sorted(plan.language_names()),
        comparable=plan.config.comparable,
        code=plan.code("judge_claims"),
    script:
        "../scripts/judge_claims.py"


rule cost:
    """Jobs, CPU hours and GPU hours by paper and stage, from the benchmark files."""
    input:
        job.made,
        job.measured,
    output:
        "<results>/{scope}cost.csv",
    log:
        "<results>/logs/{scope}cost.log",
    localrule: True
    params:
        rules=lambda w: plan.stages(workflow.rules),
        papers=plan.charged(),
        code=plan.code("cost"),
    script:
        "../scripts/cost.py"


rule write_replication:
    """One paper's page: its claims with verdicts, figures, tables, deviations and cost, in one file."""
    input:
        shown=job.made,
        measurements=job.measured,
        claims="<results>/{scope}claims.csv",
        cost="<results>/{scope}cost.csv",
        provenance="<results>/{scope}provenance.json",
        cards="<results>/{scope}encoders.card.json",
    output:
        "<results>/{scope}papers/{paper}.html",
    log:
        "<results>/logs/{scope}papers/{paper}.log",
    localrule: True
    params:
        setting=plan.setting(),
        title=lambda w: plan.papers[w.paper].title,
        compared=lambda w: plan.compared(w.paper),
        artifacts=lambda w: [it.name for _, it in plan.shown(w.scope, w.paper)],
        figures=job.drawn,
        prose=lambda w: plan.with_content(f"docs/papers/{w.paper}.md"),
        citation=plan.with_content("CITATION.cff"),
        code=plan.code("write_replication"),
    script:
        "../scripts/write_replication.py"


rule write_index:
    """The page to start from: what was run and found, by paper, with links to the rest; all claims in one table."""
    input:
        job.made,
        claims="<results>/{scope}claims.csv",
        provenance="<results>/{scope}provenance.json",
        pages=lambda w: [f"<results>/{w.scope}papers/{p}.html" for p in plan.papers_shown(w.scope)],
        scorecard=lambda w: "<results>/{scope}scorecard.html" if w.scope != "highlights/" else [],
        alignment=lambda w: "<results>/alignment.html" if plan.aligned() and not w.scope else [],
        cost="<results>/{scope}cost.csv",
        library=rules.write_library.output,
    output:
        index="<results>/{scope}index.html",
        claims="<results>/{scope}claims.html",
        training="<results>/{scope}training.html",
    log:
        "<results>/logs/{scope}index.log",
    localrule: True
    params:
        setting=plan.setting(),
        titles=lambda w: {it: plan.papers[it].title for it in plan.papers_shown(w.scope)},
        figures=job.drawn,
        citation=plan.with_content("CITATION.cff"),
        code=plan.code("write_index"),
    script:
        "../scripts/write_index.py"


rule write_alignment_scores:
    """The alignment error rate (AER) of the word links against gold links."""
    input:
        [f"<results>/alignment/{it}/{code}{by}.scores.json" for it, code, by in plan.aligned()],
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
        code=plan.code("write_alignment_scores"),
    script:
        "../scripts/write_alignment_scores.py"
