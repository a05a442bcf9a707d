# Needs: predictions, vectors, results of analyses. Makes: every measurement, figure and table that a paper declares in
# mbert_atlas/papers/<paper>/artifacts.py, and a target per paper and artifact. CPU only.


use rule job as measure with:
    """One measurement: a tidy CSV in the columns of resources/reported/*.csv plus protocol, seed, n; and resamples."""
    input:
        lambda wildcards: plan.inputs("measurements", wildcards.measurement),
    output:
        "<results>/measurements/{measurement}.csv",
        "<results>/measurements/{measurement}.resamples.parquet",
    log:
        "<results>/logs/measure/{measurement}.log",
    wildcard_constraints:
        measurement=plan.any_of(plan.large_measurements(False)),
    localrule: True
    params:
        measure=lambda wildcards: plan.measurements[wildcards.measurement].measure,
        cells=lambda wildcards: plan.values("measurements", wildcards.measurement),
        options=lambda wildcards: plan.measurements[wildcards.measurement].options(),
        columns=lambda wildcards: plan.columns(wildcards.measurement),
        job=lambda wildcards: plan.measure_job(wildcards.measurement),


# The same as a submitted job, for measurements that take minutes.
use rule measure as measure_large with:
    log:
        "<results>/logs/measure_large/{measurement}.log",
    benchmark:
        "<results>/benchmarks/measure_large/{measurement}.tsv"
    wildcard_constraints:
        measurement=plan.any_of(plan.large_measurements(True)),
    threads: lambda wildcards: plan.measurement_request(wildcards.measurement).threads
    resources:
        **plan.growing(lambda wildcards: plan.measurement_request(wildcards.measurement)),


use rule job as render_figure with:
    """One figure, as its record says."""
    input:
        lambda wildcards: plan.inputs("figures", wildcards.figure),
    output:
        report(
            "<results>/figures/{figure}.png",
            caption="../report/artifact.rst",
            category=lambda wildcards: plan.artifact_of[wildcards.figure][0],
            subcategory=lambda wildcards: plan.headline(wildcards.figure),
            labels=lambda wildcards: plan.labels(wildcards.figure),
        ),
        "<results>/figures/{figure}.svg",
        "<results>/figures/{figure}.caption.txt",
    log:
        "<results>/logs/render_figure/{figure}.log",
    wildcard_constraints:
        figure=plan.any_of(plan.figures),
    localrule: True
    params:
        draw=lambda wildcards: plan.figures[wildcards.figure].draw,
        cells=lambda wildcards: plan.values("figures", wildcards.figure),
        options=lambda wildcards: plan.figures[wildcards.figure].options(),
        reported=lambda wildcards: plan.reported_beside(wildcards.figure),
        intervals=lambda wildcards: plan.intervals_of(wildcards.figure),
        style=plan.config.figure_style and plan.with_content(plan.config.figure_style),
        title=lambda wildcards: plan.artifact_of[wildcards.figure][1].title,
        caption=lambda wildcards: plan.caption(wildcards.figure),
        job=lambda wildcards: plan.job(
            "artifacts:render_figure", plan.figures[wildcards.figure].draw
        ),


use rule job as write_library with:
    """Script and style that make the tables of pages sort and filter: one copy per results folder."""
    output:
        script="<results>/assets/datatables.js",
        style="<results>/assets/datatables.css",
    log:
        "<results>/logs/write_library.log",
    localrule: True
    params:
        job=plan.job("report:write_library"),


use rule job as render_table with:
    """One table: reported and reproduced cells, from its measurements only."""
    input:
        measurements=lambda wildcards: plan.table_measurements(wildcards.table),
        facts=lambda wildcards: plan.tables[wildcards.table].facts_from or [],
        library=rules.write_library.output,
    output:
        html=report(
            "<results>/tables/{table}.html",
            caption="../report/table.rst",
            category=lambda wildcards: plan.artifact_of[wildcards.table][0],
            subcategory=lambda wildcards: plan.headline(wildcards.table),
            labels={"language": "all", "protocol": "both", "kind": "table"},
        ),
        csv="<results>/tables/{table}.csv",
    log:
        "<results>/logs/render_table/{table}.log",
    wildcard_constraints:
        table=plan.any_of(plan.tables),
    localrule: True
    params:
        paper=lambda wildcards: plan.artifact_of[wildcards.table][0],
        artifact=lambda wildcards: plan.tables[wildcards.table].name,
        title=lambda wildcards: plan.papers[plan.artifact_of[wildcards.table][0]].title,
        contrasts=lambda wildcards: plan.contrasts(plan.artifact_of[wildcards.table][0]),
        not_reproducible=plan.with_content("resources/not_reproducible.csv"),
        facts=lambda wildcards: list(plan.tables[wildcards.table].facts),
        reported=lambda wildcards: plan.reported(plan.artifact_of[wildcards.table][0]),
        setting=lambda wildcards: plan.setting(plan.artifact_of[wildcards.table][0]),
        job=plan.job("artifacts:render_table"),


for paper in plan.papers:
    for artifact in plan.papers[paper].artifacts:

        rule:
            name:
                f"{paper}_{artifact.name}"
            input:
                plan.targets(paper, artifact),

    rule:
        name:
            paper
        input:
            plan.made("", paper),
