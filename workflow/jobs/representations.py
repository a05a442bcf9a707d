"""Jobs of the rules in `workflow/rules/representations.smk`."""

from pathlib import Path

from workflow.job import Snakemake, options_of


def extract_features(snakemake: Snakemake) -> None:
    from mbert_atlas.files import atomic_directory
    from mbert_atlas.representations.extraction import extract_features

    stores = snakemake.params.stores.items()
    with atomic_directory(snakemake.output[0]) as folder:
        for (name, options), store in zip(stores, snakemake.input.stores, strict=True):
            extract_features(
                encoder=Path(snakemake.input.model),
                store=Path(store),
                output=folder / name,
                pooling=snakemake.params.pooling,
                layers=snakemake.params.layers,
                **options,
            )


def collect_vectors(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.language_vectors import collect_vectors

    collect_vectors(
        encoder=Path(snakemake.input.encoder),
        store=Path(snakemake.input.store),
        output=Path(snakemake.output[0]),
        **options_of(snakemake),
    )


def find_directions(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.subspaces import find_directions

    find_directions(
        list(map(Path, snakemake.input)), Path(snakemake.output[0]), snakemake.params.languages
    )


def language_means(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.language_vectors import language_means

    language_means(
        Path(snakemake.input.encoder),
        Path(snakemake.input.store),
        Path(snakemake.output[0]),
        **options_of(snakemake),
    )


def word_pair_distances(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.distances import Panel, word_pair_distances

    params, folders = snakemake.params, map(Path, snakemake.input.models)
    word_pair_distances(
        panels=list(map(Panel, params.panels, params.protocols, folders)),
        store=Path(snakemake.input.pairs),
        output=Path(snakemake.output.distances),
        summary=Path(snakemake.output.summary),
        pairs=snakemake.params.pairs,
        seed=int(snakemake.wildcards.seed),
    )
