from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.directions import find_directions

    find_directions(
        list(map(Path, snakemake.input)), Path(snakemake.output[0]), snakemake.params.languages
    )


run(main, snakemake)
