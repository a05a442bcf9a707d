from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.corpora.typology import features_of
    from mbert_atlas.files import read_parquet, write_parquet
    from mbert_atlas.papers.liang2021.probes import probe_languages

    table = probe_languages(
        snakemake.input.vectors,
        snakemake.input.directions,
        snakemake.wildcards.probe,
        features=features_of(read_parquet(snakemake.input.typology)),
        **options,
    )
    write_parquet(table, snakemake.output[0])
