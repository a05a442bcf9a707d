"""Jobs of the rules in `workflow/rules/liang2021.smk`."""

from pathlib import Path

from workflow.job import Snakemake, options_of


def probe_languages(snakemake: Snakemake) -> None:
    from mbert_atlas.corpora.typology import features_of
    from mbert_atlas.files import read_parquet, write_parquet
    from mbert_atlas.papers.liang2021.probes import probe_languages

    table = probe_languages(
        list(map(Path, snakemake.input.vectors)),
        Path(snakemake.input.directions),
        snakemake.wildcards.probe,
        features=features_of(read_parquet(snakemake.input.typology)),
        **options_of(snakemake),
    )
    write_parquet(table, snakemake.output[0])


def classify_in_subspaces(snakemake: Snakemake) -> None:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liang2021.classifiers import classify_in_subspaces

    scores = classify_in_subspaces(
        train=Path(snakemake.input.train) / "words",
        test=Path(snakemake.input.test) / "words",
        directions=Path(snakemake.input.directions),
        **options_of(snakemake),
    )
    write_parquet(scores, snakemake.output[0])
