"""Files with labelled sentences: natural language inference and named entities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, repeat

from mbert_atlas.miniature import formats
from mbert_atlas.miniature.concepts import Sampler
from mbert_atlas.miniature.entities import draw_named_meaning, tagged
from mbert_atlas.miniature.generator import Files, Generator, Members
from mbert_atlas.miniature.inference import LABELS, draw_triple
from mbert_atlas.miniature.meanings import Meaning
from mbert_atlas.miniature.stories import is_held_out
from mbert_atlas.progress import track

_TRAINING_GENRES = ("fiction", "government", "slate", "telephone", "travel")
_MISMATCHED_GENRES = ("facetoface", "letters", "nineeleven", "oup", "verbatim")
_XNLI_GENRES = tuple(sorted(_TRAINING_GENRES + _MISMATCHED_GENRES))


def _pairs(
    data: Generator,
    rng: Sampler,
    number: int,
    seen: set[str],
    genres: Sequence[str],
    held_out: bool = True,
) -> Iterator[formats.Pair]:
    """Yield pairs; a premise comes with one for each label, in random order.

    Pairs held out have four more annotators, and a majority agrees with the author.
    """
    drawn = prompt = 0
    while drawn < number:
        premise, hypotheses = draw_triple(rng)
        english = data.languages[0].sentence(Meaning(premise)).text
        if english in seen or is_held_out(Meaning(premise)) != held_out:
            continue
        seen.add(english)
        prompt += 1
        for label in rng.sample(LABELS, min(len(LABELS), number - drawn)):
            drawn += 1
            labels = [label]
            for _ in range(4 if held_out else 0):
                labels.append(label if rng.random() < 0.9 else rng.choice(LABELS))
            if held_out and labels.count(label) < 3:
                labels = [label] * 5
            genre = genres[prompt % len(genres)]
            yield formats.Pair(premise, hypotheses[label], labels, label, prompt, genre)


def multinli(data: Generator) -> Files:
    """Yield MultiNLI: training pairs and two development sets, one with disputed pairs."""
    seen: set[str] = set()
    members: Members = {}
    for split, number, genres in (
        ("train", data.sizes.nli_train, _TRAINING_GENRES),
        ("dev_matched", data.sizes.nli_test, _TRAINING_GENRES),
        ("dev_mismatched", data.sizes.nli_test, _MISMATCHED_GENRES),
    ):
        rng = data.rng("multinli", split)
        disputed: set[int] = set()
        if split == "dev_matched":
            disputed.update(rng.sample(range(number), max(1, number // 50)))
        rows = []
        pairs = _pairs(data, rng, number, seen, genres, held_out=split != "train")
        for index, pair in enumerate(pairs):
            label, identifier = pair.gold, f"{pair.prompt}{pair.gold[0]}"
            if index in disputed:
                other, third = (name for name in LABELS if name != label)
                pair = pair._replace(labels=[label, label, other, other, third], gold="-")
            rows.append(formats.multinli_row(data.languages[0], identifier, pair))
        members[f"multinli_1.0/multinli_1.0_{split}.jsonl"] = formats.lines(rows)
    readme = "Pairs in the layout of MultiNLI 1.0, made by a grammar.\n"
    yield "multinli/multinli_1.0.zip", {**members, "multinli_1.0/README.txt": readme}


def xnli(data: Generator) -> Files:
    """Yield XNLI: the same pairs in all languages, those of one language together."""
    seen: set[str] = set()
    members: Members = {}
    for split in ("dev", "test"):
        rng, size = data.rng("xnli", split), data.sizes.nli_test
        pairs = list(_pairs(data, rng, size, seen, _XNLI_GENRES))
        rows = ["\t".join(formats.XNLI_COLUMNS)]
        for language in sorted(data.languages, key=lambda language: language.code):
            for number, pair in enumerate(pairs, 1):
                rows.append(formats.xnli_row(language, str(number), pair))
        members[f"XNLI-1.0/xnli.{split}.tsv"] = formats.lines(rows)
    yield "xnli/XNLI-1.0.zip", members


def wikiann(data: Generator) -> Files:
    """Yield WikiANN, with different sentences in each language."""
    test, train = data.sizes.ner_test, data.sizes.ner_train
    members: Members = {}
    for language in track(data.languages, "miniature: named entities"):
        texts = {}
        for split, size in (("dev", test), ("test", test), ("train", train)):
            rng = data.rng("wikiann", language.code, split)
            drawn = map(draw_named_meaning, repeat(rng))
            kept = (meaning for meaning in drawn if is_held_out(meaning) == (split != "train"))
            sentences = (tagged(language.sentence(m), m) for m in islice(kept, size))
            texts[split] = formats.wikiann_rows(language.code, sentences)
        members[f"{language.code}.tar.gz"] = formats.tar_gzip(texts)
    yield "wikiann/panx_dataset.zip", members
