from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.alignment.pieces import piece_bitext

    piece_bitext(snakemake.input.bitext, snakemake.input.tokenizer, snakemake.output[0])


run(main, snakemake)
