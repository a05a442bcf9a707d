from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.scorecard.compare import compare
    from mbert_atlas.scorecard.rules import Contrast
    from mbert_atlas.scorecard.tables import artifact_name, write_tables

    paper, _, artifact = snakemake.wildcards.table.partition("/")
    contrasts = [Contrast(*contrast) for contrast in snakemake.params.contrasts]
    frame = compare(
        list(map(Path, snakemake.input)),
        [Path(snakemake.params.reported)],
        contrasts={paper: contrasts},
        comparable=snakemake.params.comparable,
    )
    write_tables(
        frame[(frame["paper"] == paper) & (frame["artifact"] == artifact)],
        title=f"{artifact_name(artifact)} of {snakemake.params.paper}",
        contrasts=contrasts,
        csv_path=Path(snakemake.output.csv),
        html_path=Path(snakemake.output.html),
        names=snakemake.params.names,
        comparable=snakemake.params.comparable,
        facts=snakemake.params.facts,
    )


run(main, snakemake)
