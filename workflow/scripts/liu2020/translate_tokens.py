from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liu2020.token_translation import translate_tokens

    table = translate_tokens(
        snakemake.input.encoder,
        snakemake.input.sentences,
        snakemake.input.means,
        source=snakemake.wildcards.source,
        target=snakemake.wildcards.target,
        head=snakemake.input.head or None,
        **options,
    )
    write_parquet(table, snakemake.output[0])
