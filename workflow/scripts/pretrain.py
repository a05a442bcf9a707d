import shutil
from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.config.training import MaskedTraining, Pretraining
    from mbert_atlas.training.pretraining import continue_pretraining, pretrain

    scratch, changed = snakemake.params.encoder["scratch"], snakemake.params.encoder["changed"]
    state = Path(snakemake.params.state)
    where = [snakemake.input.tokenizer, snakemake.input.tokens, snakemake.output[0]]
    if scratch:
        pretrain(
            Pretraining(**scratch["pretraining"]),
            *where,
            seed=scratch["seed"],
            state_dir=state,
            start=snakemake.input.start or None,
        )
    else:
        continue_pretraining(
            MaskedTraining(**changed["training"]), *where, seed=changed["seed"], state_dir=state
        )
    shutil.rmtree(state, ignore_errors=True)


run(main, snakemake)
