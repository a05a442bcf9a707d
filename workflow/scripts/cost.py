from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.cells import write_csv
    from mbert_atlas.scorecard.cost import collect_cost

    root = Path(snakemake.params.benchmarks)
    frame = collect_cost(
        sorted(root.rglob("*.tsv")),
        root=root,
        logs=Path(snakemake.params.logs),
        rules=snakemake.params.rules,
        papers=snakemake.params.papers,
    )
    write_csv(frame, snakemake.output[0])


run(main, snakemake)
