"""Files without labels: running texts, sentence pairs, treebanks and reference works."""

from __future__ import annotations

from collections.abc import Sequence

from mbert_atlas.miniature import formats
from mbert_atlas.miniature.encyclopedia import draw_outlines, export, write_pages
from mbert_atlas.miniature.generator import Files, Generator, Members
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.meanings import Meaning
from mbert_atlas.miniature.reference import dictionary, wals
from mbert_atlas.miniature.sentences import Sentence
from mbert_atlas.miniature.stories import draw_story
from mbert_atlas.progress import track

DUMP_DATE = "20200420"
_NOISE = 0.1
"""Mined pairs that are no translations, as a fraction of those that are."""
_TREEBANKS = ("en", "de", "zh")
"""Languages with treebanks for training."""


def encyclopedias(data: Generator) -> Files:
    """Yield a pages-articles dump of each language: comparable articles."""
    outlines = draw_outlines(data.rng("wikipedia"), data.sizes.wikipedia_pages)
    for language in track(data.languages, "miniature: encyclopedias"):
        rng, foreign = data.rng("wikipedia", language.code), data.foreign("wikipedia", language)
        pages = write_pages(rng, language, outlines, foreign)
        name = f"wikipedia/{language.code}wiki-{DUMP_DATE}-pages-articles.xml.bz2"
        yield name, export(language, pages)


def plain_texts(data: Generator) -> Files:
    """Yield CC-100: short stories for pretraining, one a line, the same in every language."""
    rng = data.rng("plain texts")
    stories = [draw_story(rng) for _ in range(data.sizes.stories)]
    for language in track(data.text_languages, "miniature: plain texts"):
        foreign, space = data.foreign("plain texts", language), " " * language.spaced
        texts = (space.join(language.sentence(m, foreign).text for m in s) for s in stories)
        yield f"cc100/{language.code}.txt.xz", formats.lines(texts)


def tatoeba(data: Generator) -> Files:
    """Yield LASER's Tatoeba test sets: sentence pairs with English, in two files."""
    pairs = data.meanings(data.rng("tatoeba"), data.sizes.gold_sentences, set())
    for language in data.languages[1:]:
        name = f"tatoeba-laser/tatoeba.{language.iso639_3}-eng"
        other = (language.sentence(meaning).text for meaning, _ in pairs)
        yield f"{name}.{language.iso639_3}", formats.lines(other)
        yield f"{name}.eng", formats.lines(english.text for _, english in pairs)


def references(data: Generator) -> Files:
    """Yield bilingual dictionaries and typological features."""
    english = data.languages[0]
    for language in data.languages[1:]:
        for one, two in ((english, language), (language, english)):
            name = f"muse/dictionaries/{one.code}-{two.code}.txt"
            yield name, formats.lines(dictionary(one, two))
    for name, text in wals(data.languages).items():
        yield f"wals/cldf/{name}", text


def bitexts(data: Generator) -> Files:
    """Yield mined bitext, both releases of it, and gold alignments of other sentences."""
    size, gold = data.sizes.bitext_sentences, data.sizes.gold_sentences
    pool = data.meanings(data.rng("bitext"), 2 * size, set(), held_out=False)
    both = data.meanings(data.rng("gold"), gold + (gold + 1) // 2, set())
    for language in track(data.languages[1:], "miniature: bitexts"):
        yield from _bitext(data, language, pool)
        for split, meanings in (("dev", both[gold:]), ("test", both[:gold])):
            rows = (formats.gold_row(one, language.sentence(m)) for m, one in meanings)
            name = f"gold-alignments/XL-WA/data/{language.code}/{split}.tsv"
            yield name, formats.lines(rows)


def _bitext(data: Generator, language: Language, pool: Sequence[tuple[Meaning, Sentence]]) -> Files:
    """Yield a sample of ``pool`` in one language, with English."""
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
    first, second = sorted(("en", language.code))
    swapped = first != "en"
    rows = ("\t".join((f"{s:.7f}", *((o, e) if swapped else (e, o)))) for s, e, o in mined)
    name = f"WikiMatrix.{first}-{second}"
    yield f"wikimatrix/{name}.tsv.gz", formats.lines(rows)

    kept = [(english, other) for score, english, other in mined if score >= 1.04]
    rng.shuffle(kept)
    members: Members = {
        f"{name}.en": formats.lines(english for english, _ in kept),
        f"{name}.{language.code}": formats.lines(other for _, other in kept),
        "README": "Mined pairs of margin 1.04 and above, made by a grammar.\n",
    }
    yield f"opus-wikimatrix/{first}-{second}.txt.zip", members


def treebanks(data: Generator) -> Files:
    """Yield treebanks for training in some languages and parallel ones for testing in all."""
    seen: set[str] = set()
    sizes = {"train": data.sizes.ud_train, "dev": data.sizes.ud_dev, "test": data.sizes.ud_test}
    for split, size in sizes.items():
        rng = data.rng("treebanks", split)
        meanings = data.meanings(rng, size, seen, held_out=split != "train")
        for language in data.languages:
            code = language.code
            if split != "test" and code not in _TREEBANKS:
                continue
            blocks = []
            for number, (meaning, english) in enumerate(meanings, 1):
                sentence = language.sentence(meaning)
                original = None if code == "en" else english.text
                blocks.append(formats.conllu(sentence, f"miniature-{split}-{number}", original))
            folder = f"universal-dependencies/UD_{language.name}-Miniature"
            yield f"{folder}/{code}_miniature-ud-{split}.conllu", "".join(blocks)
