from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.scorecard.tables import write_alignment_page

    pairs = map(tuple, snakemake.params.pairs)
    scores = dict(zip(pairs, snakemake.input, strict=True))
    write_alignment_page(scores, snakemake.params.names, snakemake.output[0])
