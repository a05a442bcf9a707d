from pathlib import Path

from atlas_job import run


def main(snakemake):
    import pandas as pd

    from mbert_atlas.figures.projection import language_map
    from mbert_atlas.figures.style import save_figure
    from mbert_atlas.files import read_json

    points = pd.read_parquet(snakemake.input.points)
    points["name"] = points["language"].map(snakemake.params.names)
    points["genus"] = points["language"].map(snakemake.params.genera)
    clusters = read_json(snakemake.input.clusters)["language"]
    figure = language_map(
        points,
        title="Wikipedia paragraphs under the initial encoder",
        v_measure=clusters["v_measure"],
        ami=clusters["ami"],
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
