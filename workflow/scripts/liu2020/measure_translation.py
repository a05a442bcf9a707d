from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.config.base import PROTOCOLS
    from mbert_atlas.files import read_parquet
    from mbert_atlas.papers.liu2020.measures import by_weight, measure_translation

    artifact, params = snakemake.wildcards.artifact, snakemake.params
    directions = [tuple(pair) for pair in params.directions]
    tables = {
        pair: read_parquet(path).to_pandas()
        for pair, path in zip(directions, snakemake.input, strict=True)
    }
    columns = {"paper": "liu2020", "artifact": artifact}
    columns |= {"task": "token_translation", "model": "mbert"}
    if artifact in ("table1", "table2"):
        layers = range(1, params.layers + 1)
        rows = measure_translation(tables, PROTOCOLS, layers=layers, **params.settings)
    else:
        ((pair, table),) = tables.items()
        metrics = ["convert_rate"] if artifact == "figure7" else ["bleu1"]
        place = dict(zip(("source", "target"), pair, strict=True))
        rows = by_weight(table, PROTOCOLS, metrics, **place)
    write_measurements(rows, snakemake.output[0], **columns)


run(main, snakemake)
