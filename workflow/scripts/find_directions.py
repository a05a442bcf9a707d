from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.subspaces import find_directions

    find_directions(
        list(map(Path, snakemake.input)), Path(snakemake.output[0]), snakemake.params.languages
    )


run(main, snakemake)
