"""From a meaning to a sentence: words, their tree, and for every word the meaning it came from.

A language of the miniature is a subclass of :class:`Language`: a lexicon, a few rules of
inflection, and templates of word order. In the templates a letter stands for a slot:

clause
    S subject, V verb, O object, P circumstances, T time, M manner, N negation, K second half of a
    negation, X auxiliary, C copula, A predicate adjective or kind
noun phrase
    X demonstrative, D article, Q number or quantity, B adjective before the noun, H noun,
    A adjective, G owner

The source of a word is the path of the node of the meaning that it expresses, such as
``1.object.noun``. Words of two languages that share a source are translations of each other, which
is all that word alignment, tags carried across languages, or answers to questions need to know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, get_args

from mbert_atlas.miniature.concepts import (
    ANIMATE,
    FEMININE,
    HUMAN,
    INTERROGATIVES,
    NAMES,
    NUMERALS,
    PRONOUNS,
)
from mbert_atlas.miniature.meanings import (
    Asked,
    Circumstance,
    Clause,
    Meaning,
    Thing,
    is_adjective,
)


def table(text: str) -> dict[str, tuple[str, ...]]:
    """Read a lexicon: entries end in ``;`` or a line end, ``_`` is a blank inside a form.

    The first field of an entry is the concept, the others are what the language needs to know; a
    lone field is both.
    """
    rows = (row.split() for row in text.replace("\n", ";").split(";"))
    return {
        row[0]: tuple(field.replace("_", " ") for field in row[1:] or row) for row in rows if row
    }


def patterns(text: str) -> dict[str, tuple[str, str]]:
    """Read adpositions, entries as in :func:`table`: concept, case (``-`` for none), pattern."""
    rows = (row.split(None, 2) for row in text.replace("\n", ";").split(";") if row.strip())
    return {concept: (case.strip("-"), pattern.strip()) for concept, case, pattern in rows}


def contracted(text: str) -> dict[tuple[str, str], str]:
    """Read contractions: entries of preposition, article and what they become together."""
    rows = (row.split() for row in text.split(";"))
    return {(preposition, article): form for preposition, article, form in rows}


class Features(NamedTuple):
    """What agrees or is governed in a noun phrase.

    Attributes:
        gender: grammatical gender (``m``, ``f`` or ``n``).
        plural: whether several are meant; numerals may ask for a singular all the same.
        human: whether a person is meant; ``animate``: a person or an animal.
        case: name of the case; languages without cases pass over it.
        determiner: the determiner of the thing meant.
        modified: whether an adjective goes with it; ``owned``: whether an owner does.
    """

    gender: str
    plural: bool
    human: bool
    animate: bool
    case: str = "nom"
    determiner: str = ""
    modified: bool = False
    owned: bool = False

    @property
    def counted(self) -> bool:
        """Whether a numeral goes with the noun."""
        return self.determiner in NUMERALS


class Word:
    """One syntactic word under construction.

    Attributes:
        form: as written; ``lemma``, ``upos`` and ``relation`` as in Universal Dependencies.
        sources: paths of the nodes of the meaning that it expresses; empty for mere grammar.
        head: the word it depends on, None for the root.
        joined: ``""`` if a space follows, ``"glued"`` if the next word follows without one, and
            ``"fused"`` if both are written as one orthographic token.
    """

    __slots__ = ("form", "head", "joined", "lemma", "relation", "sources", "upos")

    def __init__(
        self,
        form: str,
        lemma: str,
        upos: str,
        relation: str,
        sources: tuple[str, ...] = (),
        head: Word | None = None,
    ) -> None:
        self.form, self.lemma, self.upos, self.relation = form, lemma, upos, relation
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

        Units are orthographic tokens, cut after an apostrophe (as Moses tokenisers do) and into
        characters where the script puts no spaces.
        """
        units: list[tuple[str, frozenset[str]]] = []
        for token in self.tokens:
            sources = frozenset(
                source for word in self.sources[token.start : token.stop] for source in word
            )
            pieces = _APOSTROPHE.split(token.form) if self.spaced else list(token.form)
            units.extend((piece, sources) for piece in pieces if piece)
        return units


_APOSTROPHE = re.compile(r"(?<=')")
_NO_WORDS: tuple[Word, ...] = ()


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


