from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.figures.projection import projection_grid, read_condition
    from mbert_atlas.figures.style import save_figure

    params, protocol = snakemake.params, snakemake.wildcards.protocol
    conditions = [
        read_condition(
            points,
            clusters,
            snakemake.input.scores,
            condition=condition,
            task=params.task,
            protocol=protocol,
        )
        for points, clusters, condition in zip(
            snakemake.input.points, snakemake.input.clusters, params.conditions, strict=True
        )
    ]
    figure = projection_grid(
        conditions,
        title=params.title,
        task=params.task,
        languages=params.languages,
        names=params.names,
        genera=params.genera,
        note=(
            f"Protocol: {protocol}. Macro F1: mean over seeds. "
            f"Points, V-measure and AMI: seed {params.seed}."
        ),
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
