from pathlib import Path

from workflow.scripts.atlas_job import run
from workflow.scripts.origins import origins, script_of


def main(snakemake):
    from mbert_atlas.corpora.plain_text import read_plain_text

    dataset = snakemake.params.dataset
    (sources,) = dataset["sources"].values()
    read_plain_text(
        [(Path(source["path"]), source["format"]) for source in sources],
        snakemake.wildcards.language,
        snakemake.output.table,
        snakemake.output.card,
        limit=dataset["limit"],
        source=[one for source in sources for one in origins(snakemake, source)],
        script=script_of(snakemake.wildcards.language),
    )


run(main, snakemake)
