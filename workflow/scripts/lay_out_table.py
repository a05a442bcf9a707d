from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.files import read_json
    from mbert_atlas.scorecard.compare import compare
    from mbert_atlas.scorecard.rules import Contrast
    from mbert_atlas.scorecard.tables import artifact_name, write_tables

    paper, _, artifact = snakemake.wildcards.table.partition("/")
    facts = snakemake.params.facts
    if snakemake.input.facts:
        facts = read_json(Path(snakemake.input.facts))
    contrasts = [Contrast(*contrast) for contrast in snakemake.params.contrasts]
    frame = compare(
        list(map(Path, snakemake.input.measurements)),
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
        facts=facts,
        conditions=snakemake.params.conditions,
    )


run(main, snakemake)
