from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.figures.style import figure_style, save_figure
    from mbert_atlas.scorecard.intervals import draw

    params = snakemake.params
    with figure_style(params.style and params.style["path"]):
        figure = draw(params.drawn, snakemake.input, params.intervals, params.reported)
        save_figure(figure, snakemake.output[0].with_suffix(""), params.caption)
