from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.encoders.aligned_start import start_embeddings

    start_embeddings(
        snakemake.input.bitexts, snakemake.input.tokenizer, snakemake.output[0], **options
    )
