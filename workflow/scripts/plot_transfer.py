from pathlib import Path

from atlas_job import run


def main(snakemake):
    import pandas as pd

    from mbert_atlas.figures.style import save_figure
    from mbert_atlas.figures.transfer import transfer_plot

    measured = pd.read_csv(snakemake.input[0], keep_default_na=False, na_values={"value": [""]})
    measured = measured[(measured["metric"] == "accuracy") & (measured["target"] != "")]
    columns = {"target": "language"}
    measured["task"] = measured["task"].str.replace("_", " ")
    if measured["task"].nunique() > 1:
        columns["task"] = "test"
    values = measured.groupby("protocol")["value"].apply(lambda column: tuple(column))
    if values.nunique() == 1:  # one panel says it all
        measured = measured[measured["protocol"] == values.index[0]].assign(protocol="both")
    reported = None
    if snakemake.params.comparable:
        reported = pd.read_csv(snakemake.params.reported, keep_default_na=False)
        reported["task"] = reported["task"].str.replace("_", " ")
        keys = [tuple(row) for row in measured[["artifact", "task", "metric"]].to_numpy()]
        same = [tuple(row) in keys for row in reported[["artifact", "task", "metric"]].to_numpy()]
        reported = reported[same].rename(columns=columns)
    figure = transfer_plot(
        measured.rename(columns=columns).astype({"seed": int, "value": float}),
        reported,
        title=snakemake.params.title,
        value_label="accuracy (%)",
        names=snakemake.params.names,
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
