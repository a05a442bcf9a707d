from itertools import chain

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.config.training import Extension
    from mbert_atlas.corpora.plain_text import texts_by_language
    from mbert_atlas.encoders.extension import extend_vocabulary

    extend_vocabulary(
        Extension(**snakemake.params.extension),
        snakemake.input.encoder,
        chain.from_iterable(texts_by_language(snakemake.input.texts).values()),
        snakemake.output[0],
        seed=snakemake.params.seed,
    )
