"""Parts of a paper's Markdown page, for HTML."""

import re

from markupsafe import Markup, escape

_MARKS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*(.+?)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<!\w)\*(.+?)\*"), r"<em>\1</em>"),
    (re.compile(r"\[([^\]]+)\]\([^)]+\)"), r"\1"),  # the targets of links are not with the page
)


def bullets(text: str, heading: str) -> list[Markup]:
    """Return the items of the list under a heading of a Markdown text; none if there is none."""
    return [_inline(line[2:]) for line in _section(text, heading) if line.startswith("- ")]


def table_rows(text: str, heading: str) -> list[list[Markup]]:
    """Return the rows of the table under a heading, its head first; none if there is none."""
    return [
        [_inline(cell.strip()) for cell in line.strip().strip("|").split("|")]
        for line in _section(text, heading)
        if line.startswith("|") and not re.fullmatch(r"[|\s:-]+", line)
    ]


def _section(text: str, heading: str) -> list[str]:
    """Return the lines between a heading and the next one, lists with one line per item."""
    lines: list[str] = []
    inside = fenced = False
    for line in text.splitlines():
        if line.startswith("```") or fenced:
            fenced ^= line.startswith("```")
        elif line.startswith("#"):
            inside = line.lstrip("# ").strip() == heading
        elif inside and line.startswith("  ") and lines and lines[-1].startswith("- "):
            lines[-1] += " " + line.strip()
        elif inside:
            lines.append(line)
    return lines


def _inline(text: str) -> Markup:
    html = str(escape(text))
    for mark, replacement in _MARKS:
        html = mark.sub(replacement, html)
    return Markup(html)
