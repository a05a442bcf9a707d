from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import read_measurements
    from mbert_atlas.figures.similarity import layer_plot
    from mbert_atlas.figures.style import save_figure
    from mbert_atlas.papers.muller2021.figures import LAYOUTS, shown_by_layer

    artifact, protocol = snakemake.wildcards.artifact, snakemake.wildcards.protocol
    figure = layer_plot(
        shown_by_layer(read_measurements(snakemake.input[0]), artifact, protocol),
        title=f"{snakemake.params.title}, {protocol}",
        value_label="rank correlation" if artifact == "figure3" else "CKA (%)",
        names=snakemake.params.names,
        order=snakemake.params.order,
        **LAYOUTS[artifact],
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
