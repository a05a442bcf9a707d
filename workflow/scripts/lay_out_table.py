from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.scorecard.compare import compare
    from mbert_atlas.scorecard.tables import write_tables

    frame = compare(
        list(map(Path, snakemake.input)),
        [Path(snakemake.params.reported)],
        comparable=snakemake.params.comparable,
    )
    write_tables(
        frame,
        snakemake.wildcards.paper,
        snakemake.wildcards.artifact,
        csv_path=Path(snakemake.output.csv),
        html_path=Path(snakemake.output.html),
        names=snakemake.params.names,
        comparable=snakemake.params.comparable,
        facts=snakemake.params.facts,
    )


run(main, snakemake)
