from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.scorecard.cells import write_csv
    from mbert_atlas.scorecard.cost import collect_cost

    results = Path(snakemake.output[0].removesuffix(f"{snakemake.wildcards.scope}cost.csv"))
    root = results / "benchmarks"
    frame = collect_cost(
        sorted(root.rglob("*.tsv")),
        root=root,
        logs=results / "logs",
        rules=snakemake.params.rules,
        papers=snakemake.params.papers,
    )
    write_csv(frame, snakemake.output[0])
