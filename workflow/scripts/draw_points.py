from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.projection import draw_points

    features = snakemake.input[0]
    draw_points(
        features / "target", features / "wikipedia", snakemake.output[0], **snakemake.params.sample
    )
