from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.scorecard.cost import RuleCost, collect_cost, write_cost

    root = Path(snakemake.params.benchmarks)
    frame = collect_cost(
        sorted(root.rglob("*.tsv")),
        root=root,
        logs=Path(snakemake.params.logs),
        rules={rule: RuleCost(**item) for rule, item in snakemake.params.rules.items()},
        papers=snakemake.params.papers,
    )
    write_cost(frame, snakemake.output[0])


run(main, snakemake)
