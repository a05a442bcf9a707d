"""Pages of a small encyclopedia, drawn once and told in every language, as a MediaWiki export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from xml.sax.saxutils import escape, quoteattr

from mbert_atlas.miniature.concepts import (
    HYPONYMS,
    KIND,
    LOCATIONS,
    NAMES,
    NOUNS,
    SCENES,
    Teller,
    adjectives_of,
)
from mbert_atlas.miniature.language import NAMESPACES, Language, Sentence
from mbert_atlas.miniature.meanings import Meaning, Thing, draw_owner
from mbert_atlas.miniature.stories import draw_paragraph

_TIMESTAMP = "2020-04-20T12:00:00Z"
_LONG = (6, 12)
"""Sentences of a paragraph, at least and at most, but for what follows from the last."""
_TOLD = 0.9
"""Share of the paragraphs after the first that a language tells."""
_PICTURES = ("jpg", "png", "svg")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the export.

    Attributes:
        title: its name; unique in the export.
        namespace: 0 for articles, 10 for templates, 14 for categories.
        wikitext: its source.
        redirect: title that it leads to, or None.
        paragraphs: the plain text of its paragraphs, which extraction should give back.
    """

    title: str
    namespace: int
    wikitext: str
    redirect: str | None = None
    paragraphs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """What an article says, before any language tells it.

    Attributes:
        topic: what it is about.
        sections: for each, the noun of its heading (None in the lead) and its paragraphs.
    """

    topic: Thing
    sections: tuple[tuple[str | None, tuple[tuple[Meaning, ...], ...]], ...]


def draw_outlines(rng: Teller, count: int) -> list[Outline]:
    """Draw ``count`` articles: nouns and names first, then described ones."""
    topics: dict[tuple[object, ...], Thing] = {}
    plain = [
        Thing(noun) if noun in NAMES else Thing(noun, "indefinite", True)
        for noun in (*NOUNS, *sorted(NAMES))
    ]
    rng.shuffle(plain)
    while len(topics) < count:
        if plain:
            topic = plain.pop()
        else:
            noun = rng.choice(NOUNS)
            owner = replace(draw_owner(rng), plural=False) if rng.random() < 0.5 else None
            adjective = rng.choice(adjectives_of(noun))
            topic = Thing(
                noun, "definite" if owner else "indefinite", False, adjective, owner=owner
            )
        topics.setdefault((topic.noun, topic.adjective, topic.owner), topic)
    return [_outline(rng, topic) for topic in topics.values()]


def _outline(rng: Teller, topic: Thing) -> Outline:
    rng.scene = rng.choice(SCENES)
    sections: list[tuple[str | None, tuple[tuple[Meaning, ...], ...]]] = [
        (None, (draw_paragraph(rng, topic.noun, rng.randint(*_LONG), opening=True),))
    ]
    for _ in range(rng.randint(2, 3)):
        paragraphs = [
            draw_paragraph(rng, topic.noun, rng.randint(*_LONG)) for _ in range(rng.randint(1, 2))
        ]
        if rng.random() < 0.5:
            paragraphs.append(draw_paragraph(rng, topic.noun, 1))
        sections.append((rng.choice(NOUNS), tuple(paragraphs)))
    return Outline(topic, tuple(sections))


def tell_pages(
    rng: Random,
    language: Language,
    outlines: Sequence[Outline],
    foreign: Callable[[str], str | None] | None = None,
) -> list[Page]:
    """Tell articles in a language, with the redirects, templates and categories around them.

    Args:
        rng: source of randomness for markup, redirects, and which paragraphs are left out: pages
            are comparable, not translations.
        language: the language.
        outlines: what the articles say.
        foreign: see :meth:`mbert_atlas.miniature.language.Language.sentence`.
    """
    _, template, category = NAMESPACES
    pages = [
        Page(
            f"{template}:Infobox", 10, '{| class="infobox"\n! {{{name}}}\n|-\n| {{{number|}}}\n|}'
        ),
        Page(f"{template}:Stub", 10, "<div class=\"stub\">''{{PAGENAME}}''</div>"),
    ]
    for kind in HYPONYMS:
        heading = language.title(Thing(kind, "indefinite", True))
        pages.append(Page(f"{category}:{heading}", 14, f"{heading}.\n\n[[{category}:Wiki]]"))
    titles = [language.title(outline.topic) for outline in outlines]
    taken = set(titles)
    for title, outline in zip(titles, outlines, strict=True):
        paragraphs, wikitext = _Article(rng, language, titles, foreign).written(title, outline)
        pages.append(Page(title, 0, wikitext, paragraphs=tuple(paragraphs)))
        topic = outline.topic
        other = (
            language.title(replace(topic, determiner="this")) if topic.determiner else title.upper()
        )
        if rng.random() < 0.3 and other not in taken:
            taken.add(other)
            pages.append(Page(other, 0, f"#REDIRECT [[{title}]]", redirect=title))
    return pages


