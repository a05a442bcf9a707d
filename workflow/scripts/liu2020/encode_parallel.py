from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.encoding.texts import encode_parallel
    from mbert_atlas.files import read_parquet

    encode_parallel(
        [read_parquet(path) for path in snakemake.input.tables],
        snakemake.params.languages,
        Path(snakemake.input.tokenizer),
        Path(snakemake.output[0]),
        **snakemake.params.sizes,
    )


run(main, snakemake)
