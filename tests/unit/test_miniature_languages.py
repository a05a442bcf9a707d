"""The miniature's languages: words, order, trees, and alignments known by construction."""

import csv
import unicodedata
from collections import Counter
from itertools import combinations
from pathlib import Path
from statistics import mean

import conllu
import pytest

from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.corpora.universal_dependencies import parse_conllu
from mbert_atlas.miniature.concepts import ADJECTIVES, NOUNS, VERBS, Sampler, likes
from mbert_atlas.miniature.generator import Generator
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
from mbert_atlas.miniature.meanings import Circumstance, Clause, Meaning, Thing, draw_meaning
from mbert_atlas.miniature.sentences import Sentence, align, gold_row
from mbert_atlas.miniature.sentences import conllu as as_conllu
from mbert_atlas.miniature.words import changed

CODES = tuple(MINIATURE_LANGUAGES)
CONTENT = (*NOUNS, *VERBS, *ADJECTIVES)


@pytest.fixture(scope="module")
def meanings() -> list[Meaning]:
    rng = Sampler(7)
    return [draw_meaning(rng) for _ in range(250)]


@pytest.fixture(scope="module")
def sentences(meanings: list[Meaning]) -> dict[str, list[Sentence]]:
    return {
        code: [language.sentence(meaning) for meaning in meanings]
        for code, language in MINIATURE_LANGUAGES.items()
    }


def test_names_and_genera_are_those_of_the_papers() -> None:
    with Path("resources/languages.csv").open(encoding="utf-8", newline="") as stream:
        rows = {row["code"]: row for row in csv.DictReader(stream)}
    for code, language in MINIATURE_LANGUAGES.items():
        row = rows[code]
        names = ("name", "family", "genus", "wals_code")
        assert [getattr(language, name) for name in names] == [row[name] for name in names]
        assert row["iso639_3"] == language.iso639_3 or row["tatoeba"] == language.iso639_3


@pytest.mark.parametrize("code", CODES)
def test_content_words_differ(code: str) -> None:
    language = MINIATURE_LANGUAGES[code]
    forms = Counter(language.citation(concept) for concept in CONTENT)
    assert sum(count - 1 for count in forms.values()) <= 0.02 * len(CONTENT), forms.most_common(5)


def bigrams(word: str) -> set[str]:
    return {word[start : start + 2] for start in range(len(word) - 1)}


def test_relatives_have_cognates_and_strangers_do_not() -> None:
    latin = [one for one in MINIATURE_LANGUAGES.values() if one.script == "Latn"]
    for one, two in combinations(latin, 2):
        words = [(bigrams(one.citation(c)), bigrams(two.citation(c))) for c in CONTENT]
        shared = sum(len(a & b) / len(a | b) for a, b in words) / len(words)
        assert shared > 0.12 if one.genus == two.genus else shared < 0.08, (one.code, two.code)


def test_sound_changes_happen_at_once() -> None:
    assert changed("tooth", "th>d oo>u t>z") == "zud"
    assert changed("dog", "d>t t>d") == "tog"
    assert changed("dog", "") == "dog"


@pytest.mark.parametrize("code", CODES)
def test_letters_are_of_the_declared_script(
    code: str, sentences: dict[str, list[Sentence]]
) -> None:
    names = {"Latn": "LATIN", "Cyrl": "CYRILLIC", "Arab": "ARABIC", "Hebr": "HEBREW"}
    names |= {"Deva": "DEVANAGARI", "Grek": "GREEK", "Taml": "TAMIL", "Telu": "TELUGU"}
    names |= {"Thai": "THAI", "Hang": "HANGUL", "Jpan": "KATAKANA", "Hani": "CJK"}
    script = names[MINIATURE_LANGUAGES[code].script]
    letters = {
        letter for sentence in sentences[code] for letter in sentence.text if letter.isalpha()
    }
    assert letters
    assert [one for one in letters if not unicodedata.name(one).startswith(script)] == []
    assert all(unicodedata.is_normalized("NFC", sentence.text) for sentence in sentences[code])


