"""From a meaning to a sentence: words, their tree, and for every word the meaning it came from.

A language is a row of ``languages.csv``: how it orders, marks and spells. In the orders below a
letter stands for a slot:

clause
    S subject, V verb, O object, P circumstances, T time, M manner, N negation, X past (where verbs
    have no endings), C copula, A predicate adjective or kind
noun phrase
    X demonstrative, D article, Q number or quantity, H noun, A adjective, G owner

The source of a word is the path of the node of the meaning that it expresses, such as
``1.object.noun``. Words of two languages that share a source are translations of each other, which
is all that word alignment, tags carried across languages, or answers to questions need to know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from mbert_atlas.miniature.concepts import (
    ADJECTIVES,
    FEMININE,
    INTERROGATIVES,
    KIND,
    NAMES,
    NOUNS,
    NUMERALS,
    PEOPLE,
    PRONOUNS,
)
from mbert_atlas.miniature.meanings import Clause, Meaning, Thing
from mbert_atlas.miniature.words import PUNCTUATION, UNSPACED, changed, ending, roots, spelled

NAMESPACES = ("File", "Template", "Category")
"""What MediaWiki calls files, templates and categories, here in every language."""


class Features(NamedTuple):
    """What agrees or is governed in a noun phrase: gender, number, case, and the determiner."""

    gender: str
    plural: bool
    case: str = ""
    determiner: str = ""


class Word:
    """One syntactic word under construction.

    Attributes:
        concept: what it expresses; empty for mere grammar.
        form: as written; ``upos`` and ``relation`` as in Universal Dependencies.
        sources: paths of the nodes of the meaning that it expresses; empty for mere grammar.
        head: the word it depends on, None for the root.
        joined: ``""`` if a space follows, ``"glued"`` if the next word follows without one, and
            ``"fused"`` if both are written as one orthographic token.
    """

    __slots__ = ("concept", "form", "head", "joined", "relation", "sources", "upos")

    def __init__(
        self,
        concept: str,
        form: str,
        upos: str,
        relation: str,
        sources: tuple[str, ...] = (),
        head: Word | None = None,
    ) -> None:
        self.concept, self.form, self.upos, self.relation = concept, form, upos, relation
        self.sources, self.head, self.joined = sources, head, ""

    def attach(self, head: Word, relation: str) -> None:
        """Make this word a dependent of ``head``."""
        self.head, self.relation = head, relation


class Token(NamedTuple):
    """An orthographic token: words ``start`` to ``stop - 1`` (0-based) of the sentence."""

    form: str
    start: int
    stop: int
    space_after: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its tree.

    Attributes:
        language: code.
        forms: syntactic words; ``lemmas``, ``upos``, ``heads`` (1-based, 0 is the root),
            ``relations`` and ``sources`` have one entry for each.
        tokens: orthographic tokens, each one or more words.
        text: the running text.
        spaced: whether the script puts spaces between words.
    """

    language: str
    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    sources: tuple[tuple[str, ...], ...]
    tokens: tuple[Token, ...]
    text: str
    spaced: bool

    def aligned_units(self) -> list[tuple[str, frozenset[str]]]:
        """Return the units that word aligners see, each with its sources.

        Units are orthographic tokens, cut into characters where the script puts no spaces.
        """
        units: list[tuple[str, frozenset[str]]] = []
        for token in self.tokens:
            sources = frozenset(
                source for word in self.sources[token.start : token.stop] for source in word
            )
            units.extend((part, sources) for part in self.units(token))
        return units

    def units(self, token: Token) -> list[str]:
        """Return the units of one token."""
        return [token.form] if self.spaced else list(token.form)


