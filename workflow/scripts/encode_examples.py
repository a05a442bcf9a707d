from pathlib import Path

from workflow.scripts.atlas_job import run

OPTIONS = {
    "segment_ids": ["nli"],
    "strip_case_and_accents": ["nli"],
    "labelled_pieces": ["tagging", "ner"],
    "doc_stride": ["qa"],
    "stride_is": ["qa"],
    "unit": ["language_identification"],
    "repeat_specials": ["text"],
    "drop_unknown": [
        *("nli", "tagging", "ner", "qa"),
        "language_identification",
    ],
}
"""Options of an encoding, and the tasks that take them."""


def main(snakemake):
    from mbert_atlas.corpora.ner import entity_tags
    from mbert_atlas.corpora.nli import LABELS
    from mbert_atlas.corpora.universal_dependencies import RELATIONS, UPOS
    from mbert_atlas.encoding import encode
    from mbert_atlas.encoding.questions import OUTPUTS
    from mbert_atlas.files import read_parquet

    encoding = dict(snakemake.params.encoding)
    task = encoding.pop("task")
    table = read_parquet(snakemake.input.table)
    labels = {
        "nli": LABELS,
        "tagging": sorted(UPOS),
        "ner": entity_tags(table) if task == "ner" else (),
        "qa": OUTPUTS,
        "parsing": RELATIONS,
        "language_identification": sorted(snakemake.params.languages),
        "text": [],
    }
    for option, those in OPTIONS.items():
        if task not in those:
            del encoding[option]
    encode(
        task,
        table,
        Path(snakemake.input.tokenizer),
        Path(snakemake.output[0]),
        labels=labels[task],
        origin=snakemake.input.table,
        **encoding,
    )


run(main, snakemake)