class _Article:
    """One article under construction: its plain paragraphs and its wikitext."""

    def __init__(
        self,
        rng: Random,
        language: Language,
        titles: Sequence[str],
        foreign: Callable[[str], str | None] | None,
    ) -> None:
        self.rng, self.language, self.titles = rng, language, titles
        self.foreign = foreign

    def written(self, title: str, outline: Outline) -> tuple[list[str], str]:
        """Return the plain text of all paragraphs, and the wikitext."""
        rng, noun = self.rng, outline.topic.noun
        file, _, category = NAMESPACES
        picture = f"{title} {rng.randrange(100)}.{rng.choice(_PICTURES)}"
        blocks = [
            "{{Infobox\n| name = " + title + f"\n| number = {rng.randrange(1, 10**6)}\n}}}}",
            f"[[{file}:{picture}|thumb|right|{rng.choice(self.titles)}]]",
        ]
        plain: list[str] = []
        for heading, paragraphs in outline.sections:
            if heading is not None:
                blocks.append(f"== {self.heading(heading)} ==")
                if rng.random() < 0.3:
                    blocks.append(rng.choice((self.list_of_links, self.table))())
            for paragraph in paragraphs:
                if heading is None or rng.random() < _TOLD:
                    text, marked = self.paragraph(paragraph)
                    plain.append(text)
                    blocks.append(marked)
            if heading is None:
                blocks[-1] = f"'''{title}''' <!-- {rng.randrange(10**6)} -->\n\n" + blocks[-1]
        blocks.append(f"== {self.heading(rng.choice(NOUNS))} ==\n<references />")
        kind = KIND.get(noun, noun if noun in HYPONYMS else "place" if noun in LOCATIONS else None)
        if kind is not None:
            blocks.append(f"{{{{Stub}}}}\n[[{category}:{self.heading(kind)}]]")
        return plain, "\n\n".join(blocks)

    def heading(self, noun: str) -> str:
        """Return a noun as a heading."""
        return self.language.title(Thing(noun, "indefinite", True))

    def paragraph(self, meanings: Sequence[Meaning]) -> tuple[str, str]:
        """Return a paragraph as plain text and with markup."""
        sentences = [self.language.sentence(meaning, self.foreign) for meaning in meanings]
        separator = " " if self.language.spaced else ""
        return (
            separator.join(sentence.text for sentence in sentences),
            separator.join(map(self.marked, sentences)),
        )

    def marked(self, sentence: Sentence) -> str:
        """Return a sentence with links, emphasis and references."""
        rng = self.rng
        parts = []
        for token in sentence.tokens:
            form = token.form
            if token.stop == token.start + 1 and sentence.upos[token.start] in ("NOUN", "PROPN"):
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

    def list_of_links(self) -> str:
        """Return a list of links."""
        return "\n".join(f"* [[{self.rng.choice(self.titles)}]]" for _ in range(3))

    def table(self) -> str:
        """Return a table of numbers."""
        rows = "".join(
            f"|-\n| [[{self.rng.choice(self.titles)}]] || {self.rng.randrange(1000)}\n"
            for _ in range(3)
        )
        head = self.heading(self.rng.choice(NOUNS))
        return '{| class="wikitable"\n! ' + head + " !! №\n" + rows + "|}"


def export(language: Language, pages: Sequence[Page]) -> str:
    """Return a ``pages-articles`` export (schema 0.10) of ``pages``."""
    code = language.code
    main_page = language.title(Thing("place", "indefinite"))
    file, template, category = NAMESPACES
    namespaces = {0: "", 1: "Talk", 2: "User", 4: "Wikipedia", 6: file, 10: template, 14: category}
    head = [
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'xsi:schemaLocation="http://www.mediawiki.org/xml/export-0.10/ '
        'http://www.mediawiki.org/xml/export-0.10.xsd" version="0.10" '
        f'xml:lang="{code}">',
        "  <siteinfo>",
        "    <sitename>Wikipedia</sitename>",
        f"    <dbname>{code}wiki</dbname>",
        f"    <base>https://{code}.wikipedia.org/wiki/{main_page}</base>",
        "    <generator>mbert-atlas miniature</generator>",
        "    <case>first-letter</case>",
        "    <namespaces>",
    ]
    for key, name in namespaces.items():
        tag = f'      <namespace key="{key}" case="first-letter"'
        head.append(f"{tag}>{name}</namespace>" if name else tag + " />")
    head += ["    </namespaces>", "  </siteinfo>"]
    body = [_page(page, number) for number, page in enumerate(pages, 1)]
    return "\n".join([*head, *body, "</mediawiki>", ""])


def _page(page: Page, number: int) -> str:
    redirect = (
        "" if page.redirect is None else f"\n    <redirect title={quoteattr(page.redirect)} />"
    )
    size = len(page.wikitext.encode())
    return f"""  <page>
    <title>{escape(page.title)}</title>
    <ns>{page.namespace}</ns>
    <id>{number * 7}</id>{redirect}
    <revision>
      <id>{number * 1009}</id>
      <timestamp>{_TIMESTAMP}</timestamp>
      <contributor>
        <username>Miniature</username>
        <id>1</id>
      </contributor>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="{size}" xml:space="preserve">{escape(page.wikitext)}</text>
    </revision>
  </page>"""
