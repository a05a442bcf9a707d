from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run
from workflow.scripts.origins import origin_in


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.corpora.jobs import CorpusFile, ReadingJob, Upstream
    from mbert_atlas.languages import Language
    from mbert_atlas.registry import resolve

    dataset = snakemake.params.dataset
    upstreams = [
        Upstream(
            Language(**row),
            [
                CorpusFile(
                    Path(source["path"]),
                    source["format"] or "",
                    [Path(partner) for partner in source["partners"]],
                    source["limit"],
                )
                for source in dataset["sources"][code]
            ],
        )
        for code, row in dataset["languages"].items()
    ]
    resolve(snakemake.params.read)(
        ReadingJob(
            upstreams,
            dataset,
            Path(snakemake.output.table),
            Path(snakemake.output.card),
            origin_in(snakemake.config),
            snakemake.threads,
        )
    )


run(main, snakemake)
