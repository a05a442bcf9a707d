# Needs: predictions, vectors, analyses. Makes: measurements, figures and tables of papers' artifacts.py; their targets.


rule measure:
    """One measurement: a tidy CSV in the columns of resources/reported/*.csv plus protocol, seed, n; and resamples."""
    input:
        job(plan.inputs, kind="measurements"),
    output:
        "<results>/measurements/{name}.csv",
        "<results>/measurements/{name}.resamples.parquet",
    log:
        "<results>/logs/measure/{name}.log",
    wildcard_constraints:
        name=plan.any_of(plan.large_measurements(False)),
    localrule: True
    params:
        measured=job.measuring,
        code=job.measuring_code,
    script:
        "../scripts/measure.py"


# The same as a submitted job, for measurements that take minutes.
use rule measure as measure_large with:
    log:
        "<results>/logs/measure_large/{name}.log",
    benchmark:
        "<results>/benchmarks/measure_large/{name}.tsv"
    wildcard_constraints:
        name=plan.any_of(plan.large_measurements(True)),
    threads: lambda w: plan.measuring_request(w.name).threads
    resources:
        **plan.growing(job.measuring_request),


rule render_figure:
    """One figure, as its record says."""
    input:
        job(plan.inputs, kind="figures"),
    output:
        report(
            "<results>/figures/{name}.png",
            caption="../report/artifact.rst",
            category=job.paper_of,
            subcategory=job.headline,
            labels=job.labels,
        ),
        "<results>/figures/{name}.svg",
        "<results>/figures/{name}.caption.txt",
    log:
        "<results>/logs/render_figure/{name}.log",
    wildcard_constraints:
        name=plan.any_of(plan.figures),
    localrule: True
    params:
        drawn=job.drawing,
        reported=job.reported_beside,
        intervals=job.intervals_of,
        style=plan.config.figure_style and plan.with_content(plan.config.figure_style),
        title=lambda w: plan.artifact_of[w.name][1].title,
        caption=job.caption,
        code=job.drawing_code,
    script:
        "../scripts/render_figure.py"


rule write_library:
    """Script and style that make the tables of pages sort and filter: one copy per results folder."""
    output:
        script="<results>/assets/datatables.js",
        style="<results>/assets/datatables.css",
    log:
        "<results>/logs/write_library.log",
    localrule: True
    params:
        code=plan.code("write_library"),
    script:
        "../scripts/write_library.py"


rule render_table:
    """One table: reported and reproduced cells, from its measurements only."""
    input:
        measurements=job.table_measurements,
        facts=lambda w: plan.tables[w.name].facts_from or [],
        library=rules.write_library.output,
    output:
        html=report(
            "<results>/tables/{name}.html",
            caption="../report/table.rst",
            category=job.paper_of,
            subcategory=job.headline,
            labels={"language": "all", "protocol": "both", "kind": "table"},
        ),
        csv="<results>/tables/{name}.csv",
    log:
        "<results>/logs/render_table/{name}.log",
    wildcard_constraints:
        name=plan.any_of(plan.tables),
    localrule: True
    params:
        paper=job.paper_of,
        artifact=job.tables.name,
        title=lambda w: plan.papers[plan.paper_of(w.name)].title,
        compared=lambda w: plan.compared(plan.paper_of(w.name)),
        facts=job.tables.facts,
        setting=lambda w: plan.setting(plan.paper_of(w.name)),
        code=plan.code("render_table"),
    script:
        "../scripts/render_table.py"


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
