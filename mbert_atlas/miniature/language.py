"""Surface realisation: from a meaning to words, their tree, and the source of every word.

A language is a row of ``languages.csv``: how it orders, marks and spells. In the orders below a
letter stands for a slot:

clause
    S subject, V verb, O object, P circumstances, T time, M manner, N negation, X past (where verbs
    have no endings), C copula, A predicate adjective or kind
noun phrase
    X demonstrative, D article, Q number or quantity, H noun, A adjective, G owner

The source of a word is the path of the node of the meaning that it expresses, such as
``1.object.noun``. Words of two languages that share a source are translations of each other, which
is all that word alignment, tags and answers need.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from mbert_atlas.miniature import concepts
from mbert_atlas.miniature.concepts import ADJECTIVES, INTERROGATIVES, KIND, NUMERALS, PRONOUNS
from mbert_atlas.miniature.meanings import Clause, Meaning, Thing
from mbert_atlas.miniature.sentences import Sentence, Word
from mbert_atlas.miniature.words import PUNCTUATION, UNSPACED, changed, ending, roots, spelled

_CLAUSE_ORDERS = {"SVO": "STCXNVAOMP", "SOV": "STPOMAXNVC", "VSO": "TXNVCASOMP"}


@dataclass(frozen=True, eq=False)
class Language:
    """A row of ``languages.csv``."""

    code: str  # as in resources/languages.csv, like name, family and genus
    iso639_3: str  # as in Tatoeba's file names
    wals_code: str
    name: str
    family: str
    genus: str
    script: str  # ISO 15924
    order: str  # of subject, verb and object: SVO, SOV or VSO
    adposition: str  # prep or post
    genitive: str  # NG if the owner follows the noun, else GN; likewise the next three
    adjective: str
    demonstrative: str
    numeral: str
    article: str  # how "the" is expressed: none, word, prefix or suffix
    cases: int  # 0; 4: nominative, accusative, genitive, oblique; 7: endings for adpositions
    genders: int  # 0, 2 or 3, which articles and adjectives show
    fusion: str  # isolating (no endings), fusional (one ending) or agglutinating (several)
    classifiers: bool  # whether a word stands between number and noun
    copula: bool  # whether "is" is expressed
    changes: str  # its sounds, for words.changed

    @property
    def spaced(self) -> bool:
        """Whether the script puts spaces between words."""
        return self.script not in UNSPACED

    @cached_property
    def phrase_order(self) -> str:
        """Order of a noun phrase: ``DGXQAH``, and behind the noun what the row puts there."""
        columns = (self.genitive, self.demonstrative, self.numeral, self.adjective)
        after = [slot for slot, order in zip("GXQA", columns, strict=True) if order[0] == "N"]
        return "".join([*(slot for slot in "DGXQA" if slot not in after), "H", *reversed(after)])

    @cache  # noqa: B019 - the languages live as long as the program
    def form(self, concept: str, *marks: str) -> str:
        """Return the form of a concept's word; empty marks don't count.

        ``form("dog", "plural", "acc")`` is ``dog`` and one ending for ``plural+acc`` where endings
        fuse, or one for each where they are strung together.
        """
        forms, present = roots(self.genus), [mark for mark in marks if mark]
        letters = forms[concept]
        if present and self.fusion != "isolating":
            whole = "+".join((concept, *present))
            if "past" in present and whole not in forms:  # English verbs have one past
                whole = whole.removesuffix("+3pl")
            if whole in forms:
                return self.spell(forms[whole])
            for part in ["+".join(present)] if self.fusion == "fusional" else present:
                added = ending(self.genus, part)
                letters = letters.removesuffix(added[:1] if letters[-1] in "aeiou" else "") + added
        return self.spell(letters)

    def spell(self, letters: str) -> str:
        """Write letters with the sounds and the script of the language."""
        return spelled(changed(letters, self.changes), self.script)

    def citation(self, concept: str) -> str:
        """Return the word for a concept as a dictionary has it."""
        form = self.form(concept)
        return _capitalised(form) if concept in concepts.NAMES else form

    def gender(self, noun: str) -> str:
        """Return the grammatical gender: natural for persons, else by the root of the genus."""
        if not self.genders:
            return ""
        if noun in PRONOUNS or noun in INTERROGATIVES:
            return PRONOUNS.get(noun, "m")
        if noun in concepts.PEOPLE or KIND.get(noun, noun) == "person":
            return "f" if noun in concepts.FEMININE else "m"
        return "mfn"[sum(map(ord, roots(self.genus)[noun])) % self.genders]

    def agreement(self, gender: str, plural: bool, case: str = "") -> tuple[str, ...]:
        """Return the marks of what agrees with a noun."""
        number = "plural" if plural and self.genders else ""
        return (gender, number, case) if self.fusion == "fusional" else ()

    def word(
        self, concept: str, upos: str, relation: str, source: str, head: Word | None, *marks: str
    ) -> Word:
        """Return a word that expresses a concept."""
        return Word(concept, self.form(concept, *marks), upos, relation, (source,), head)

    def phrase(
        self, thing: Thing, path: str, relation: str, governor: Word | None, case: str = ""
    ) -> tuple[list[Word], Word]:
        """Return the words of a noun phrase and its head, a dependent of ``governor``."""
        noun, pronominal = thing.noun, thing.noun in PRONOUNS or thing.noun in INTERROGATIVES
        counted = self.classifiers and thing.determiner in NUMERALS
        plural = "plural" if thing.plural and not counted and not pronominal else ""
        upos = "PRON" if pronominal else "PROPN" if noun in concepts.NAMES else "NOUN"
        head = self.word(noun, upos, relation, path + ".noun", governor, plural, case)
        slots = {"H": [head]}
        if upos == "PROPN":
            head.form = _capitalised(head.form)
        if not pronominal:
            slots |= self.modifiers(thing, path, head, case)
        words = [word for slot in self.phrase_order for word in slots.get(slot, [])]
        if thing.partner is not None:
            others, other = self.phrase(thing.partner, path + ".partner", "conj", head, case)
            words += [self.word("and", "CCONJ", "cc", path + ".and", other), *others]
        return words, head

    def modifiers(self, thing: Thing, path: str, head: Word, case: str) -> dict[str, list[Word]]:
        """Return what stands around a noun."""
        if thing.determiner == "definite" and self.article == "suffix":
            head.form += self.spell(ending(self.genus, "definite"))
        marks = self.agreement(self.gender(thing.noun), thing.plural, case)
        slots = self.determiners(thing, path, head, marks)
        if thing.adjective is not None:
            source = path + ".adjective"
            adjective = self.word(thing.adjective, "ADJ", "amod", source, head, *marks)
            slots["A"] = [*self.very(thing, path, adjective), adjective]
        if thing.owner is not None:
            slots["G"] = self.adpositional("of", thing.owner, path + ".owner", "nmod", head)
        return slots

    def very(self, what: Thing | Clause, path: str, head: Word) -> list[Word]:
        """Return the adverb of an adjective that is intensified."""
        source = path + ".very"
        return [self.word("very", "ADV", "advmod", source, head)] if what.intensified else []

    def determiners(
        self, thing: Thing, path: str, head: Word, marks: tuple[str, ...]
    ) -> dict[str, list[Word]]:
        """Return demonstrative, article, or number and its classifier."""
        concept, source = thing.determiner, path + ".determiner"
        if concept in NUMERALS:
            words = [self.word(concept, "NUM", "nummod", source, head)]
            if self.classifiers:
                classifier = self.form(KIND.get(thing.noun, thing.noun))
                words.append(Word("", classifier, "NOUN", "clf", (), head))
            return {"Q": words}
        if concept == "many":
            return {"Q": [self.word(concept, "DET", "det", source, head)]}
        if concept == "this":
            if not self.genders:
                marks = ("plural" if thing.plural and self.fusion == "fusional" else "",)
            return {"X": [self.word(concept, "DET", "det", source, head, *marks)]}
        articles = {"word": ("definite", "indefinite"), "prefix": ("definite",)}
        plural = concept == "indefinite" and thing.plural
        if plural or concept not in articles.get(self.article, ()):
            return {}
        word = self.word(concept, "DET", "det", source, head, *marks)
        word.joined = "fused" if self.article == "prefix" else ""
        return {"D": [word]}

    def adpositional(
        self, concept: str, thing: Thing, path: str, relation: str, governor: Word
    ) -> list[Word]:
        """Return a noun phrase with its adposition or case."""
        source = path + ".adposition"
        case = {0: "", 4: "gen" if concept == "of" else "obl", 7: concept}[self.cases]
        words, head = self.phrase(thing, path, relation, governor, case)
        if self.cases == 7 or case == "gen":
            head.sources += (source,)
            return words
        marker = self.word(concept, "ADP", "case", source, head)
        if self.adposition == "post":
            return [*words, marker]
        if words[0].concept == "definite" and self.genders:
            marker.joined = "fused"
        return [marker, *words]

    def clause(
        self, clause: Clause, path: str, order: str, relation: str, governor: Word | None
    ) -> tuple[list[Word], Word]:
        """Return the words of a clause in ``order`` and its head, a dependent of ``governor``."""
        slots, head = self.predicate(clause, path, relation, governor)
        slots["S"], _ = self.phrase(clause.subject, path + ".subject", "nsubj", head)
        if clause.negated:
            slots["N"] = [self.word("not", "PART", "advmod", path + ".negation", head)]
        if clause.object is not None:
            case = "acc" if self.cases else ""
            slots["O"], _ = self.phrase(clause.object, path + ".object", "obj", head, case)
        slots["P"] = []
        for index, one in enumerate(clause.circumstances):
            place = f"{path}.{index}"
            slots["P"] += self.adpositional(one.adposition, one.thing, place, "obl", head)
        for slot, name, concept in (("T", "time", clause.time), ("M", "manner", clause.manner)):
            if concept is not None:
                slots[slot] = [self.word(concept, "ADV", "advmod", f"{path}.{name}", head)]
        return [word for slot in order for word in slots.get(slot, [])], head

    def predicate(
        self, clause: Clause, path: str, relation: str, governor: Word | None
    ) -> tuple[dict[str, list[Word]], Word]:
        """Return the slots that a verb, or an adjective or kind and its copula, fill; its head."""
        subject, concept, source = clause.subject, clause.predicate, path + ".predicate"
        plural = subject.plural or subject.partner is not None
        tense = ("past" if clause.past else "", "3pl" if plural else "")
        if concept in concepts.VERBS:
            third = "3sg" if self.fusion == "fusional" and not any(tense) else ""
            head = self.word(concept, "VERB", relation, source, governor, *tense, third)
            slots = {"V": [head]}
            if clause.past and self.fusion == "isolating":
                past = self.spell(ending(self.genus, "past"))
                slots["X"] = [Word("", past, "AUX", "aux", (), head)]
            return slots, head
        if concept in ADJECTIVES:
            several = subject.partner is not None and self.genders
            marks = self.agreement("m" if several else self.gender(subject.noun), plural)
            head = self.word(concept, "ADJ", relation, source, governor, *marks)
            slots = {"A": [*self.very(clause, path, head), head]}
        else:
            kind = Thing(concept, "indefinite", subject.plural)
            words, head = self.phrase(kind, path + ".kind", relation, governor)
            slots = {"A": words}
        if self.copula or clause.past:
            slots["C"] = [self.word("be", "AUX", "cop", path + ".copula", head, *tense)]
        return slots, head

    def sentence(
        self, meaning: Meaning, foreign: Callable[[str], str | None] | None = None
    ) -> Sentence:
        """Realise ``meaning``: a statement, or a question if its first clause has an ``asked``.

        The question word is where the answer would be. ``foreign`` returns the code-switched token
        for the concept of a noun, verb or adjective, or None for a word of the language.
        """
        full_stop, comma, question_mark = tuple(PUNCTUATION.get(self.script, ".,?"))
        order, first = _CLAUSE_ORDERS[self.order], meaning.first
        opening = "T" + order.replace("T", "") if first.time_first else order
        words, root = self.clause(first, "1", opening, "root", None)
        if meaning.second is not None and meaning.connective is not None:
            kinds = {"because": ("advcl", "SCONJ", "mark")}
            joined, tag, relation = kinds.get(meaning.connective, ("conj", "CCONJ", "cc"))
            second, head = self.clause(meaning.second, "2", order, joined, root)
            words[-1].joined = "glued"
            words.append(Word("", comma, "PUNCT", "punct", ("comma",), head))
            words += [self.word(meaning.connective, tag, relation, "connective", head), *second]
        words[-1].joined = "glued"
        end = question_mark if first.asked else full_stop
        words.append(Word("", end, "PUNCT", "punct", ("full stop",), root))
        for word in words:
            if foreign and word.upos in ("NOUN", "VERB", "ADJ") and word.concept:
                word.form = foreign(word.concept) or word.form
        return self.finished(words)

    def title(self, thing: Thing) -> str:
        """Return the text of a noun phrase alone, capitalised."""
        return self.finished(self.phrase(thing, "", "root", None)[0]).text

    def heading(self, noun: str) -> str:
        """Return the title of a page or section on ``noun``."""
        return self.title(Thing(noun, "indefinite", True))

    def finished(self, words: list[Word]) -> Sentence:
        """Capitalise the first word."""
        words[0].form = _capitalised(words[0].form)
        return Sentence(words, self.spaced, self.citation)


def _capitalised(form: str) -> str:
    return form[0].upper() + form[1:]


def _rows() -> dict[str, Language]:
    table = files("mbert_atlas.miniature").joinpath("languages.csv").read_text("utf-8")
    rows: list[dict[str, Any]] = list(csv.DictReader(table.splitlines()))
    for row in rows:
        row |= {name: int(row[name]) for name in ("cases", "genders", "classifiers", "copula")}
    return {row["code"]: Language(**row) for row in rows}


MINIATURE_LANGUAGES: dict[str, Language] = _rows()  # code -> language; English first
