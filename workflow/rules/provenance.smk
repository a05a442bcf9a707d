# Needs: everything that pages show. Makes: what it was made from, by Snakemake's records of jobs; an RO-Crate of it.


rule trace_artifacts:
    """Which runs, data and encoders are behind each table and figure, and what these cost; the whole config."""
    input:
        job.made,
        job.measured,
    output:
        record="<results>/{scope}provenance.json",
        config="<results>/{scope}config.yaml",
        cards="<results>/{scope}encoders.card.json",
    log:
        "<results>/logs/{scope}provenance.log",
    localrule: True
    params:
        home=str(plan.home),
        stated=job(plan.provenance, workflow=workflow),
        # With `threads`, no reason to rerun: a dry run on a cluster has the command of a local start.
        command=lambda w, threads: plan.command(workflow),
        code=plan.code("trace_artifacts"),
    script:
        "../scripts/trace_artifacts.py"


rule write_crate:
    """The results folder as a Workflow Run RO-Crate."""
    input:
        record="<results>/provenance.json",
        config="<results>/config.yaml",
        pages=[
            *expand("<results>/{page}", page=["index.html", "scorecard.html", "scorecard.csv"]),
            *expand("<results>/{page}", page=["claims.csv", "cost.csv", "training.html"]),
            *expand("<results>/papers/{paper}.html", paper=plan.papers),
        ],
    output:
        metadata="<results>/ro-crate-metadata.json",
        workflow="<results>/workflow.smk",
    log:
        "<results>/logs/write_crate.log",
    localrule: True
    params:
        snakefile=plan.with_content("Snakefile"),
        citation=plan.with_content("CITATION.cff"),
        code=plan.code("write_crate"),
    script:
        "../scripts/write_crate.py"
