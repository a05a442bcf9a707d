from pathlib import Path

from workflow.scripts.atlas_job import run
from workflow.scripts.origins import origins, script_of


def main(snakemake):
    from mbert_atlas.corpora.bitext import BitextSource, read_bitext

    dataset = snakemake.params.dataset
    (sources,) = dataset["sources"].values()
    read_bitext(
        [
            BitextSource(
                path=Path(source["path"]),
                format=source["format"],
                limit=source["limit"],
                target_path=Path(source["partners"][0]) if source["partners"] else None,
            )
            for source in sources
        ],
        snakemake.wildcards.language,
        snakemake.output.table,
        snakemake.output.card,
        seed=dataset["seed"],
        maximum_sentences=dataset["limit"],
        source=[one for source in sources for one in origins(snakemake, source)],
        script=script_of(snakemake.wildcards.language),
    )


run(main, snakemake)
