"""Files without labels: running texts, sentence pairs, treebanks and reference works."""

import csv
import io
from collections.abc import Iterable, Sequence

from mbert_atlas.miniature.concepts import ADJECTIVES, NOUNS, VERBS
from mbert_atlas.miniature.encyclopedia import draw_outlines, draw_story, export, write_pages
from mbert_atlas.miniature.generator import Files, Generator
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.meanings import Meaning
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
    for name, text in _wals(data.languages).items():
        yield f"wals/cldf/{name}", text


def dictionary(source: Language, target: Language) -> list[str]:
    """Return rows of a MUSE dictionary: a word and its translation, in lower case."""
    words = (*NOUNS, *VERBS, *ADJECTIVES)
    pairs = ((source.citation(word).lower(), target.citation(word).lower()) for word in words)
    return [" ".join(pair) for pair in dict.fromkeys(pairs)]


def _wals(languages: Sequence[Language]) -> dict[str, str]:
    """Return the tables of WALS in CLDF by file name."""
    codes: list[Sequence[object]] = []
    values: list[Sequence[object]] = []
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
    return {
        "languages.csv": _table(f"{names} ISO_codes", described),
        "codes.csv": _table("ID Parameter_ID Name Description Number", codes),
        "values.csv": _table("ID Language_ID Parameter_ID Value Code_ID", values),
    }


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
        for language in data.languages:
            code = language.code
            if split != "test" and code not in _TREEBANKS:
                continue
            blocks = []
            for number, (meaning, english) in enumerate(meanings, 1):
                original = None if code == "en" else english.text
                identifier = f"miniature-{split}-{number}"
                blocks.append(conllu(language.sentence(meaning), identifier, original))
            folder = f"universal-dependencies/UD_{language.name}-Miniature"
            yield f"{folder}/{code}_miniature-ud-{split}.conllu", "".join(blocks)
