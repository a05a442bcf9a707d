from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liu2020.shifted_classification import classify_shifted

    examples = map(Path, snakemake.input.examples)
    table = classify_shifted(
        Path(snakemake.input.model),
        dict(zip(snakemake.params.datasets, examples, strict=True)),
        Path(snakemake.input.means),
        task="nli",
        protocol=snakemake.wildcards.protocol,
        **snakemake.params.shift,
    )
    write_parquet(table, snakemake.output[0])


run(main, snakemake)
