"""Jobs of the rules in `workflow/rules/static_vectors.smk`."""

from pathlib import Path

from workflow.job import Snakemake


def train_static_vectors(snakemake: Snakemake) -> None:
    from mbert_atlas.config.static_vectors import StaticVectors
    from mbert_atlas.static_vectors.training import train_static_vectors

    train_static_vectors(
        StaticVectors(**snakemake.params.vectors),
        Path(snakemake.input.tokenizer),
        Path(snakemake.input.tokens),
        Path(snakemake.output[0]),
        threads=snakemake.threads,
    )


def classify_with_static_vectors(snakemake: Snakemake) -> None:
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
