from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.scorecard.cells import write_csv
    from mbert_atlas.scorecard.claims import read_claims
    from mbert_atlas.scorecard.verdicts import verdicts

    reported = {Path(item["path"]).stem: Path(item["path"]) for item in snakemake.params.reported}
    claims = {
        paper: read_claims(Path(item["path"]), paper, reported[paper])
        for paper, item in snakemake.params.claims.items()
    }
    frame = verdicts(
        claims,
        snakemake.input.measurements,
        list(reported.values()),
        snakemake.input.resamples,
        languages=snakemake.params.languages,
        comparable=snakemake.params.comparable,
    )
    write_csv(frame, snakemake.output[0])
