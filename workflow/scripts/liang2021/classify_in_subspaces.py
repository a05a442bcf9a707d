from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liang2021.classifiers import classify_in_subspaces

    params = snakemake.params
    scores = classify_in_subspaces(
        train=Path(snakemake.input.train) / "words",
        test=Path(snakemake.input.test) / "words",
        directions=Path(snakemake.input.directions),
        methods=params.methods,
        firsts=params.firsts,
        layer=params.layer,
        maximum_vectors=params.maximum_vectors,
        seeds=params.seeds,
    )
    write_parquet(scores, snakemake.output[0])


run(main, snakemake)
