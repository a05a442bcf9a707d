from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.projection import draw_points

    features = Path(snakemake.input[0])
    draw_points(
        features / "target",
        features / "wikipedia",
        Path(snakemake.output[0]),
        **snakemake.params.sample,
    )


run(main, snakemake)
