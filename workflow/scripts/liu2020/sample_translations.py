from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.arrays import load_arrays
    from mbert_atlas.files import read_parquet, write_json
    from mbert_atlas.papers.liu2020.measures import samples
    from mbert_atlas.tokenizer import open_tokenizer

    params = snakemake.params
    tables = [read_parquet(path).to_pandas() for path in snakemake.input.translations]
    facts = samples(
        load_arrays(snakemake.input.sentences),
        open_tokenizer(snakemake.input.tokenizer),
        dict(zip(params.shown, tables, strict=True)),
        shown=params.shown,
        layer=params.layer,
        weights=params.weights,
    )
    write_json(facts, Path(snakemake.output[0]))


run(main, snakemake)
