from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.corpora.jobs import CorpusFile, ReadingJob, Upstream
    from mbert_atlas.languages import Language
    from mbert_atlas.registry import resolve
    from workflow.upstream import origin_in

    dataset = snakemake.params.dataset
    upstreams = []
    for code, row in dataset["languages"].items():
        files = [
            CorpusFile(Path(one["path"]), one["format"] or "", [*map(Path, one["partners"])])
            for one in dataset["sources"][code]
        ]
        upstreams.append(Upstream(Language(**row), files))
    output, card = snakemake.output.table, snakemake.output.card
    origin = origin_in(snakemake.config)
    job = ReadingJob(upstreams, dataset, output, card, origin, snakemake.threads)
    resolve(snakemake.params.read)(job)
