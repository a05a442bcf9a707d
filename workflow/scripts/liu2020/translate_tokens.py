from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liu2020.token_translation import translate_tokens

    table = translate_tokens(
        Path(snakemake.input.encoder),
        Path(snakemake.input.sentences),
        Path(snakemake.input.means),
        source=snakemake.wildcards.source,
        target=snakemake.wildcards.target,
        layers=snakemake.params.layers,
        weights=snakemake.params.weights,
        shown=snakemake.params.shown,
    )
    write_parquet(table, snakemake.output[0])


run(main, snakemake)
