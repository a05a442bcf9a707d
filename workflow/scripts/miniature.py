from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.config.miniature import MiniatureSizes
    from mbert_atlas.miniature.writing import write_miniature

    specification = dict(snakemake.params.specification)
    sizes = MiniatureSizes(**specification.pop("sizes"))
    folder = snakemake.output.manifest.parent
    write_miniature(folder, sizes=sizes, only=snakemake.params.only, **specification)
