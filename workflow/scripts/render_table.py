from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.files import read_json
    from mbert_atlas.scorecard.compare import compare
    from mbert_atlas.scorecard.rules import Contrast
    from mbert_atlas.scorecard.tables import write_tables
    from mbert_atlas.scorecard.templates import Labels, artifact_name

    params = snakemake.params
    contrasts = [Contrast(*contrast) for contrast in params.contrasts]
    frame = compare(
        list(map(Path, snakemake.input.measurements)),
        [Path(params.reported["path"])],
        contrasts={params.paper: contrasts},
        comparable=params.comparable,
    )
    write_tables(
        frame[(frame["paper"] == params.paper) & (frame["artifact"] == params.artifact)],
        title=f"{artifact_name(params.artifact)} of {params.title}",
        labels=Labels(params.names, contrasts, params.conditions),
        csv_path=Path(snakemake.output.csv),
        html_path=Path(snakemake.output.html),
        comparable=params.comparable,
        facts=read_json(Path(snakemake.input.facts)) if snakemake.input.facts else params.facts,
    )


run(main, snakemake)
