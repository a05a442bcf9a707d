from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
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


run(main, snakemake)
