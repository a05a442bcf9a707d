from pathlib import Path

from atlas_job import run


def main(snakemake):
    import pandas as pd

    from mbert_atlas.figures.distances import distance_histograms
    from mbert_atlas.figures.style import save_figure

    frames = []
    for path in snakemake.input:
        frame = pd.read_parquet(path)
        frame[["panel", "protocols"]] = frame["panel"].str.split(":", expand=True)
        frame["seed"] = int(Path(path).stem.removeprefix("seed"))
        frames.append(frame[frame["protocols"].str.contains(snakemake.wildcards.protocol)])
    figure = distance_histograms(
        pd.concat(frames),
        title=f"{snakemake.params.name} and English, last layer, {snakemake.wildcards.protocol}",
        panels=snakemake.params.panels,
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
