from pathlib import Path

import pandas as pd

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.compare import compare
    from mbert_atlas.scorecard.pages import write_replication
    from mbert_atlas.scorecard.rules import Contrast
    from mbert_atlas.scorecard.templates import Setting, figure_links
    from mbert_atlas.scorecard.verdicts import read_verdicts

    params, paper = snakemake.params, snakemake.wildcards.paper
    contrasts = [Contrast(*contrast) for contrast in params.contrasts]
    frame = compare(
        list(map(Path, snakemake.input.measurements)),
        [Path(params.reported["path"])],
        contrasts={paper: contrasts},
        comparable=params.comparable,
    )
    write_replication(
        read_verdicts(snakemake.input.claims),
        Path(snakemake.output[0]),
        paper=paper,
        title=params.title,
        setting=Setting(
            params.run, params.comparable, params.world, params.names, params.conditions
        ),
        scorecard=frame[frame["paper"] == paper],
        contrasts=contrasts,
        artifacts=params.artifacts,
        figures=figure_links(params.figures, params.names),
        prose=Path(params.prose["path"]).read_text(encoding="utf-8"),
        cost=pd.read_csv(snakemake.input.cost),
    )


run(main, snakemake)