def test_english_can_be_read() -> None:
    dog = Thing("dog", "definite", True, adjective="old", owner=Thing("anna"))
    park = Circumstance("in", Thing("garden", "this"))
    clause = Clause(dog, "see", Thing("man", "three", True), (park,), manner="quickly")
    english = MINIATURE_LANGUAGES["en"]
    assert english.sentence(Meaning(clause)).text == (
        "The old dogs of Anna see three men quickly in this garden."
    )
    second = Clause(Thing("she"), "tired", past=True, negated=True)
    assert english.sentence(Meaning(Clause(dog, "sleep", past=True), "but", second)).text == (
        "The old dogs of Anna slept, but she was not tired."
    )


def order_of(code: str) -> str:
    """Return the order of subject, verb and object in a plain transitive clause."""
    clause = Clause(Thing("dog", "definite"), "see", Thing("cat", "definite"))
    sentence = MINIATURE_LANGUAGES[code].sentence(Meaning(clause))
    letters = {"nsubj": "S", "root": "V", "obj": "O"}
    return "".join(letters.get(word.relation, "") for word in sentence.words)


@pytest.mark.parametrize("code", CODES)
def test_trees_show_the_typology_of_the_table(
    code: str, sentences: dict[str, list[Sentence]]
) -> None:
    """What one would count in the treebank is what the row, and so WALS, says."""
    language = MINIATURE_LANGUAGES[code]
    assert order_of(code) == language.order
    after = Counter[tuple[str, bool]]()
    for sentence in sentences[code]:
        for index, word in enumerate(sentence.words):
            if word.head and word.head.upos in ("NOUN", "PROPN"):
                after[word.relation, index > sentence.words.index(word.head)] += 1
    expected = {
        "case": language.adposition == "post",
        "amod": language.adjective == "NA",
        "nmod": language.genitive == "NG",
        "nummod": language.numeral == "NQ",
    }
    if language.cases == 7:
        del expected["case"]
        assert after["case", True] == after["case", False] == 0
    for relation, is_after in expected.items():
        assert after[relation, is_after] > 5
        assert after[relation, not is_after] == 0
    relations = Counter(one.relation for sentence in sentences[code] for one in sentence.words)
    assert (relations["clf"] > 0) == language.classifiers
    for past in (False, True):  # a past copula is sentences everywhere
        sentence = language.sentence(Meaning(Clause(Thing("dog", "definite"), "big", past=past)))
        is_said = any(word.relation == "cop" for word in sentence.words)
        assert is_said == (language.copula or past)


def test_contractions_and_written_on_articles_are_multiword_tokens() -> None:
    dog = Thing("dog", "definite", owner=Thing("king", "definite"))
    clause = Clause(dog, "walk")
    several = {
        code: [
            "+".join(word.upos for word in sentence.words[token.start : token.stop])
            for sentence in [MINIATURE_LANGUAGES[code].sentence(Meaning(clause))]
            for token in sentence.tokens
            if token.stop - token.start > 1
        ]
        for code in ("en", "fr", "ar")
    }
    assert several == {"en": [], "fr": ["ADP+DET"], "ar": ["DET+NOUN", "ADP+DET+NOUN"]}


@pytest.mark.parametrize("code", CODES)
def test_trees_are_valid(code: str, sentences: dict[str, list[Sentence]]) -> None:
    """Our reader raises an error for what is no tree, and the rows spell the text."""
    text = "".join(as_conllu(s, f"s-{n}") for n, s in enumerate(sentences[code]))
    parsed = list(parse_conllu(enumerate(text.removesuffix("\n").split("\n"), 1), code))
    assert [sentence.forms for sentence in parsed] == [
        [word.form for word in s.words] for s in sentences[code]
    ]
    assert len({tag for sentence in parsed for tag in sentence.upos}) >= 12
    for rows, sentence in zip(conllu.parse(text), sentences[code], strict=True):
        assert rows.metadata["text"] == sentence.text == spelled(rows)


