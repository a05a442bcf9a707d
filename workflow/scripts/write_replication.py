from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    import pandas as pd

    from mbert_atlas.scorecard.pages import write_replication
    from mbert_atlas.scorecard.templates import figure_links
    from mbert_atlas.scorecard.verdicts import read_verdicts
    from workflow.pages import compared, setting_of

    params, paper = snakemake.params, snakemake.wildcards.paper
    setting = setting_of(snakemake)
    frame, contrasts = compared(snakemake)
    write_replication(
        read_verdicts(snakemake.input.claims),
        snakemake.output[0],
        paper=paper,
        title=params.title,
        setting=setting,
        scorecard=frame[frame["paper"] == paper],
        contrasts=contrasts[paper],
        artifacts=params.artifacts,
        figures=figure_links(params.figures, setting.names),
        prose=Path(params.prose["path"]).read_text(encoding="utf-8"),
        cost=pd.read_csv(snakemake.input.cost),
        cards=snakemake.input.cards,
    )
