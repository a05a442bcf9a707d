"""Jobs of the rules in `workflow/rules/liang2021.smk`."""

from pathlib import Path

from workflow.job import Snakemake


def probe_languages(snakemake: Snakemake) -> None:
    from mbert_atlas.corpora.typology import features_of
    from mbert_atlas.files import read_parquet, write_parquet
    from mbert_atlas.papers.liang2021.probes import probe_languages

    params = snakemake.params
    table = probe_languages(
        list(map(Path, snakemake.input.vectors)),
        Path(snakemake.input.directions),
        snakemake.wildcards.probe,
        probing=params.probing,
        seeds=params.seeds,
        features=features_of(read_parquet(snakemake.input.typology)),
        genera=params.genera,
    )
    write_parquet(table, snakemake.output[0])


def classify_in_subspaces(snakemake: Snakemake) -> None:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liang2021.classifiers import classify_in_subspaces

    params = snakemake.params
    scores = classify_in_subspaces(
        train=Path(snakemake.input.train) / "words",
        test=Path(snakemake.input.test) / "words",
        directions=Path(snakemake.input.directions),
        methods=params.methods,
        firsts=params.firsts,
        layer=params.layer,
        maximum_vectors=params.maximum_vectors,
        seeds=params.seeds,
    )
    write_parquet(scores, snakemake.output[0])
