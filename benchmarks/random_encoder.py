"""An encoder that was never trained: a negative control of all claims.

It has the layers and the tokenizer of one that ships with the repository, and random weights. What
a run with it confirms is no finding about pretraining; docs/verdicts.md has what it confirms.

    python benchmarks/random_encoder.py results/random-encoder
    snakemake --profile local --cores 2 --configfile config/demo.yaml config/random.yaml -- all
"""

import argparse
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import common
import torch
from transformers import AutoConfig, AutoModelForMaskedLM

_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt")


def write_random(source: Path, folder: Path, seed: int) -> None:
    """Write the config and the tokenizer of an encoder with weights as they are initialised."""
    torch.manual_seed(seed)
    AutoModelForMaskedLM.from_config(AutoConfig.from_pretrained(source)).save_pretrained(folder)
    for name in _TOKENIZER:
        shutil.copy(source / name, folder)


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default="results/random-encoder")
    parser.add_argument("--like", type=Path, default=common.ROOT / "resources/encoders/little")
    parser.add_argument("--seed", type=int, default=1)
    with TemporaryDirectory() as temporary:
        options = common.parse(parser, folder=Path(temporary) / "random")
        write_random(options.like, options.folder, options.seed)


if __name__ == "__main__":
    main()
