# Needs: everything that pages show. Makes: what it was made from (runs, data, encoders, code, cost), read from Snakemake's
# records of finished jobs; the same as an RO-Crate.


use rule job as trace_artifacts with:
    """Which runs, data and encoders are behind each table and figure, and what these cost; the whole config."""
    input:
        lambda wildcards: plan.made(wildcards.scope),
        lambda wildcards: plan.measured(wildcards.scope),
    output:
        record="<results>/{scope}provenance.json",
        config="<results>/{scope}config.yaml",
    log:
        "<results>/logs/{scope}provenance.log",
    localrule: True
    params:
        home=str(plan.home),
        stated=lambda wildcards: plan.provenance(workflow, wildcards.scope),
        job=plan.job("provenance:trace_artifacts"),


use rule job as write_crate with:
    """The results folder as a Workflow Run RO-Crate."""
    input:
        record="<results>/provenance.json",
        config="<results>/config.yaml",
        pages=[
            "<results>/index.html",
            "<results>/scorecard.html",
            "<results>/scorecard.csv",
            "<results>/claims.csv",
            "<results>/cost.csv",
            *(f"<results>/papers/{paper}.html" for paper in plan.papers),
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
        job=plan.job("provenance:write_crate"),
