from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.scorecard.cells import write_csv
    from mbert_atlas.scorecard.cost import collect_cost

    folder = snakemake.output[0].parent
    results = folder.parent if snakemake.wildcards.scope else folder
    root = results / "benchmarks"
    frame = collect_cost(
        sorted(root.rglob("*.tsv")),
        root=root,
        logs=results / "logs",
        rules=snakemake.params.rules,
        papers=snakemake.params.papers,
    )
    write_csv(frame, snakemake.output[0])
