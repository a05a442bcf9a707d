from workflow.scripts.atlas_job import run


def main(snakemake):
    import pandas as pd

    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.analysis.transfer import Cell
    from mbert_atlas.config.base import PROTOCOLS
    from mbert_atlas.files import read_parquet
    from mbert_atlas.papers.liang2021.measures import f1_of, lost_without

    rows, rank = [], snakemake.params.rank
    for (model, task), path in zip(snakemake.params.frozen, snakemake.input.frozen, strict=True):
        columns = {"task": task, "model": model, "source": "en"}
        scores = read_parquet(path).to_pandas()
        rows += lost_without(scores, "frozen", PROTOCOLS, rank, **columns)
    tuned = []
    for cell, path in zip(snakemake.params.tuned, map(str, snakemake.input.tuned), strict=True):
        method, _, first = cell["condition"].partition("-")
        # F1 of bare tags under both protocols, as it is of the frozen ones.
        value, n = f1_of(Cell(**(cell | {"path": path, "protocol": "published"})))
        known = {name: cell[name] for name in ("task", "protocol", "language", "seed")}
        tuned.append(known | {"method": method, "first": int(first), "value": value, "n": n})
    columns = {"model": "mbert", "source": "en"}
    for (task, protocol), scores in pd.DataFrame(tuned).groupby(["task", "protocol"]):
        rows += lost_without(scores, "tuned", [protocol], rank, task=task, **columns)
    write_measurements(rows, snakemake.output[0], paper="liang2021", artifact="figure4")


run(main, snakemake)
