from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.figures.style import save_figure
    from mbert_atlas.figures.transfer import read_scores, transfer_plot

    params = snakemake.params
    reported = params.reported if params.comparable else None
    measured, beside, label = read_scores(snakemake.input[0], reported, params.names)
    figure = transfer_plot(
        measured,
        beside,
        title=params.title,
        value_label=label,
        names=params.names | params.conditions,
        order=params.order,
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