class Language:
    """What the languages share: building trees and putting them in order.

    A subclass gives the tables and templates below and overrides the methods that inflect.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    script: ClassVar[str]
    """Prefix of the Unicode names of its letters (``LATIN``, ``CJK``)."""
    namespaces: ClassVar[tuple[str, str, str]]
    """What MediaWiki calls files, templates and categories."""

    nouns: ClassVar[dict[str, tuple[str, ...]]]
    names: ClassVar[dict[str, tuple[str, ...]]]
    verbs: ClassVar[dict[str, tuple[str, ...]]]
    adjectives: ClassVar[dict[str, tuple[str, ...]]]
    others: ClassVar[dict[str, tuple[str, ...]]]
    """Adverbs, pronouns, numerals, ``this``, ``many``, connectives and ``not``."""
    adpositions: ClassVar[dict[str, tuple[str, str]]]
    """Concept -> case it governs and pattern, in which ``_`` stands for the noun phrase; a pattern
    that is only ``_`` says that the case ending is all there is."""

    clause_order: ClassVar[str]
    fronted_order: ClassVar[str]
    subordinate_order: ClassVar[str]
    phrase_order: ClassVar[str] = "XDQBHAG"

    interrogatives: ClassVar[dict[str, tuple[str, ...]]]
    """``who`` and ``what`` as subject and as object, and ``where``."""
    question_orders: ClassVar[tuple[str, str, str] | None] = None
    """Order of clauses that ask for the subject, the object or the place (in slot T); that of
    statements where question words stay in their place."""

    full_stop: ClassVar[str] = "."
    question_marks: ClassVar[tuple[str, str]] = ("", "?")
    """What stands before and after a question."""
    comma: ClassVar[str] = ","
    spaced: ClassVar[bool] = True
    articles: ClassVar[bool] = False
    """Whether ``the`` is expressed, by a word or an ending."""
    head_final: ClassVar[bool] = False
    """Whether the last part of a lexeme of several words is its head."""
    intensifier_after: ClassVar[bool] = False
    early_adjectives: ClassVar[frozenset[str]] = frozenset()
    """Adjectives that go to slot B."""
    contractions: ClassVar[dict[tuple[str, str], str]] = {}

    # ---- inflection, for the subclasses

    def noun(self, noun: str, features: Features) -> str:
        """Return the form of a common noun or a name."""
        return self.entry(noun)[0]

    def adjective(self, adjective: str, features: Features, attributive: bool) -> str:
        """Return the form of an adjective that agrees with ``features``."""
        return self.adjectives[adjective][0]

    def verb(self, verb: str, past: bool, features: Features) -> str:
        """Return the affirmative form of a verb whose subject has ``features``."""
        return self.verbs[verb][0]

    def copula(self, clause: Clause, features: Features) -> str:
        """Return the copula, or nothing if the language leaves it out."""
        return ""

    def determiners(self, thing: Thing, features: Features) -> list[tuple[str, str, str, str]]:
        """Return what stands for the determiner: slot, form, UPOS and relation of each word."""
        return []

    def adposition(self, concept: str, thing: Thing, host: Features | None) -> tuple[str, str]:
        """Return the case and the pattern for ``thing``; ``host`` is what an owner owns."""
        return self.adpositions[concept]

    def object_marking(self, clause: Clause) -> tuple[str, str]:
        """Return the case and the pattern of the clause's object."""
        return "acc", "_"

    def sandhi(self, words: list[Word]) -> None:
        """Adapt forms to their neighbours, in place."""

    # ---- lexicon

    def entry(self, noun: str) -> tuple[str, ...]:
        """Return the lexicon's entry of a common noun or a name."""
        return self.names[noun] if noun in NAMES else self.nouns[noun]

    def other(self, concept: str, form: int = 0) -> str:
        """Return a form of an adverb, pronoun, numeral, connective or question word."""
        entries = self.interrogatives if concept in INTERROGATIVES else self.others
        return entries[concept][form]

    def gender(self, noun: str) -> str:
        """Return the grammatical gender; by default that of the person meant."""
        entry = self.entry(noun)
        if len(entry) > 1 and entry[1] in ("m", "f", "n"):
            return entry[1]
        return "f" if noun in FEMININE else "m"

    def concepts(self) -> set[str]:
        """Return the concepts that have words of their own."""
        tables = (self.nouns, self.names, self.verbs, self.adjectives, self.others)
        return {concept for entries in tables for concept in entries} | set(self.adpositions)

    # ---- trees

    def lexeme(self, form: str, lemma: str, upos: str, sources: tuple[str, ...]) -> list[Word]:
        """Return the words of a lexeme; :meth:`head_of` finds the head among them."""
        if " " not in form:
            return [Word(form, lemma, upos, "", sources)]
        parts, lemmas = form.split(" "), lemma.split(" ")
        if len(lemmas) != len(parts):
            lemmas = parts
        side = "NOUN" if upos == "VERB" and self.head_final else upos
        relation = {"PROPN": "flat", "ADP": "fixed", "SCONJ": "fixed"}.get(upos, "compound")
        words = [
            Word(part, base, side, relation, sources)
            for part, base in zip(parts, lemmas, strict=True)
        ]
        head = self.head_of(words)
        head.upos = upos
        for word in words:
            if word is not head:
                word.head = head
        return words

    def head_of(self, words: Sequence[Word]) -> Word:
        """Return the head of a lexeme."""
        return words[-1 if self.head_final and words[0].upos not in ("ADP", "SCONJ") else 0]

    def features(self, thing: Thing, case: str) -> Features:
        """Return what agrees with ``thing``."""
        noun = thing.noun
        if noun in INTERROGATIVES:
            gender = "m"
        else:
            gender = PRONOUNS[noun][0] if noun in PRONOUNS else self.gender(noun)
        return Features(
            gender,
            thing.plural,
            noun in HUMAN,
            noun in ANIMATE,
            case,
            thing.determiner,
            thing.adjective is not None,
            thing.owner is not None,
        )

    def phrase(self, thing: Thing, path: str, case: str) -> tuple[list[Word], Word, Features]:
        """Return the words of a noun phrase, its head and what agrees with it."""
        words, head, features = self.single(thing, path, case)
        if thing.partner is None:
            return words, head, features
        others, other, other_features = self.single(thing.partner, path + ".partner", case)
        link = self.link("and", path + ".and", clausal=False)
        self.head_of(link).attach(other, "cc")
        other.attach(head, "conj")
        gender = "f" if features.gender == other_features.gender == "f" else "m"
        features = features._replace(
            plural=True, gender=gender, determiner="definite", modified=False
        )
        return [*words, *link, *others], head, features

    def link(self, connective: str, source: str, clausal: bool) -> list[Word]:
        """Return the word or words of a connective between clauses or noun phrases."""
        entry = self.others[connective]
        form = entry[-1] if clausal else entry[0]
        return self.lexeme(form, form, "SCONJ" if connective == "because" else "CCONJ", (source,))

    def single(self, thing: Thing, path: str, case: str) -> tuple[list[Word], Word, Features]:
        """Return a noun phrase without its partner; see :meth:`phrase`."""
        features = self.features(thing, case)
        noun = thing.noun
        if noun in PRONOUNS or noun in INTERROGATIVES:
            form = self.other(noun, noun in INTERROGATIVES and path.endswith(".object"))
            words = self.lexeme(form, form, "PRON", (path + ".noun",))
            return words, self.head_of(words), features
        upos = "PROPN" if noun in NAMES else "NOUN"
        words = self.lexeme(self.noun(noun, features), self.entry(noun)[0], upos, (path + ".noun",))
        head = self.head_of(words)
        slots: dict[str, list[Word]] = {"H": words}
        for slot, form, tag, relation in self.determiners(thing, features):
            source = () if relation == "clf" else (path + ".determiner",)
            slots.setdefault(slot, []).append(Word(form, form.lower(), tag, relation, source, head))
        if thing.adjective is not None:
            words, adjective = self.adjective_phrase(
                thing.adjective, thing.intensified, features, path + ".", True
            )
            adjective.attach(head, "amod")
            slots["B" if thing.adjective in self.early_adjectives else "A"] = words
        if thing.owner is not None:
            words, owner = self.adpositional("of", thing.owner, path + ".owner", features)
            owner.attach(head, "nmod")
            slots["G"] = words
        return (
            [word for slot in self.phrase_order for word in slots.get(slot, _NO_WORDS)],
            head,
            features,
        )

    def adjective_phrase(
        self, adjective: str, intensified: bool, features: Features, prefix: str, attributive: bool
    ) -> tuple[list[Word], Word]:
        """Return an adjective, perhaps with ``very``; sources start with ``prefix``."""
        form = self.adjective(adjective, features, attributive)
        source = prefix + ("adjective" if attributive else "predicate")
        words = self.lexeme(form, self.adjectives[adjective][0], "ADJ", (source,))
        head = self.head_of(words)
        if intensified:
            very = self.other("very")
            word = Word(very, very, "ADV", "advmod", (prefix + "very",), head)
            words = [*words, word] if self.intensifier_after else [word, *words]
        return words, head

    def adpositional(
        self, concept: str, thing: Thing, path: str, host: Features | None = None
    ) -> tuple[list[Word], Word]:
        """Return a noun phrase with its adposition, and the head of the noun phrase."""
        case, pattern = self.adposition(concept, thing, host)
        words, head, _ = self.phrase(thing, path, case)
        return self.with_marking(words, head, pattern, (path + ".adposition",)), head

    def with_marking(
        self, words: list[Word], head: Word, pattern: str, sources: tuple[str, ...]
    ) -> list[Word]:
        """Put ``words`` into a pattern of adpositions."""
        if pattern == "_":
            head.sources += sources
            return words
        before, _, after = (part.strip() for part in pattern.partition("_"))
        result = words
        if before:
            markers = self.marker(before.rstrip("+"), head, sources)
            markers[-1].joined = "fused" if before.endswith("+") else ""
            result = [*markers, *result]
        if after:
            result = [*result, *self.marker(after, head, sources)]
        return result

    def marker(self, form: str, head: Word, sources: tuple[str, ...]) -> list[Word]:
        """Return an adposition that depends on ``head``."""
        words = self.lexeme(form, form, "ADP", sources)
        words[0].attach(head, "case")
        return words

    def adverb(self, concept: str, source: str, head: Word) -> list[Word]:
        """Return an adverb that depends on ``head``."""
        form = self.other(concept)
        words = self.lexeme(form, form, "ADV", (source,))
        self.head_of(words).attach(head, "advmod")
        return words

    def verbal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Return the slots that a verb fills, and its head."""
        form = self.verb(clause.predicate, clause.past, features)
        words = self.lexeme(form, self.verbs[clause.predicate][0], "VERB", (path + ".predicate",))
        head = self.head_of(words)
        slots = {"V": words}
        if clause.negated:
            slots["N"] = [self.negation(path, head)]
        return slots, head

    def negation(
        self, path: str, head: Word, form: int = 0, upos: str = "PART", relation: str = "advmod"
    ) -> Word:
        """Return the word for ``not``."""
        text = self.other("not", form)
        return Word(text, text, upos, relation, (path + ".negation",), head)

    def nominal(
        self, clause: Clause, features: Features, path: str
    ) -> tuple[dict[str, list[Word]], Word]:
        """Return the slots that an adjective or a kind fills as predicate, and its head."""
        if is_adjective(clause.predicate):
            words, head = self.adjective_phrase(
                clause.predicate, clause.intensified, features, path + ".", False
            )
        else:
            kind = Thing(clause.predicate, "indefinite", clause.subject.plural)
            words, head, _ = self.single(kind, path + ".kind", "nom")
        slots = {"A": words}
        copula = self.copula(clause, features)
        if copula:
            slots["C"] = [Word(copula, copula, "AUX", "cop", (path + ".copula",), head)]
        if clause.negated:
            slots["N"] = [self.negation(path, head)]
        return slots, head

    def clause(self, clause: Clause, path: str, order: str) -> tuple[list[Word], Word]:
        """Return the words of a clause in ``order`` and its head."""
        subject, subject_head, features = self.phrase(clause.subject, path + ".subject", "nom")
        nominal = is_adjective(clause.predicate) or clause.predicate in self.nouns
        slots, head = (self.nominal if nominal else self.verbal)(clause, features, path)
        subject_head.attach(head, "nsubj")
        slots["S"] = subject
        if clause.object is not None:
            case, pattern = self.object_marking(clause)
            words, object_head, _ = self.phrase(clause.object, path + ".object", case)
            object_head.attach(head, "obj")
            slots["O"] = self.with_marking(words, object_head, pattern, ())
        if clause.circumstances:
            slots["P"] = []
            for index, circumstance in enumerate(clause.circumstances):
                slots["P"] += self.circumstance(circumstance, f"{path}.{index}", head)
        if clause.time is not None:
            slots["T"] = self.adverb(clause.time, path + ".time", head)
        if clause.manner is not None:
            slots["M"] = self.adverb(clause.manner, path + ".manner", head)
        return [word for slot in order for word in slots.get(slot, _NO_WORDS)], head

    def circumstance(self, circumstance: Circumstance, path: str, head: Word) -> list[Word]:
        """Return the words for where, with whom or for whom."""
        words, noun = self.adpositional(circumstance.adposition, circumstance.thing, path)
        noun.attach(head, "obl")
        return words

    def sentence(self, meaning: Meaning) -> Sentence:
        """Say ``meaning`` in this language."""
        order = self.fronted_order if meaning.first.time_first else self.clause_order
        words, root = self.clause(meaning.first, "1", order)
        root.relation = "root"
        if meaning.second is not None and meaning.connective is not None:
            because = meaning.connective == "because"
            link = self.link(meaning.connective, "connective", clausal=True)
            order = self.subordinate_order if because else self.clause_order
            second, head = self.clause(meaning.second, "2", order)
            self.head_of(link).attach(head, "mark" if because else "cc")
            head.attach(root, "advcl" if because else "conj")
            words[-1].joined = "glued"
            comma = Word(self.comma, self.comma, "PUNCT", "punct", ("comma",), head)
            words += [comma, *link, *second]
        words[-1].joined = "glued"
        words.append(Word(self.full_stop, self.full_stop, "PUNCT", "punct", ("full stop",), root))
        self.sandhi(words)
        return self.finished(words)

    def question(self, clause: Clause) -> str:
        """Return the text of a question.

        Args:
            clause: an affirmative clause with a verb; what it asks for (``clause.asked``) is
                ``who`` or ``what`` there, or ``where`` as its time.
        """
        assert clause.asked is not None
        orders = self.question_orders or (self.clause_order,) * 3
        words, root = self.clause(clause, "1", orders[get_args(Asked).index(clause.asked)])
        root.relation = "root"
        before, after = self.question_marks
        words[-1].joined = "glued"
        words.append(Word(after, after, "PUNCT", "punct", (), root))
        self.sandhi(words)
        return before + self.finished(words).text

    def title(self, thing: Thing) -> str:
        """Return the text of a noun phrase on its own, capitalised."""
        words, _, _ = self.phrase(thing, "", "nom")
        self.sandhi(words)
        return self.finished(words).text

    def capitalised(self, form: str) -> str:
        """Return ``form`` with its first letter in upper case."""
        return form[0].upper() + form[1:]

    def finished(self, words: list[Word]) -> Sentence:
        """Number the words, write contractions together and add the text."""
        words[0].form = self.capitalised(words[0].form)
        number = {id(word): index for index, word in enumerate(words, 1)}
        tokens: list[Token] = []
        start = 0
        while start < len(words):
            stop = start + 1
            form = words[start].form
            while words[stop - 1].joined == "fused":
                form = self.fuse(form, words[stop].form)
                stop += 1
            if stop == start + 1 and stop < len(words) and words[start].upos == "ADP":
                contracted = self.contractions.get((form, words[stop].form))
                if contracted is not None and words[stop].upos == "DET":
                    form, stop = contracted, stop + 1
            space = self.spaced and words[stop - 1].joined != "glued" and stop < len(words)
            tokens.append(Token(form, start, stop, space))
            start = stop
        return Sentence(
            self.code,
            tuple(word.form for word in words),
            tuple(word.lemma for word in words),
            tuple(word.upos for word in words),
            tuple(0 if word.head is None else number[id(word.head)] for word in words),
            tuple(word.relation for word in words),
            tuple(word.sources for word in words),
            tuple(tokens),
            "".join(token.form + " " * token.space_after for token in tokens),
            self.spaced,
        )

    def fuse(self, first: str, second: str) -> str:
        """Return two words written as one token."""
        return first + second
