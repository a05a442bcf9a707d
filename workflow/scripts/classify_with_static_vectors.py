from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.config.static_vectors import PairClassifier
    from mbert_atlas.static_vectors.classification import classify_with_static_vectors

    languages = snakemake.params.languages
    classify_with_static_vectors(
        PairClassifier(**snakemake.params.network),
        Path(snakemake.input.vectors),
        Path(snakemake.input.train),
        dict(zip(languages, map(Path, snakemake.input.evaluate), strict=True)),
        Path(snakemake.output[0]),
        seed=int(snakemake.wildcards.seed),
        languages=languages,
    )


run(main, snakemake)
