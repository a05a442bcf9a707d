from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.encoders.shipping import ship

    params = snakemake.params
    for encoder, (name, folder) in zip(snakemake.input, params.folders.items(), strict=True):
        ship(encoder, Path(folder), params.specifications[name], params.code)
