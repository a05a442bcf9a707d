from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.projection import project_sample

    project_sample(
        target=Path(snakemake.input.target),
        wikipedia=Path(snakemake.input.wikipedia),
        points=Path(snakemake.output[0]),
        clusters=None,
        seed=0,  # the authors' seed of all their samples
        perplexity=snakemake.params.perplexity,
        threads=snakemake.threads,
        **snakemake.params.sample,
    )


run(main, snakemake)
