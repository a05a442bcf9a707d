"""How multilingual is an encoder, by language: words and sentences found, languages told apart.

Give an encoder folder and files of gold alignments in XL-WA's format, each in a folder that is
named after its language. Words and sentences are found if their nearest English vector is a
translation's (centred by language, cosine); a linear classifier tells languages by the mean of a
sentence's pieces. Each measure is shown in the layer where its mean over the languages is best.

With dictionaries in MUSE's layout (en-xx.txt), words that these have are also told by themselves.

    python benchmarks/multilinguality.py results/demo/encoders/mbert/model \
      results/demo/miniature/gold-alignments/XL-WA/data/*/test.tsv
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path

import pandas as pd
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mbert_atlas.analysis.multilinguality import measure_multilinguality
from mbert_atlas.corpora.dictionaries import read_pairs
from mbert_atlas.corpora.gold_alignment import read_gold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoder", type=Path, help="encoder folder")
    parser.add_argument("gold", type=Path, nargs="+", help="files <language>/<name>.tsv")
    parser.add_argument("--dictionaries", type=Path, help="folder with MUSE's en-<language>.txt")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="all layers, as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
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
    print("\nmean by layer (the best one is shown above)")
    print((100 * means.loc[columns]).round(1).to_string(float_format="%.1f"))


def read_dictionary(path: Path) -> set[tuple[str, str]]:
    """Return the pairs of a MUSE dictionary in lower case."""
    return {(word.lower(), other.lower()) for word, other in read_pairs(path)[0]}


if __name__ == "__main__":
    main()
