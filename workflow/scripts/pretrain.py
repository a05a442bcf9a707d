import shutil
from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.specifications import Pretraining
    from mbert_atlas.training.pretraining import pretrain

    scratch, state = snakemake.params.scratch, Path(snakemake.params.state)
    pretrain(
        Pretraining(**scratch["pretraining"]),
        snakemake.input.tokenizer,
        snakemake.input.tokens,
        snakemake.output[0],
        seed=scratch["seed"],
        state_dir=state,
    )
    shutil.rmtree(state, ignore_errors=True)


run(main, snakemake)
