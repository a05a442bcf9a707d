from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.files import read_json

    cards = {Path(path).name.split(".")[0]: read_json(Path(path)) for path in snakemake.input}
    counts = {code: card["counts"]["articles"] for code, card in cards.items()}
    write_measurements(
        [
            {"target": code, "value": count, "protocol": protocol, "n": count}
            for code, count in counts.items()
            for protocol in snakemake.params.protocols
        ],
        snakemake.output[0],
        paper="efimov2022",
        artifact="table1",
        task="wikipedia",
        model=snakemake.params.model,
        source="en",
        metric="n_pages",
        seed=None,
    )


run(main, snakemake)
