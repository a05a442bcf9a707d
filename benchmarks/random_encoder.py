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


def write_random(source: Path, folder: Path, seed: int) -> int:
    """Write the config and the tokenizer of an encoder with weights as they are initialised.

    Returns the number of weights.
    """
    torch.manual_seed(seed)
    model = AutoModelForMaskedLM.from_config(AutoConfig.from_pretrained(source))
    model.save_pretrained(folder)
    for name in _TOKENIZER:
        shutil.copy(source / name, folder)
    return int(model.num_parameters())


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default="results/random-encoder")
    parser.add_argument("--like", type=Path, default=common.ROOT / "resources/encoders/little")
    parser.add_argument("--seed", type=int, default=1)
    with TemporaryDirectory() as temporary:
        options = common.parse(parser, folder=Path(temporary) / "random")
        number = write_random(options.like, options.folder, options.seed)
        print(f"{number:,} random weights in {options.folder}")


if __name__ == "__main__":
    main()
