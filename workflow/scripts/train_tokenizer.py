from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.encoders.pretraining import sample_texts
    from mbert_atlas.encoders.wordpiece import train_wordpiece

    pretraining = snakemake.params.pretraining
    texts = sample_texts(map(Path, snakemake.input.texts), pretraining["texts_per_language"])
    train_wordpiece(texts, Path(snakemake.output[0]), pretraining["vocabulary_size"])


run(main, snakemake)
