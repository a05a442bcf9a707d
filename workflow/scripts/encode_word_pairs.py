import tempfile
from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.alignment.pairs import encode_word_pairs, word_pairs

    options = snakemake.params.alignment
    with tempfile.TemporaryDirectory(dir=Path(snakemake.output.card).parent) as folder:
        selected = {part: Path(folder, f"{part}.parquet") for part in ("train", "heldout")}
        word_pairs(
            snakemake.input.bitext,
            snakemake.input.pharaoh,
            selected["train"],
            selected["heldout"],
            snakemake.output.card,
            held_out=options["held_out"],
            seed=0,  # the same sentences are kept apart from every run
            language=snakemake.wildcards.language,
            maximum_words=options["maximum_words"],
        )
        for part, table in selected.items():
            encode_word_pairs(
                table,
                snakemake.input.tokenizer,
                snakemake.output[part],
                maximum_length=options["maximum_length"],
                units=snakemake.params.units,
            )


run(main, snakemake)