def spelled(rows: conllu.TokenList) -> str:
    """Return the running text as the rows spell it."""
    parts, covered = [], 0
    for row in rows:
        if isinstance(row["id"], tuple):
            covered = row["id"][2]
        elif row["id"] <= covered:
            continue
        space = "" if (row["misc"] or {}).get("SpaceAfter") == "No" else " "
        parts.append(row["form"] + space)
    return "".join(parts).rstrip(" ")


@pytest.mark.parametrize("code", [code for code in CODES if code != "en"])
def test_links_join_words_of_one_concept(code: str, sentences: dict[str, list[Sentence]]) -> None:
    """Every content word of English is linked to the other language's word for it."""
    english, other = MINIATURE_LANGUAGES["en"], MINIATURE_LANGUAGES[code]
    concepts = {english.citation(concept): concept for concept in CONTENT}
    checked = 0
    for one, two in zip(sentences["en"], sentences[code], strict=True):
        links = align(one, two)
        assert links == sorted(set(links))
        ours, theirs = units(one), units(two)
        for i, words in enumerate(ours):
            _, lemma, tag, *_ = one.rows()[words[0]]
            concept = concepts.get(lemma)
            if concept is None or tag == "DET":
                continue
            lemmas = [row[1] for row in two.rows()]
            partners = {lemmas[w] for k, j in links if k == i for w in theirs[j]}
            assert other.citation(concept) in partners
            checked += 1
    assert checked > 500


def units(sentence: Sentence) -> list[range]:
    """Return the words that each aligned unit covers."""
    return [
        range(token.start, token.stop)
        for token in sentence.tokens
        for _ in ([token.form] if sentence.spaced else token.form)
    ]


def test_gold_rows() -> None:
    clause = Clause(Thing("dog", "definite"), "read", Thing("book", "indefinite"), negated=True)
    english = MINIATURE_LANGUAGES["en"].sentence(Meaning(clause))
    rows = {
        code: gold_row(english, MINIATURE_LANGUAGES[code].sentence(Meaning(clause)))
        for code in ("tr", "ar")
    }
    first = "The dog not reads a book .\t"
    assert rows["tr"].startswith(first)
    assert rows["tr"].endswith("\t1-0 2-2 3-3 5-1 6-4")
    assert rows["ar"].endswith("\t0-2 1-2 2-0 3-1 5-3 6-4")


def test_words_prefer_company() -> None:
    rng, nouns = Sampler(1), VERBS["see"].objects
    drawn = Counter(rng.pick(nouns, "see") for _ in range(4000))
    liking = {noun: likes("see", noun) + likes(rng.scene, noun) for noun in nouns}
    means = [mean(drawn[noun] for noun in nouns if liking[noun] == number) for number in (0, 1, 2)]
    assert means[1] / means[0] == pytest.approx(10, rel=0.4)
    assert means[2] / means[1] == pytest.approx(10, rel=0.4)


def test_foreign_words_come_at_their_rate() -> None:
    languages = [MINIATURE_LANGUAGES[code] for code in ("en", "ru", "hi")]
    data = Generator(languages, languages, (), 2, MiniatureSizes(foreign_words=0.2))
    foreign = data.foreign("texts", languages[1])
    rng = Sampler(3)
    meanings = [draw_meaning(rng) for _ in range(400)]
    own = [languages[1].sentence(meaning) for meaning in meanings]
    mixed = [languages[1].sentence(meaning, foreign) for meaning in meanings]
    changed = [
        after.form
        for one, two in zip(own, mixed, strict=True)
        for before, after in zip(one.words, two.words, strict=True)
        if before.upos in ("NOUN", "VERB", "ADJ") and before.form != after.form
    ]
    content = sum(word.upos in ("NOUN", "VERB", "ADJ") for s in own for word in s.words)
    assert len(changed) / content == pytest.approx(0.2, abs=0.03)
    assert sum(word.isascii() for word in changed) / len(changed) == pytest.approx(5 / 6, abs=0.08)
