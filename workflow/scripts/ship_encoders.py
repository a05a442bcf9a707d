from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.encoders.shipping import ship

    params = snakemake.params
    for encoder, (name, folder) in zip(snakemake.input, params.folders.items(), strict=True):
        ship(Path(encoder), Path(folder), params.specifications[name], params.code)


run(main, snakemake)
