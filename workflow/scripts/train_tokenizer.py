from itertools import chain, islice

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.corpora.plain_text import texts_by_language

    pretraining = snakemake.params.pretraining
    most = pretraining["texts_per_language"]
    by_language = texts_by_language(snakemake.input.texts).values()
    texts = chain.from_iterable(islice(texts, most) for texts in by_language)
    where, size = snakemake.output[0], pretraining["vocabulary_size"]
    if pretraining["architecture"] == "bert":
        from mbert_atlas.encoders.wordpiece import train_wordpiece

        train_wordpiece(texts, where, size, limit_alphabet=pretraining["alphabet_size"])
    else:
        from mbert_atlas.encoders.unigram import train_unigram

        train_unigram(texts, where, size)
