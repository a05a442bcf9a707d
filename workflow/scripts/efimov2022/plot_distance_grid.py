from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.figures.distances import distance_grid, panel_titles, read_distances
    from mbert_atlas.figures.style import save_figure

    protocol = snakemake.wildcards.protocol
    shown = read_distances(snakemake.input, protocol)
    titles = panel_titles(snakemake.params.panels)
    figure = distance_grid(
        shown,
        title=f"Words of each language and English, last layer, {protocol}",
        languages={code: snakemake.params.names[code] for code in dict.fromkeys(shown["language"])},
        panels={panel: text.replace(", then ", ",\nthen ") for panel, text in titles.items()},
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
