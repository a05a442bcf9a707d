from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.figures.distances import distance_histograms, panel_titles, read_distances
    from mbert_atlas.figures.style import save_figure

    titles = panel_titles(snakemake.params.panels)
    shown = read_distances(snakemake.input, snakemake.wildcards.protocol)
    figure = distance_histograms(
        shown.assign(panel=shown["panel"].map(titles)),
        title=f"{snakemake.params.name} and English, last layer, {snakemake.wildcards.protocol}",
        panels=list(titles.values()),
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
