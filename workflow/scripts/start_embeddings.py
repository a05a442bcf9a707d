from pathlib import Path

from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.encoders.aligned_start import start_embeddings

    start_embeddings(
        [Path(path) for path in snakemake.input.bitexts],
        snakemake.input.tokenizer,
        Path(snakemake.output[0]),
        **options,
    )
