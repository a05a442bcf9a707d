from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.scorecard.claims import read_claims
    from mbert_atlas.scorecard.verdicts import verdicts, write_claims

    reported = {Path(path).stem: Path(path) for path in snakemake.params.reported}
    claims = {
        paper: read_claims(Path(path), paper, reported[paper])
        for paper, path in snakemake.params.claims.items()
    }
    frame = verdicts(claims, list(map(Path, snakemake.input)), list(reported.values()))
    write_claims(frame, snakemake.output[0])


run(main, snakemake)
