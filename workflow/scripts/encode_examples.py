from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas import tasks
    from mbert_atlas.corpora.nli import LABELS
    from mbert_atlas.corpora.universal_dependencies import UPOS
    from mbert_atlas.files import read_parquet

    encoding = dict(snakemake.params.encoding)
    task = encoding.pop("task")
    labels = {
        "inference": LABELS,
        "tagging": sorted(UPOS),
        "language_identification": sorted(snakemake.params.languages),
    }
    if task != "inference":
        del encoding["segment_ids"]
    if task != "tagging":
        del encoding["labelled_pieces"]
    tasks.get(task).encode(
        read_parquet(snakemake.input.table),
        Path(snakemake.input.tokenizer),
        Path(snakemake.output[0]),
        labels=labels[task],
        origin=snakemake.input.table,
        **encoding,
    )


run(main, snakemake)