def align(source: Sentence, target: Sentence) -> list[tuple[int, int]]:
    """Return the true links between two sentences of one meaning, sorted.

    Args:
        source: sentence whose units (:meth:`Sentence.aligned_units`) come first in the links.
        target: the same meaning in another language.
    """
    by_source: dict[str, list[int]] = {}
    for j, (_, sources) in enumerate(target.aligned_units()):
        for name in sources:
            by_source.setdefault(name, []).append(j)
    links = {
        (i, j)
        for i, (_, sources) in enumerate(source.aligned_units())
        for name in sources
        for j in by_source.get(name, ())
    }
    return sorted(links)


_NO_WORDS: tuple[Word, ...] = ()
_CASES = {"of": "gen"}
"""Adposition -> the case it governs in a language of four cases; the others: ``obl``."""


@dataclass(frozen=True, eq=False)
class Language:
    """A row of ``languages.csv``.

    Attributes:
        code: as in ``resources/languages.csv``, like ``name``, ``family`` and ``genus``.
        iso639_3: code in Tatoeba's file names; ``script``: ISO 15924.
        order: of subject, verb and object (``SVO``); ``adposition``: ``prep`` or ``post``.
        genitive: ``NG`` if the owner follows; likewise ``adjective`` (``NA``), ``demonstrative``
            (``ND``) and ``numeral`` (``NQ``).
        article: how *the* is expressed: ``none``, ``word``, ``prefix`` or ``suffix``.
        cases: 0; 4: nominative, accusative, genitive, oblique; 7: endings for adpositions.
        genders: 0, 2 or 3, which articles and adjectives show.
        fusion: ``isolating`` (no endings), ``fusional`` (one ending) or ``agglutinating``
            (several).
        classifiers: whether a word stands between number and noun.
        copula: whether *is* is said.
        changes: its sounds, as :func:`mbert_atlas.miniature.words.changed` reads them.
    """

    code: str
    iso639_3: str
    name: str
    family: str
    genus: str
    script: str
    order: str
    adposition: str
    genitive: str
    adjective: str
    demonstrative: str
    numeral: str
    article: str
    cases: int
    genders: int
    fusion: str
    classifiers: bool
    copula: bool
    changes: str

    @property
    def spaced(self) -> bool:
        """Whether the script puts spaces between words."""
        return self.script not in UNSPACED

    @cached_property
    def clause_order(self) -> str:
        """Order of a clause."""
        return {"SVO": "STCXNVAOMP", "SOV": "STPOMAXNVC", "VSO": "TXNVCASOMP"}[self.order]

    @cached_property
    def phrase_order(self) -> str:
        """Order of a noun phrase: ``DGXQAH``, and behind the noun what the row puts there."""
        pairs = (
            ("D", "D"),
            ("G", self.genitive),
            ("X", self.demonstrative),
            ("Q", self.numeral),
            ("A", self.adjective),
        )
        after = [slot for slot, order in reversed(pairs) if order[0] == "N"]
        return "".join([*(s for s, order in pairs if order[0] != "N"), "H", *after])

    # ---- forms

    def form(self, concept: str, *marks: str) -> str:
        """Return the form of a concept's word; empty marks don't count.

        ``form("dog", "plural", "acc")`` is ``dog`` and one ending for ``plural+acc`` where endings
        fuse, or one for each where they are strung together.
        """
        return self._form(concept, tuple(mark for mark in marks if mark))

    @cache  # noqa: B019 - the languages live as long as the program
    def _form(self, concept: str, marks: tuple[str, ...]) -> str:
        return self.spell(self.letters(concept, marks))

    def letters(self, concept: str, marks: Sequence[str]) -> str:
        """Return a form in Latin letters."""
        stem = roots(self.genus)[concept]
        if marks and self.fusion != "isolating":
            whole = "+".join((concept, *marks))
            known = roots(self.genus).get(whole)
            if known is None and "past" in marks:  # English verbs have one past
                known = roots(self.genus).get(whole.removesuffix("+3pl"))
            if known is not None:
                return known
            parts = ["+".join(marks)] if self.fusion == "fusional" else marks
            for part in parts:
                added = ending(self.genus, part)
                stem = stem.removesuffix(added[:1] if stem[-1] in "aeiou" else "") + added
        return stem

    def spell(self, letters: str) -> str:
        """Write letters with the sounds and the script of the language."""
        return spelled(changed(letters, self.changes), self.script)

    def citation(self, concept: str) -> str:
        """Return the word for a concept as a dictionary has it."""
        form = self.form(concept)
        return form[0].upper() + form[1:] if concept in NAMES else form

    def gender(self, noun: str) -> str:
        """Return the grammatical gender: of persons their own, else the genus's, by its root."""
        if not self.genders:
            return ""
        if noun in PRONOUNS:
            return PRONOUNS[noun]
        if noun in PEOPLE or KIND.get(noun, noun) == "person":
            return "f" if noun in FEMININE else "m"
        letters = roots(self.genus).get(noun, noun)
        return "mfn"[sum(map(ord, letters)) % self.genders]

    def agreement(self, features: Features) -> tuple[str, ...]:
        """Return the marks of what agrees with a noun."""
        if self.fusion != "fusional":
            return ()
        return features.gender, "plural" if features.plural and self.genders else "", features.case

    # ---- noun phrases

    def phrase(self, thing: Thing, path: str, case: str = "") -> tuple[list[Word], Word, Features]:
        """Return the words of a noun phrase, its head and what agrees with it."""
        words, head, features = self.single(thing, path, case)
        if thing.partner is None:
            return words, head, features
        others, other, _ = self.single(thing.partner, path + ".partner", case)
        link = Word("and", self.form("and"), "CCONJ", "cc", (path + ".and",), other)
        other.attach(head, "conj")
        return (
            [*words, link, *others],
            head,
            features._replace(plural=True, gender="m" * bool(self.genders)),
        )

    def single(self, thing: Thing, path: str, case: str) -> tuple[list[Word], Word, Features]:
        """Return a noun phrase without its partner; see :meth:`phrase`."""
        noun, source = thing.noun, (path + ".noun",)
        case = case if self.cases else ""
        features = Features(
            "m" * bool(self.genders) if noun in INTERROGATIVES else self.gender(noun),
            thing.plural,
            case,
            thing.determiner,
        )
        if noun in PRONOUNS or noun in INTERROGATIVES:
            head = Word(noun, self.form(noun, case), "PRON", "", source)
            return [head], head, features
        counted = self.classifiers and thing.determiner in NUMERALS
        form = self.form(noun, "plural" if thing.plural and not counted else "", case)
        if noun in NAMES:
            form = form[0].upper() + form[1:]
        if thing.determiner == "definite" and self.article == "suffix":
            form += self.spell(ending(self.genus, "definite"))
        head = Word(noun, form, "PROPN" if noun in NAMES else "NOUN", "", source)
        slots = {"H": [head], **self.determiners(thing, features, path, head)}
        if thing.adjective is not None:
            slots["A"], adjective = self.adjective_phrase(
                thing.adjective, thing.intensified, features, path + ".", "adjective"
            )
            adjective.attach(head, "amod")
        if thing.owner is not None:
            slots["G"], owner = self.adpositional("of", thing.owner, path + ".owner")
            owner.attach(head, "nmod")
        return [w for slot in self.phrase_order for w in slots.get(slot, _NO_WORDS)], head, features

    def determiners(
        self, thing: Thing, features: Features, path: str, head: Word
    ) -> dict[str, list[Word]]:
        """Return demonstrative, article, or number and its classifier."""
        concept, source = thing.determiner, (path + ".determiner",)
        marks = self.agreement(features)
        if concept in NUMERALS:
            words = [Word(concept, self.form(concept), "NUM", "nummod", source, head)]
            if self.classifiers:
                words.append(
                    Word("", self.form(KIND.get(thing.noun, thing.noun)), "NOUN", "clf", (), head)
                )
            return {"Q": words}
        if concept == "many":
            return {"Q": [Word(concept, self.form("many"), "DET", "det", source, head)]}
        if concept == "this":
            plural = "plural" if features.plural and self.fusion == "fusional" else ""
            marks = marks if self.genders else (plural,)
            return {"X": [Word(concept, self.form("this", *marks), "DET", "det", source, head)]}
        if concept not in ("definite", "indefinite") or self.article not in ("word", "prefix"):
            return {}
        if concept == "indefinite" and (features.plural or self.article == "prefix"):
            return {}
        word = Word(concept, self.form(concept, *marks), "DET", "det", source, head)
        word.joined = "fused" if self.article == "prefix" else ""
        return {"D": [word]}

    def adjective_phrase(
        self, adjective: str, very: bool, features: Features, prefix: str, role: str
    ) -> tuple[list[Word], Word]:
        """Return an adjective that agrees with ``features``, perhaps with ``very``."""
        form = self.form(adjective, *self.agreement(features))
        head = Word(adjective, form, "ADJ", "", (prefix + role,))
        if not very:
            return [head], head
        return [
            Word("very", self.form("very"), "ADV", "advmod", (prefix + "very",), head),
            head,
        ], head

    def adpositional(self, concept: str, thing: Thing, path: str) -> tuple[list[Word], Word]:
        """Return a noun phrase with its adposition or case, and the head of the noun phrase."""
        source = (path + ".adposition",)
        case = {0: "", 4: _CASES.get(concept, "obl"), 7: concept}[self.cases]
        words, head, _ = self.phrase(thing, path, case)
        if self.cases == 7 or case == "gen":
            head.sources += source
            return words, head
        marker = Word(concept, self.form(concept), "ADP", "case", source, head)
        if self.adposition == "post":
            return [*words, marker], head
        if words[0].upos == "DET" and words[0].concept == "definite" and self.genders:
            marker.joined = "fused"
        return [marker, *words], head

    # ---- clauses

    def clause(self, clause: Clause, path: str, order: str) -> tuple[list[Word], Word]:
        """Return the words of a clause in ``order`` and its head."""
        subject, subject_head, features = self.phrase(clause.subject, path + ".subject")
        nominal = clause.predicate in ADJECTIVES or clause.predicate in NOUNS
        slots, head = (self.nominal if nominal else self.verbal)(clause, features, path)
        subject_head.attach(head, "nsubj")
        slots["S"] = subject
        if clause.negated:
            slots["N"] = [
                Word("not", self.form("not"), "PART", "advmod", (path + ".negation",), head)
            ]
        if clause.object is not None:
            slots["O"], object_head, _ = self.phrase(clause.object, path + ".object", "acc")
            object_head.attach(head, "obj")
        for index, one in enumerate(clause.circumstances):
            words, noun = self.adpositional(one.adposition, one.thing, f"{path}.{index}")
            noun.attach(head, "obl")
            slots.setdefault("P", []).extend(words)
        for slot, name, concept in (("T", "time", clause.time), ("M", "manner", clause.manner)):
            if concept is not None:
                source = (f"{path}.{name}",)
                slots[slot] = [Word(concept, self.form(concept), "ADV", "advmod", source, head)]
        return [word for slot in order for word in slots.get(slot, _NO_WORDS)], head

    def tense(self, clause: Clause, features: Features) -> tuple[str, ...]:
        """Return the marks of a verb or copula."""
        if clause.past:
            return "past", "3pl" if features.plural else ""
        return ("3pl" if features.plural else "3sg" if self.fusion == "fusional" else "",)

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Return the slots that a verb fills, and its head."""
        form = self.form(clause.predicate, *self.tense(clause, features))
        head = Word(clause.predicate, form, "VERB", "", (path + ".predicate",))
        if not (clause.past and self.fusion == "isolating"):
            return {"V": [head]}, head
        past = Word("", self.spell(ending(self.genus, "past")), "AUX", "aux", (), head)
        return {"V": [head], "X": [past]}, head

    def nominal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Return the slots that an adjective or a kind fills as predicate, and its head."""
        if clause.predicate in ADJECTIVES:
            words, head = self.adjective_phrase(
                clause.predicate,
                clause.intensified,
                features._replace(case=""),
                path + ".",
                "predicate",
            )
        else:
            kind = Thing(clause.predicate, "indefinite", clause.subject.plural)
            words, head, _ = self.single(kind, path + ".kind", "")
        slots = {"A": words}
        if self.copula or clause.past:
            marks = self.tense(clause, features)
            form = self.form("be", *(mark for mark in marks if mark != "3sg"))
            slots["C"] = [Word("be", form, "AUX", "cop", (path + ".copula",), head)]
        return slots, head

    # ---- sentences

    def sentence(
        self, meaning: Meaning, foreign: Callable[[str], str | None] | None = None
    ) -> Sentence:
        """Say ``meaning`` in this language.

        Args:
            meaning: what to say.
            foreign: says for the concept of a noun, verb or adjective in which foreign word it is
                put, or None for the language's own.
        """
        full_stop, comma, _ = PUNCTUATION.get(self.script, ".,?")
        order = self.clause_order
        if meaning.first.time_first:
            order = "T" + order.replace("T", "")
        words, root = self.clause(meaning.first, "1", order)
        root.relation = "root"
        if meaning.second is not None and meaning.connective is not None:
            because = meaning.connective == "because"
            second, head = self.clause(meaning.second, "2", self.clause_order)
            head.attach(root, "advcl" if because else "conj")
            tag, relation = ("SCONJ", "mark") if because else ("CCONJ", "cc")
            form = self.form(meaning.connective)
            link = Word(meaning.connective, form, tag, relation, ("connective",), head)
            words[-1].joined = "glued"
            words += [Word("", comma, "PUNCT", "punct", ("comma",), head), link, *second]
        words[-1].joined = "glued"
        words.append(Word("", full_stop, "PUNCT", "punct", ("full stop",), root))
        if foreign is not None:
            for word in words:
                if word.upos in ("NOUN", "VERB", "ADJ") and word.concept:
                    word.form = foreign(word.concept) or word.form
        return self.finished(words)

    def question(self, clause: Clause) -> str:
        """Return the text of a question, whose question word stays where the answer would stand.

        Args:
            clause: an affirmative clause with a verb; what it asks for (``clause.asked``) is
                ``who`` or ``what`` there, or ``where`` as its time.
        """
        words, root = self.clause(clause, "1", self.clause_order)
        root.relation = "root"
        words[-1].joined = "glued"
        mark = PUNCTUATION.get(self.script, ".,?")[2]
        words.append(Word("", mark, "PUNCT", "punct", (), root))
        return self.finished(words).text

    def title(self, thing: Thing) -> str:
        """Return the text of a noun phrase on its own, capitalised."""
        return self.finished(self.phrase(thing, "")[0]).text

    def finished(self, words: list[Word]) -> Sentence:
        """Number the words, write contractions together and add the text."""
        words[0].form = words[0].form[0].upper() + words[0].form[1:]
        number = {id(word): index for index, word in enumerate(words, 1)}
        tokens: list[Token] = []
        start = 0
        while start < len(words):
            stop = start + 1
            form = words[start].form
            while words[stop - 1].joined == "fused":
                form += words[stop].form
                stop += 1
            space = self.spaced and words[stop - 1].joined != "glued" and stop < len(words)
            tokens.append(Token(form, start, stop, space))
            start = stop
        return Sentence(
            self.code,
            tuple(word.form for word in words),
            tuple(self.citation(word.concept) if word.concept else word.form for word in words),
            tuple(word.upos for word in words),
            tuple(0 if word.head is None else number[id(word.head)] for word in words),
            tuple(word.relation for word in words),
            tuple(word.sources for word in words),
            tuple(tokens),
            "".join(token.form + " " * token.space_after for token in tokens),
            self.spaced,
        )
