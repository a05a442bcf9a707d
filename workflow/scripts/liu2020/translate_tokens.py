from pathlib import Path

from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liu2020.token_translation import translate_tokens

    table = translate_tokens(
        Path(snakemake.input.encoder),
        Path(snakemake.input.sentences),
        Path(snakemake.input.means),
        source=snakemake.wildcards.source,
        target=snakemake.wildcards.target,
        head=Path(snakemake.input.head) if snakemake.input.head else None,
        **options,
    )
    write_parquet(table, snakemake.output[0])
