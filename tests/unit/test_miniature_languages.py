"""The miniature's languages: words, order, trees, and alignments known by construction."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import combinations
from random import Random

import conllu
import pytest

from mbert_atlas.errors import DataError
from mbert_atlas.miniature import MINIATURE_LANGUAGES, miniature_language
from mbert_atlas.miniature.concepts import ADJECTIVES, CONCEPTS, NAMES, NOUNS, VERBS
from mbert_atlas.miniature.formats import conllu as as_conllu
from mbert_atlas.miniature.formats import gold_row
from mbert_atlas.miniature.language import Sentence, align
from mbert_atlas.miniature.meanings import Circumstance, Clause, Meaning, Thing, draw_meaning

CODES = tuple(MINIATURE_LANGUAGES)
REQUIRED = ["en", "es", "de", "fr", "ru", "bg", "hi", "vi", "ar", "zh", "tr", "id", "fi"]
GENERA = [{"es", "fr"}, {"en", "de"}, {"ru", "bg"}]
UNIVERSAL_TAGS = {
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN"),
    *("PUNCT", "SCONJ", "SYM", "VERB", "X"),
}


@pytest.fixture(scope="module")
def meanings() -> list[Meaning]:
    rng = Random(7)
    return [draw_meaning(rng) for _ in range(250)]


@pytest.fixture(scope="module")
def said(meanings: list[Meaning]) -> dict[str, list[Sentence]]:
    return {
        code: [language.sentence(meaning) for meaning in meanings]
        for code, language in MINIATURE_LANGUAGES.items()
    }


def test_the_promised_languages_are_there() -> None:
    assert set(REQUIRED) <= set(CODES)
    with pytest.raises(DataError, match=r"language xx.*choose from en es"):
        miniature_language("xx")


@pytest.mark.parametrize("code", CODES)
def test_every_concept_has_a_word(code: str) -> None:
    language = MINIATURE_LANGUAGES[code]
    missing = set(CONCEPTS) - language.concepts()
    # articles may be endings or absent, and so may the copula
    assert missing <= {"definite", "indefinite", "be"}
    assert len(language.concepts()) >= 120
    assert language.concepts() <= set(CONCEPTS)


@pytest.mark.parametrize("code", CODES)
def test_no_two_nouns_verbs_or_adjectives_share_a_word(code: str) -> None:
    language = MINIATURE_LANGUAGES[code]
    for entries in (language.nouns, language.names, language.verbs, language.adjectives):
        forms = Counter(entry[0] for entry in entries.values())
        assert max(forms.values()) == 1, forms.most_common(2)


def test_unrelated_languages_share_few_words() -> None:
    for one, two in combinations(CODES, 2):
        if {one, two} in GENERA:
            continue
        first, second = MINIATURE_LANGUAGES[one], MINIATURE_LANGUAGES[two]
        shared = sum(first.entry(noun)[0] == second.entry(noun)[0] for noun in NOUNS)
        shared += sum(first.verbs[verb][0] == second.verbs[verb][0] for verb in VERBS)
        assert shared <= 0.15 * (len(NOUNS) + len(VERBS)), (one, two, shared)


@pytest.mark.parametrize("code", CODES)
def test_letters_are_of_the_declared_script(code: str, said: dict[str, list[Sentence]]) -> None:
    script = MINIATURE_LANGUAGES[code].script
    letters = {letter for sentence in said[code] for letter in sentence.text if letter.isalpha()}
    assert letters
    assert {
        letter for letter in letters if not unicodedata.name(letter).startswith(script)
    } == set()
    for sentence in said[code]:
        assert unicodedata.is_normalized("NFC", sentence.text) or code == "hi"


def test_at_least_four_scripts() -> None:
    assert len({language.script for language in MINIATURE_LANGUAGES.values()}) >= 4


def order_of(code: str, *relations: str) -> str:
    """Return the order of subject, verb and object in a plain transitive clause."""
    clause = Clause(Thing("dog", "definite"), "see", Thing("cat", "definite"))
    sentence = MINIATURE_LANGUAGES[code].sentence(Meaning(clause))
    letters = {"nsubj": "S", "root": "V", "obj": "O"}
    return "".join(letters.get(relation, "") for relation in sentence.relations)


def test_word_orders_of_clauses() -> None:
    expected = dict.fromkeys(["en", "es", "de", "fr", "ru", "bg", "vi", "zh", "id", "fi"], "SVO")
    expected |= {"hi": "SOV", "tr": "SOV", "ar": "VSO"}
    assert {code: order_of(code) for code in REQUIRED} == expected


def test_german_verbs_come_second_or_last() -> None:
    german = MINIATURE_LANGUAGES["de"]
    dog, cat = Thing("dog", "definite"), Thing("cat", "definite")
    main = Clause(dog, "see", cat, time="today", time_first=True)
    meaning = Meaning(main, "because", Clause(cat, "buy", Thing("book", "indefinite")))
    assert german.sentence(meaning).text == (
        "Heute sieht der Hund die Katze, weil die Katze ein Buch kauft."
    )


def position(code: str, clause: Clause, relation: str, head: str) -> int:
    """Return -1 if the dependent in ``relation`` stands before a head of UPOS ``head``, else 1."""
    sentence = MINIATURE_LANGUAGES[code].sentence(Meaning(clause))
    for index, name in enumerate(sentence.relations):
        governor = sentence.heads[index] - 1
        if name == relation and sentence.upos[governor] == head:
            return 1 if index > governor else -1
    return 0


def test_adjectives_before_or_after_nouns() -> None:
    clause = Clause(Thing("box", "definite", adjective="red"), "clean")
    after = {"es", "fr", "vi", "ar", "id"}
    for code in REQUIRED:
        assert position(code, clause, "amod", "NOUN") == (1 if code in after else -1), code


def test_adpositions_before_or_after_nouns() -> None:
    place = Circumstance("near", Thing("house", "definite"))
    clause = Clause(Thing("dog", "definite"), "sleep", circumstances=(place,))
    after = {"hi", "tr", "fi"}
    for code in REQUIRED:
        assert position(code, clause, "case", "NOUN") == (1 if code in after else -1), code


def test_articles_and_spaces() -> None:
    clause = Clause(Thing("dog", "definite"), "sleep")
    texts = {c: MINIATURE_LANGUAGES[c].sentence(Meaning(clause)).text for c in REQUIRED}
    assert texts == {
        "en": "The dog sleeps.",
        "es": "El perro duerme.",
        "de": "Der Hund schläft.",
        "fr": "Le chien dort.",
        "ru": "Собака спит.",
        "bg": "Кучето спи.",
        "hi": "कुत्ता सोता है।",
        "vi": "Con chó ngủ.",
        "ar": "ينام الكلب.",
        "zh": "狗睡觉。",
        "tr": "Köpek uyuyor.",
        "id": "Anjing tidur.",
        "fi": "Koira nukkuu.",
    }


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("es", "El perro del rey camina al mercado."),
        ("fr", "Le chien du roi marche au marché."),
        ("de", "Der Hund vom König geht zum Markt."),
    ],
)
def test_contractions_are_multiword_tokens(code: str, text: str) -> None:
    dog = Thing("dog", "definite", owner=Thing("king", "definite"))
    market = Circumstance("to", Thing("market", "definite"))
    sentence = MINIATURE_LANGUAGES[code].sentence(
        Meaning(Clause(dog, "walk", circumstances=(market,)))
    )
    assert sentence.text == text
    assert sum(token.stop - token.start == 2 for token in sentence.tokens) == 2


def test_arabic_and_is_written_on() -> None:
    subject = Thing("man", "definite", partner=Thing("boy", "definite"))
    sentence = MINIATURE_LANGUAGES["ar"].sentence(Meaning(Clause(subject, "sleep")))
    assert sentence.text == "ينام الرجل والولد."
    assert [token.form for token in sentence.tokens if token.stop - token.start == 2] == ["والولد"]


@pytest.mark.parametrize("code", CODES)
def test_trees_are_valid(code: str, said: dict[str, list[Sentence]]) -> None:
    text = "".join(as_conllu(s, f"s-{n}") for n, s in enumerate(said[code]))
    parsed = conllu.parse(text)
    assert len(parsed) == len(said[code])
    tags: set[str] = set()
    for rows, sentence in zip(parsed, said[code], strict=True):
        words = [row for row in rows if isinstance(row["id"], int)]
        assert [row["id"] for row in words] == list(range(1, len(words) + 1))
        heads = {row["id"]: row["head"] for row in words}
        roots = [row for row in words if row["head"] == 0]
        assert len(roots) == 1
        assert roots[0]["deprel"] == "root"
        for word in heads:  # every word hangs, step by step, from the root
            steps = 0
            while word:
                word, steps = heads[word], steps + 1
                assert steps <= len(words)
        assert all(row["form"] and row["deprel"] for row in words)
        tags |= {row["upos"] for row in words}
        assert rows.metadata["text"] == sentence.text == spelled(rows)
        check_ranges(rows, len(words))
    assert tags <= UNIVERSAL_TAGS
    assert len(tags) >= 12, tags


def check_ranges(rows: conllu.TokenList, count: int) -> None:
    """Check that multiword rows come right before the words that they cover, without overlap."""
    covered = 0
    for index, row in enumerate(rows):
        if isinstance(row["id"], tuple):
            first, dash, last = row["id"]
            assert dash == "-"
            assert covered < first < last <= count
            assert rows[index + 1]["id"] == first
            assert row["upos"] == "_" or row["upos"] is None
            covered = last


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


def lemmas_of(code: str) -> dict[str, set[str]]:
    """Return, for every word of a lexeme, the concepts it may be part of: by lexicon only."""
    language = MINIATURE_LANGUAGES[code]
    found: dict[str, set[str]] = {}
    for concept in (*NOUNS, *NAMES, *VERBS, *ADJECTIVES):
        if concept in VERBS:
            lemma = concept if code == "en" else language.verbs[concept][0]
        elif concept in ADJECTIVES:
            lemma = language.adjectives[concept][0]
        else:
            lemma = language.entry(concept)[0]
        for part in lemma.split(" "):
            found.setdefault(part, set()).add(concept)
    return found


@pytest.mark.parametrize("code", [code for code in CODES if code != "en"])
def test_links_join_words_of_one_concept(code: str, said: dict[str, list[Sentence]]) -> None:
    english_lemmas, other_lemmas = lemmas_of("en"), lemmas_of(code)
    content = {"NOUN", "PROPN", "VERB", "ADJ"}
    checked = linked = 0
    for english, other in zip(said["en"], said[code], strict=True):
        ours, theirs = unit_words(english), unit_words(other)
        links = align(english, other)
        assert links == sorted(set(links))
        for i, j in links:
            assert 0 <= i < len(ours)
            assert 0 <= j < len(theirs)
        for i, words in enumerate(ours):
            if english.upos[words[0]] not in content or english.lemmas[words[0]] == "many":
                continue
            concepts = english_lemmas[english.lemmas[words[0]]]
            partners = [w for k, j in links if k == i for w in theirs[j]]
            checked += 1
            linked += any(other_lemmas.get(other.lemmas[w], set()) & concepts for w in partners)
    assert checked > 500
    assert linked == checked


def unit_words(sentence: Sentence) -> list[range]:
    """Return the words that each aligned unit covers."""
    spans = []
    for token in sentence.tokens:
        pieces = [form for form, _ in sentence.aligned_units()]
        text = ""
        while text != token.form:
            text += pieces[len(spans)]
            spans.append(range(token.start, token.stop))
    return spans


def test_gold_rows() -> None:
    meaning = Meaning(
        Clause(Thing("dog", "definite"), "read", Thing("book", "indefinite"), negated=True)
    )
    english = MINIATURE_LANGUAGES["en"].sentence(meaning)
    rows = {
        c: gold_row(english, MINIATURE_LANGUAGES[c].sentence(meaning)) for c in ("fr", "tr", "zh")
    }
    first = "The dog does not read a book .\t"
    assert (
        rows["fr"] == first + "Le chien ne lit pas un livre .\t0-0 1-1 2-3 3-2 3-4 4-3 5-5 6-6 7-7"
    )
    assert rows["tr"] == first + "Köpek bir kitap okumuyor .\t1-0 2-3 3-3 4-3 5-1 6-2 7-4"
    assert rows["zh"] == first + "狗 不 读 一 本 书 。\t1-0 2-2 3-1 4-2 5-3 6-5 7-6"


def test_alignment_is_symmetric(said: dict[str, list[Sentence]]) -> None:
    for one, two in zip(said["hi"], said["ar"], strict=True):
        assert align(one, two) == sorted((i, j) for j, i in align(two, one))


def test_units_are_what_moses_makes_of_the_text(said: dict[str, list[Sentence]]) -> None:
    sacremoses = pytest.importorskip("sacremoses")
    for code in ("en", "es", "de", "fr", "ru", "bg", "hi", "vi", "ar", "tr", "id", "fi"):
        tokeniser = sacremoses.MosesTokenizer(lang=code)
        for sentence in said[code][:60]:
            units = [form for form, _ in sentence.aligned_units()]
            assert tokeniser.tokenize(sentence.text, escape=False) == units
