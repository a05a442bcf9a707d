"""Pages of a small encyclopedia, and the MediaWiki export file that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from xml.sax.saxutils import escape, quoteattr

from mbert_atlas.miniature.concepts import HYPONYMS, KIND, LOCATIONS, NAMES, NOUNS, adjectives_of
from mbert_atlas.miniature.language import Language, Sentence
from mbert_atlas.miniature.meanings import Clause, Meaning, Thing, draw_meaning, draw_owner

_TIMESTAMP = "2020-04-20T12:00:00Z"
_SHORTEST, _LONGEST = 110, 420
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


def draw_pages(rng: Random, language: Language, count: int) -> list[Page]:
    """Draw ``count`` articles, and the redirects, templates and categories around them."""
    topics = draw_topics(rng, language, count)
    _, template, category = language.namespaces
    pages = [
        Page(
            f"{template}:Infobox", 10, '{| class="infobox"\n! {{{name}}}\n|-\n| {{{number|}}}\n|}'
        ),
        Page(f"{template}:Stub", 10, "<div class=\"stub\">''{{PAGENAME}}''</div>"),
    ]
    for kind in HYPONYMS:
        heading = language.title(Thing(kind, "indefinite", True))
        pages.append(Page(f"{category}:{heading}", 14, f"{heading}.\n\n[[{category}:Wiki]]"))
    titles = list(topics)
    taken = set(titles)
    for title, topic in topics.items():
        paragraphs, wikitext = _Article(rng, language, topic, titles).written()
        pages.append(Page(title, 0, wikitext, paragraphs=tuple(paragraphs)))
        other = (
            language.title(replace(topic, determiner="this")) if topic.determiner else title.upper()
        )
        if rng.random() < 0.3 and other not in taken:
            taken.add(other)
            pages.append(Page(other, 0, f"#REDIRECT [[{title}]]", redirect=title))
    return pages


def draw_topics(rng: Random, language: Language, count: int) -> dict[str, Thing]:
    """Draw what the articles are about, by title; nouns and names first, then described ones."""
    plain = [
        Thing(noun) if noun in NAMES else Thing(noun, "indefinite", True)
        for noun in (*NOUNS, *sorted(NAMES))
    ]
    rng.shuffle(plain)
    topics: dict[str, Thing] = {}
    while len(topics) < count:
        if plain:
            topic = plain.pop()
        else:
            noun = rng.choice(NOUNS)
            owner = draw_owner(rng) if rng.random() < 0.5 else None
            determiner = "definite" if owner else "indefinite"
            adjective = rng.choice(adjectives_of(noun))
            topic = Thing(noun, determiner, rng.random() < 0.5, adjective, owner=owner)
        topics.setdefault(language.title(topic), topic)
    return topics


class _Article:
    """One article under construction: its plain paragraphs and its wikitext."""

    def __init__(
        self, rng: Random, language: Language, topic: Thing, titles: Sequence[str]
    ) -> None:
        self.rng, self.language, self.topic, self.titles = rng, language, topic, titles
        self.separator = " " if language.spaced else ""

    def written(self) -> tuple[list[str], str]:
        """Return the plain text of all paragraphs, and the wikitext."""
        rng, language = self.rng, self.language
        file, _, category = language.namespaces
        title = language.title(self.topic)
        plain, lead = self.paragraph(opening=True)
        paragraphs = [plain]
        picture = f"{title} {rng.randrange(100)}.{rng.choice(_PICTURES)}"
        blocks = [
            "{{Infobox\n| name = " + title + f"\n| number = {rng.randrange(1, 10**6)}\n}}}}",
            f"[[{file}:{picture}|thumb|right|{rng.choice(self.titles)}]]",
            f"'''{title}''' <!-- {rng.randrange(10**6)} -->" + "\n\n" + lead,
        ]
        for _ in range(rng.randint(2, 3)):
            blocks.append(f"== {self.heading()} ==")
            if rng.random() < 0.3:
                blocks.append(rng.choice((self.list_of_links, self.table))())
            for _ in range(rng.randint(1, 2)):
                plain, marked = self.paragraph()
                paragraphs.append(plain)
                blocks.append(marked)
            if rng.random() < 0.5:
                plain, marked = self.paragraph(short=True)
                paragraphs.append(plain)
                blocks.append(marked)
        blocks.append(f"== {self.heading()} ==\n<references />")
        noun = self.topic.noun
        kind = KIND.get(noun, noun if noun in HYPONYMS else "place" if noun in LOCATIONS else None)
        if kind is not None:
            heading = language.title(Thing(kind, "indefinite", True))
            blocks.append(f"{{{{Stub}}}}\n[[{category}:{heading}]]")
        return paragraphs, "\n\n".join(blocks)

    def heading(self) -> str:
        """Return a noun for a heading."""
        return self.language.title(Thing(self.rng.choice(NOUNS), "indefinite", True))

    def sentences(self, opening: bool, short: bool) -> Iterator[Sentence]:
        """Yield the sentences of a paragraph, most of them about the topic."""
        rng, noun = self.rng, self.topic.noun
        length, wanted = 0, 0 if short else rng.randint(_SHORTEST, _LONGEST)
        while True:
            if opening and length == 0 and noun in KIND:
                subject = Thing(noun, rng.choice(("definite", "indefinite")))
                meaning = Meaning(Clause(subject, KIND[noun]))
            else:
                meaning = draw_meaning(rng, noun if rng.random() < 0.5 else None)
            sentence = self.language.sentence(meaning)
            yield sentence
            length += len(sentence.text) + len(self.separator)
            if length >= wanted:
                return

    def paragraph(self, opening: bool = False, short: bool = False) -> tuple[str, str]:
        """Return a paragraph as plain text and with markup."""
        plain, marked = [], []
        for sentence in self.sentences(opening, short):
            plain.append(sentence.text)
            marked.append(self.marked(sentence))
        return self.separator.join(plain), self.separator.join(marked)

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
        return '{| class="wikitable"\n! ' + self.heading() + " !! №\n" + rows + "|}"


def export(language: Language, pages: Sequence[Page]) -> str:
    """Return a ``pages-articles`` export (schema 0.10) of ``pages``."""
    code = language.code
    main_page = language.title(Thing("place", "indefinite"))
    file, template, category = language.namespaces
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
