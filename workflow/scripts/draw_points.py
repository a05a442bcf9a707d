from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.projection import draw_points

    features = Path(snakemake.input[0])
    draw_points(
        features / "target",
        features / "wikipedia",
        Path(snakemake.output[0]),
        **snakemake.params.sample,
    )
