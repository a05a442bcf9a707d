from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.similarity import measure_similarity

    folder = Path(snakemake.input[0])
    measure_similarity(
        {protocol: folder / store for protocol, store in snakemake.params.stores.items()},
        snakemake.params.pivots,
        Path(snakemake.output[0]),
    )


run(main, snakemake)
