"""Running texts, drawn once for all languages: stories, and encyclopedias as MediaWiki exports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from jinja2 import Environment, PackageLoader

from mbert_atlas.miniature import concepts
from mbert_atlas.miniature.concepts import HYPONYMS, KIND, NAMES, NOUNS, SCENES, Sampler
from mbert_atlas.miniature.generator import is_held_out
from mbert_atlas.miniature.inference import denied_opposite, entailed, open_question
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.meanings import Clause, Meaning, Thing, draw_meaning, draw_owner
from mbert_atlas.miniature.sentences import Sentence

_LONG = (6, 12)  # sentences of a paragraph, at least and at most, but for what follows the last
_FOLLOWING = (entailed, denied_opposite, open_question)
_FOLLOWED = 0.6  # fraction of statements that something follows
_KEPT = 0.9  # fraction of the paragraphs after the first that an article has in a language
_NAMESPACES = {1: "Talk", 2: "User", 4: "Wikipedia", 6: "File", 10: "Template", 14: "Category"}


class Page(NamedTuple):
    """A page of the export."""

    title: str  # unique in the export
    namespace: int  # 0 for articles, or one of _NAMESPACES
    wikitext: str
    redirect: str | None = None  # title that it leads to


class Outline(NamedTuple):
    """The content of an article, independent of any language."""

    topic: Thing
    # For each the noun of its heading (None in the lead) and its paragraphs.
    sections: Sequence[tuple[str | None, Sequence[Sequence[Meaning]]]]


def draw_paragraph(
    rng: Sampler, topic: str | None, sentences: int, opening: bool = False
) -> list[Meaning]:
    """Draw a paragraph of at least ``sentences`` statements in the scene of ``rng``.

    It is about a noun or name, if any, and may begin with a definition of it. It repeats statements
    in weaker words, denies their opposite, or adds to them. No sentence is held out.
    """
    meanings: list[Meaning] = []

    def add(meaning: Meaning) -> None:
        if not is_held_out(meaning):
            meanings.append(meaning)

    if opening and topic in KIND:
        subject = Thing(topic, rng.choice(("definite", "indefinite")))
        add(Meaning(Clause(subject, KIND[topic])))
    while len(meanings) < sentences:
        meaning = draw_meaning(rng, topic if rng.random() < 0.5 else None)
        add(meaning)
        if meaning.second is None and rng.random() < _FOLLOWED:
            following = rng.choice(_FOLLOWING)(rng, meaning.first)
            if following is not None:
                add(Meaning(following))
    return meanings


def draw_story(rng: Sampler) -> list[Meaning]:
    """Draw a short paragraph in a random scene."""
    rng.scene = rng.choice(SCENES)
    return draw_paragraph(rng, None, rng.randint(1, 3))


def draw_outlines(rng: Sampler, count: int) -> list[Outline]:
    """Draw ``count`` articles: nouns and names first, then described ones."""
    plain = [*NOUNS, *sorted(NAMES)]
    rng.shuffle(plain)
    topics = [
        Thing(noun) if noun in NAMES else Thing(noun, "indefinite", True)
        for noun in plain[::-1][:count]
    ]
    while len(topics) < count:
        noun = rng.choice(NOUNS)
        owner = replace(draw_owner(rng), plural=False) if rng.random() < 0.5 else None
        adjective = rng.choice(concepts.adjectives_of(noun))
        determiner = "definite" if owner else "indefinite"
        topic = Thing(noun, determiner, adjective=adjective, owner=owner)
        if topic not in topics:
            topics.append(topic)
    return [_outline(rng, topic) for topic in topics]


def _outline(rng: Sampler, topic: Thing) -> Outline:
    rng.scene = rng.choice(SCENES)
    lead = draw_paragraph(rng, topic.noun, rng.randint(*_LONG), opening=True)
    sections: list[tuple[str | None, list[list[Meaning]]]] = [(None, [lead])]
    for _ in range(rng.randint(2, 3)):
        paragraphs = [
            draw_paragraph(rng, topic.noun, rng.randint(*_LONG)) for _ in range(rng.randint(1, 2))
        ]
        if rng.random() < 0.5:
            paragraphs.append(draw_paragraph(rng, topic.noun, 1))
        sections.append((rng.choice(NOUNS), paragraphs))
    return Outline(topic, sections)


def write_pages(
    rng: Random,
    language: Language,
    outlines: Sequence[Outline],
    foreign: Callable[[str], str | None] | None = None,
) -> list[Page]:
    """Write articles in a language, with the redirects, templates and categories around them.

    ``rng`` decides on markup, redirects, and which paragraphs are left out: pages are comparable,
    not translations. ``foreign`` code-switches, see :meth:`Language.sentence`.
    """
    infobox = '{| class="infobox"\n! {{{name}}}\n|-\n| {{{number|}}}\n|}'
    pages = [
        Page("Template:Infobox", 10, infobox),
        Page("Template:Stub", 10, "<div class=\"stub\">''{{PAGENAME}}''</div>"),
    ]
    for heading in map(language.heading, HYPONYMS):
        pages.append(Page(f"Category:{heading}", 14, f"{heading}.\n\n[[Category:Wiki]]"))
    titles = [language.title(outline.topic) for outline in outlines]
    writer, taken = _Writer(rng, language, titles, foreign), set(titles)
    for title, outline in zip(titles, outlines, strict=True):
        pages.append(writer.article(title, outline))
        topic, other = outline.topic, title.upper()
        if topic.determiner:
            other = language.title(replace(topic, determiner="this"))
        if rng.random() < 0.3 and other not in taken:
            taken.add(other)
            pages.append(Page(other, 0, f"#REDIRECT [[{title}]]", redirect=title))
    return pages


@dataclass(frozen=True)
class _Writer:
    """Writes the articles of a language, which link to pages with ``titles``."""

    rng: Random
    language: Language
    titles: Sequence[str]
    foreign: Callable[[str], str | None] | None

    def article(self, title: str, outline: Outline) -> Page:
        rng, heading, noun = self.rng, self.language.heading, outline.topic.noun
        picture = f"{title} {rng.randrange(100)}.{rng.choice(('jpg', 'png', 'svg'))}"
        number = rng.randrange(1, 10**6)
        blocks = [
            f"{{{{Infobox\n| name = {title}\n| number = {number}\n}}}}",
            f"[[File:{picture}|thumb|right|{rng.choice(self.titles)}]]",
        ]
        for topic, paragraphs in outline.sections:
            if topic is not None:
                blocks.append(f"== {heading(topic)} ==")
                if rng.random() < 0.3:
                    blocks.append(self.links(rng.choice((False, True))))
            for paragraph in paragraphs:
                if topic is None or rng.random() < _KEPT:
                    sentences = (self.language.sentence(one, self.foreign) for one in paragraph)
                    blocks.append((" " * self.language.spaced).join(map(self.marked, sentences)))
            if topic is None:
                blocks[-1] = f"'''{title}''' <!-- {rng.randrange(10**6)} -->\n\n" + blocks[-1]
        blocks.append(f"== {heading(rng.choice(NOUNS))} ==\n<references />")
        kind = "place" if noun in concepts.LOCATIONS else KIND.get(noun, noun)
        if kind in HYPONYMS:
            blocks.append(f"{{{{Stub}}}}\n[[Category:{heading(kind)}]]")
        return Page(title, 0, "\n\n".join(blocks))

    def marked(self, sentence: Sentence) -> str:
        rng, parts = self.rng, []
        for token in sentence.tokens:
            form = token.form
            is_one_word = token.stop == token.start + 1
            if is_one_word and sentence.words[token.start].upos in ("NOUN", "PROPN"):
                chance = rng.random()
                if chance < 0.1:
                    form = f"[[{rng.choice(self.titles)}|{form}]]"
                elif chance < 0.15:
                    form = f"[[{form}]]"
                elif chance < 0.18:
                    form = f"'''{form}'''"
            parts.append(form + " " * token.space_after)
        if rng.random() < 0.12:
            parts.append(f"<ref>{rng.choice(self.titles)}, {rng.randint(1900, 2019)}.</ref>")
        return "".join(parts)

    def links(self, table: bool) -> str:
        """Return a list of links, or a table of links and numbers."""
        rng = self.rng
        if not table:
            return "\n".join(f"* [[{rng.choice(self.titles)}]]" for _ in range(3))
        rows = [f"[[{rng.choice(self.titles)}]] || {rng.randrange(1000)}" for _ in range(3)]
        head = f"{self.language.heading(rng.choice(NOUNS))} !! №"
        return '{| class="wikitable"\n! ' + "\n|-\n| ".join([head, *rows]) + "\n|}"


def export(language: Language, pages: Sequence[Page]) -> str:
    """Return a ``pages-articles`` export (schema 0.10) of ``pages``."""
    templates = Environment(
        loader=PackageLoader("mbert_atlas.miniature", "."),
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return templates.get_template("export.xml.j2").render(
        code=language.code,
        main_page=language.title(Thing("place", "indefinite")),
        namespaces=_NAMESPACES,
        pages=pages,
        escape=escape,
        quoteattr=quoteattr,
    )
