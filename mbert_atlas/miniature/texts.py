"""Files of running texts, sentence pairs, labelled sentences, treebanks and reference works."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import NamedTuple

from mbert_atlas.miniature.concepts import ADJECTIVES, NOUNS, VERBS, Sampler
from mbert_atlas.miniature.encyclopedia import draw_outlines, draw_story, export, write_pages
from mbert_atlas.miniature.generator import Files, Generator, is_held_out
from mbert_atlas.miniature.inference import LABELS, draw_triple
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.meanings import Clause, Meaning, draw_named_meaning, entities
from mbert_atlas.miniature.sentences import Sentence, conllu, gold_row, lines
from mbert_atlas.progress import track

_NOISE = 0.1  # mined pairs that are no translations, as a fraction of those that are
_TREEBANKS = ("en", "de", "zh")  # for training
# WALS' number of a feature -> the column of languages.csv that holds it.
_FEATURES = {
    **{"20A": "fusion", "30A": "genders", "37A": "article", "49A": "cases", "55A": "classifiers"},
    **{"81A": "order", "85A": "adposition", "86A": "genitive", "87A": "adjective"},
    **{"88A": "demonstrative", "89A": "numeral", "120A": "copula"},
}
_TRAINING_GENRES = ("fiction", "government", "slate", "telephone", "travel")
_MISMATCHED_GENRES = ("facetoface", "letters", "nineeleven", "oup", "verbatim")
_XNLI_GENRES = tuple(sorted(_TRAINING_GENRES + _MISMATCHED_GENRES))
_XNLI_COLUMNS = (
    *("language", "gold_label", "sentence1_binary_parse", "sentence2_binary_parse"),
    *("sentence1_parse", "sentence2_parse", "sentence1", "sentence2", "promptID", "pairID"),
    *("genre", "label1", "label2", "label3", "label4", "label5"),
    *("sentence1_tokenized", "sentence2_tokenized", "match"),
)


def encyclopedias(data: Generator) -> Files:
    """Yield a pages-articles dump of each language: comparable articles."""
    outlines = draw_outlines(data.rng("wikipedia"), data.sizes.wikipedia_pages)
    for language in track(data.languages, "miniature: encyclopedias"):
        rng, foreign = data.rng("wikipedia", language.code), data.foreign("wikipedia", language)
        pages = write_pages(rng, language, outlines, foreign)
        name = f"wikipedia/{language.code}wiki-20200420-pages-articles.xml.bz2"
        yield name, export(language, pages)


def plain_texts(data: Generator) -> Files:
    """Yield CC-100: short stories for pretraining, one a line, the same in every language."""
    rng = data.rng("plain texts")
    stories = [draw_story(rng) for _ in range(data.sizes.stories)]
    for language in track(data.text_languages, "miniature: plain texts"):
        foreign, space = data.foreign("plain texts", language), " " * language.spaced
        texts = (space.join(language.sentence(m, foreign).text for m in s) for s in stories)
        yield f"cc100/{language.code}.txt.xz", lines(texts)


def references(data: Generator) -> Files:
    """Yield bilingual dictionaries (MUSE) and typology (WALS, in CLDF)."""
    english = data.languages[0]
    for language in data.languages[1:]:
        for one, two in ((english, language), (language, english)):
            yield f"muse/dictionaries/{one.code}-{two.code}.txt", lines(dictionary(one, two))
    yield from _wals(data.languages)


def dictionary(source: Language, target: Language) -> list[str]:
    """Return rows of a MUSE dictionary: a word and its translation, in lower case."""
    words = (*NOUNS, *VERBS, *ADJECTIVES)
    pairs = ((source.citation(word).lower(), target.citation(word).lower()) for word in words)
    return [" ".join(pair) for pair in dict.fromkeys(pairs)]


def _wals(languages: Sequence[Language]) -> Files:
    """Yield the tables of WALS in CLDF."""
    codes, values = list[Sequence[object]](), list[Sequence[object]]()
    for feature, column in _FEATURES.items():
        distinct = list(dict.fromkeys(getattr(one, column) for one in languages))
        for number, value in enumerate(distinct, 1):
            codes.append((f"{feature}-{number}", feature, value, value, number))
        for one in languages:
            code, number = one.wals_code, distinct.index(getattr(one, column)) + 1
            values.append((f"{feature}-{code}", code, feature, number, f"{feature}-{number}"))
    described = [
        (one.wals_code, one.name, *[""] * 4, one.iso639_3, one.family, "", one.genus, "")
        for one in languages
    ]
    names = "ID Name Macroarea Latitude Longitude Glottocode ISO639P3code Family Subfamily Genus"
    yield "wals/cldf/languages.csv", _table(f"{names} ISO_codes", described)
    yield "wals/cldf/codes.csv", _table("ID Parameter_ID Name Description Number", codes)
    yield "wals/cldf/values.csv", _table("ID Language_ID Parameter_ID Value Code_ID", values)


def _table(header: str, rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header.split(), *rows])
    return stream.getvalue()


def bitexts(data: Generator) -> Files:
    """Yield mined bitext, and gold alignments of other sentences."""
    size = data.sizes.bitext_sentences
    pool = data.meanings(data.rng("bitext"), 2 * size, set(), held_out=False)
    gold = data.meanings(data.rng("gold"), data.sizes.gold_sentences, set())
    for language in track(data.languages[1:], "miniature: bitexts"):
        first, second = sorted(("en", language.code))
        mined = lines(_mined(data, language, pool))
        yield f"wikimatrix/WikiMatrix.{first}-{second}.tsv.gz", mined
        rows = (gold_row(english, language.sentence(m)) for m, english in gold)
        yield f"gold-alignments/XL-WA/data/{language.code}/test.tsv", lines(rows)


def _mined(
    data: Generator, language: Language, pool: Sequence[tuple[Meaning, Sentence]]
) -> list[str]:
    """Return rows of WikiMatrix, by falling margin, from a sample of ``pool``."""
    rng = data.rng("bitext", language.code)
    chosen = [
        (english.text, language.sentence(meaning).text)
        for meaning, english in rng.sample(pool, data.sizes.bitext_sentences)
    ]
    mined = [(1.04 + 0.3 * rng.betavariate(2, 3), *pair) for pair in chosen]
    for _ in range(round(_NOISE * len(chosen))):
        one, two = rng.randrange(len(chosen)), rng.randrange(len(chosen))
        if one != two:
            mined.append((1.0 + 0.06 * rng.random(), chosen[one][0], chosen[two][1]))
    mined.sort(key=lambda row: (-row[0], row[1:]))
    swapped = language.code < "en"
    return ["\t".join((f"{s:.7f}", *((o, e) if swapped else (e, o)))) for s, e, o in mined]


def treebanks(data: Generator) -> Files:
    """Yield treebanks for training in some languages and parallel ones for testing in all."""
    seen: set[str] = set()
    sizes = {"train": data.sizes.ud_train, "dev": data.sizes.ud_dev, "test": data.sizes.ud_test}
    for split, size in sizes.items():
        rng = data.rng("treebanks", split)
        meanings = data.meanings(rng, size, seen, held_out=split != "train")
        chosen = [one for one in data.languages if split == "test" or one.code in _TREEBANKS]
        for language in chosen:
            code, blocks = language.code, []
            for number, (meaning, english) in enumerate(meanings, 1):
                original = None if code == "en" else english.text
                identifier = f"miniature-{split}-{number}"
                blocks.append(conllu(language.sentence(meaning), identifier, original))
            folder = f"universal-dependencies/UD_{language.name}-Miniature"
            yield f"{folder}/{code}_miniature-ud-{split}.conllu", "".join(blocks)


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
    seen, members = set[str](), dict[str, str]()
    for split, number, genres in (
        ("train", data.sizes.nli_train, _TRAINING_GENRES),
        ("dev_matched", data.sizes.nli_test, _TRAINING_GENRES),
        ("dev_mismatched", data.sizes.nli_test, _MISMATCHED_GENRES),
    ):
        rng, rows = data.rng("multinli", split), []
        disputes = max(1, number // 50) if split == "dev_matched" and number else 0
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
        flat = " ".join(f"({word.upos} {word.form})" for word in sentence.words)
        parses = {f"{name}_binary_parse": binary, f"{name}_parse": f"(ROOT (S {flat}))"}
        row |= {name: sentence.text, **parses}
    return json.dumps(row)


def xnli(data: Generator) -> Files:
    """Yield XNLI: the same pairs in all languages, those of one language together.

    Like in upstream's table of 19 columns, the parses are empty.
    """
    seen, members = set[str](), dict[str, str]()
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
    members = dict[str, dict[str, str]]()
    for language in track(data.languages, "miniature: named entities"):
        code, texts = language.code, dict[str, str]()
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

    Words are tokens, or characters where the script puts no spaces, as in WikiANN. A token that
    expresses an entity and grammar (a preposition written on to a name) is a word of the entity.
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
