"""How multilingual is an encoder? Word and sentence retrieval and language identification.

Pass an encoder folder and files of gold alignments in XL-WA's format, each in a folder named after
its language. A word or sentence is retrieved if its nearest English vector belongs to a translation
(centred by language, cosine); a linear classifier identifies the language by the mean vector of a
sentence. Each measure is printed in the layer where its mean over the languages is highest.

With dictionaries in MUSE's layout (en-xx.txt), their words are also measured separately.

    python benchmarks/multilinguality.py results/demo/encoders/mbert/model \
      results/demo/miniature/gold-alignments/XL-WA/data/*/test.tsv
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from pathlib import Path

import common
import pandas as pd
import torch

from mbert_atlas.analysis.multilinguality import measure_multilinguality
from mbert_atlas.corpora.dictionaries import read_pairs
from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.miniature import MiniatureSizes, write_miniature

FRACTIONS = {"foreign_words": 0.2}  # of the sizes of a miniature, the one that is no count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoder", type=Path, nargs="?", help="encoder folder")
    parser.add_argument("gold", type=Path, nargs="*", help="files <language>/<name>.tsv")
    parser.add_argument("--dictionaries", type=Path, help="folder with MUSE's en-<language>.txt")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="all layers, as JSON")
    options = common.parse(parser, encoder=common.ROOT / "resources/encoders/little")
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        if options.smallest:
            options.gold, options.dictionaries = synthetic(Path(folder))
        measure(options)


def synthetic(folder: Path) -> tuple[list[Path], Path]:
    """Write gold alignments and dictionaries of two languages with English."""
    sizes = MiniatureSizes.model_validate(dict.fromkeys(MiniatureSizes.model_fields, 3) | FRACTIONS)
    write_miniature(folder, languages=["en", "hi", "ru"], seed=1, sizes=sizes)
    gold = sorted(folder.glob("gold-alignments/XL-WA/data/*/test.tsv"))
    return gold, folder / "muse/dictionaries"


def measure(options: argparse.Namespace) -> None:
    logging.disable(logging.WARNING)
    gold = {path.parent.name: read_gold(path, "xlwa") for path in options.gold}
    dictionaries = {
        language: read_dictionary(options.dictionaries / f"en-{language}.txt")
        for language in (gold if options.dictionaries else ())
    }
    scores = pd.DataFrame(measure_multilinguality(options.encoder, gold, dictionaries))
    if options.json:
        print(json.dumps(scores.to_dict("records"), indent=1))
        return
    means = scores.groupby(["measure", "layer"]).value.mean().unstack()
    best = means.idxmax(axis=1)
    shown = scores[scores.layer == scores.measure.map(best)]
    table = shown.pivot(index="language", columns="measure", values="value")
    table.loc["mean"] = table.mean()
    table.loc["chance"] = shown.groupby("measure").chance.mean()
    columns = [name for name in ("words", "dictionary", "sentences", "languages") if name in table]
    print((100 * table[columns]).round(1).to_string(na_rep="", float_format="%.1f"))
    print("\nmean by layer (above: the best layer)")
    print((100 * means.loc[columns]).round(1).to_string(float_format="%.1f"))


def read_dictionary(path: Path) -> set[tuple[str, str]]:
    """Return the pairs of a MUSE dictionary in lower case."""
    return {(word.lower(), other.lower()) for word, other in read_pairs(path)[0]}


if __name__ == "__main__":
    main()
