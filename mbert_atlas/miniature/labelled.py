"""Files with labelled sentences: natural language inference and named entities."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from typing import NamedTuple

from mbert_atlas.miniature.concepts import Sampler
from mbert_atlas.miniature.generator import Content, Files, Generator, is_held_out
from mbert_atlas.miniature.inference import LABELS, draw_triple
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.meanings import Clause, Meaning, draw_named_meaning, entities
from mbert_atlas.miniature.sentences import Sentence, lines
from mbert_atlas.progress import track

_TRAINING_GENRES = ("fiction", "government", "slate", "telephone", "travel")
_MISMATCHED_GENRES = ("facetoface", "letters", "nineeleven", "oup", "verbatim")
_XNLI_GENRES = tuple(sorted(_TRAINING_GENRES + _MISMATCHED_GENRES))
_XNLI_COLUMNS = (
    *("language", "gold_label", "sentence1_binary_parse", "sentence2_binary_parse"),
    *("sentence1_parse", "sentence2_parse", "sentence1", "sentence2", "promptID", "pairID"),
    *("genre", "label1", "label2", "label3", "label4", "label5"),
    *("sentence1_tokenized", "sentence2_tokenized", "match"),
)


class _Pair(NamedTuple):
    """A pair of clauses for natural language inference."""

    premise: Clause
    hypothesis: Clause
    labels: Sequence[str]  # of the annotators, the author's first
    gold: str  # "-" if they disagree
    prompt: int  # number of the premise
    genre: str

    def sentences(self, language: Language) -> list[Sentence]:
        return [language.sentence(Meaning(clause)) for clause in (self.premise, self.hypothesis)]


def _pairs(
    data: Generator,
    rng: Sampler,
    number: int,
    seen: set[str],
    genres: Sequence[str],
    held_out: bool = True,
) -> Iterator[_Pair]:
    """Yield pairs, one of each label for a premise; a majority of five agrees on those held out."""
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
            yield _Pair(premise, hypotheses[label], labels, label, prompt, genre)


def multinli(data: Generator) -> Files:
    """Yield MultiNLI: training pairs and two development sets, one with disputed pairs."""
    seen: set[str] = set()
    members: dict[str, Content] = {}
    for split, number, genres in (
        ("train", data.sizes.nli_train, _TRAINING_GENRES),
        ("dev_matched", data.sizes.nli_test, _TRAINING_GENRES),
        ("dev_mismatched", data.sizes.nli_test, _MISMATCHED_GENRES),
    ):
        rng, rows = data.rng("multinli", split), []
        disputes = max(1, number // 50) if split == "dev_matched" else 0
        disputed = rng.sample(range(number), disputes)
        pairs = _pairs(data, rng, number, seen, genres, held_out=split != "train")
        for index, pair in enumerate(pairs):
            label, identifier = pair.gold, f"{pair.prompt}{pair.gold[0]}"
            if index in disputed:
                other, third = (name for name in LABELS if name != label)
                pair = pair._replace(labels=[label, label, other, other, third], gold="-")
            rows.append(_multinli_row(data.languages[0], identifier, pair))
        members[f"multinli_1.0/multinli_1.0_{split}.jsonl"] = lines(rows)
    readme = "Pairs in the layout of MultiNLI 1.0, made by a grammar.\n"
    yield "multinli/multinli_1.0.zip", {**members, "multinli_1.0/README.txt": readme}


def _multinli_row(language: Language, identifier: str, pair: _Pair) -> str:
    """Return a line of MultiNLI's jsonl; binary parses branch to the right, others are flat."""
    row = {"annotator_labels": pair.labels, "genre": pair.genre, "gold_label": pair.gold}
    row |= {"pairID": identifier, "promptID": str(pair.prompt)}
    for name, sentence in zip(("sentence1", "sentence2"), pair.sentences(language), strict=True):
        *words, binary = sentence.tokenised().split(" ")
        for word in reversed(words):
            binary = f"( {word} {binary} )"
        flat = " ".join(map("({} {})".format, sentence.upos, sentence.forms))
        parses = {f"{name}_binary_parse": binary, f"{name}_parse": f"(ROOT (S {flat}))"}
        row |= {name: sentence.text, **parses}
    return json.dumps(row)


def xnli(data: Generator) -> Files:
    """Yield XNLI: the same pairs in all languages, those of one language together.

    Like in upstream's table of 19 columns, the parses are empty.
    """
    seen: set[str] = set()
    members: dict[str, Content] = {}
    for split in ("dev", "test"):
        pairs = list(_pairs(data, data.rng("xnli", split), data.sizes.nli_test, seen, _XNLI_GENRES))
        rows: list[Sequence[str]] = [_XNLI_COLUMNS]
        for language in sorted(data.languages, key=lambda language: language.code):
            for number, pair in enumerate(pairs, 1):
                sentences = pair.sentences(language)
                row = [language.code, pair.gold, *[""] * 4, *(one.text for one in sentences)]
                row += [str(pair.prompt), str(number), pair.genre, *pair.labels]
                row += [*(one.tokenised() for one in sentences), str(pair.labels[0] == pair.gold)]
                rows.append(row)
        members[f"XNLI-1.0/xnli.{split}.tsv"] = lines(map("\t".join, rows))
    yield "xnli/XNLI-1.0.zip", members


def wikiann(data: Generator) -> Files:
    """Yield WikiANN in Rahimi et al.'s layout, with different sentences in each language."""
    sizes = {"dev": data.sizes.ner_test, "test": data.sizes.ner_test, "train": data.sizes.ner_train}
    members: dict[str, Content] = {}
    for language in track(data.languages, "miniature: named entities"):
        code, texts = language.code, {}
        for split, size in sizes.items():
            drawn = map(draw_named_meaning, repeat(data.rng("wikiann", code, split)))
            kept = (meaning for meaning in drawn if is_held_out(meaning) == (split != "train"))
            sentences = (tagged(language.sentence(m), m) for m in islice(kept, size))
            texts[split] = "".join(
                lines([*(f"{code}:{word}\t{tag}" for word, tag in sentence), ""])
                for sentence in sentences
            )
        members[f"{code}.tar.gz"] = texts
    yield "wikiann/panx_dataset.zip", members


def tagged(sentence: Sentence, meaning: Meaning) -> list[tuple[str, str]]:
    """Return the words of a sentence with their tags in IOB2.

    Words are the :meth:`Sentence.units` of tokens, as in WikiANN. A token that expresses an entity
    together with grammar (a preposition written on to a name) counts as a word of the entity.
    """
    named = list(entities(meaning))
    units: list[tuple[str, str]] = []
    before: int | None = None
    for unit, sources in sentence.aligned_units():
        inside = next((n for n, (_, wanted) in enumerate(named) if wanted & sources), None)
        begun = "I" if inside == before else "B"
        units.append((unit, "O" if inside is None else f"{begun}-{named[inside][0]}"))
        before = inside
    return units
