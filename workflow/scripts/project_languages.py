from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.projection import project_vectors

    project_vectors(
        vectors=Path(snakemake.input.vectors),
        examples=Path(snakemake.input.texts),
        points=Path(snakemake.output.points),
        clusters=Path(snakemake.output.clusters),
        seed=0,  # the authors' seed of all their samples
        per_group=snakemake.params.per_language,
        perplexity=snakemake.params.perplexity,
        threads=snakemake.threads,
    )


run(main, snakemake)
