from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.encoders.aligned_start import start_embeddings

    params = snakemake.params
    start_embeddings(
        [Path(path) for path in snakemake.input.bitexts],
        snakemake.input.tokenizer,
        Path(snakemake.output[0]),
        dims=params.dims,
        deviation=params.deviation,
        pairs=params.pairs,
        seed=params.seed,
    )


run(main, snakemake)
