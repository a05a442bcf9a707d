from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.projection import project_sample

    project_sample(
        target=Path(snakemake.input.target),
        wikipedia=Path(snakemake.input.wikipedia),
        points=None,
        clusters=Path(snakemake.output[0]),
        seed=0,  # the authors' seed of all their samples
        language_clusters=snakemake.params.language_clusters,
        **snakemake.params.sample,
    )


run(main, snakemake)
