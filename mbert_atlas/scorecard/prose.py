"""What pages take over from a paper's page in ``docs/papers/``: lists and tables by heading."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_MARKS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*(.+?)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<!\w)\*(.+?)\*"), r"<em>\1</em>"),
    (re.compile(r"\[([^\]]+)\]\([^)]+\)"), r"\1"),  # where it leads is not with the page
)


def bullets(text: str, heading: str) -> list[Markup]:
    """Return the entries of the list under a heading of a Markdown text; none if there is none."""
    return [_inline(line[2:]) for line in _section(text, heading) if line.startswith("- ")]


def table_rows(text: str, heading: str) -> list[list[Markup]]:
    """Return the rows of the first table under a heading, its head first; none if there is none."""
    lines = _section(text, heading)
    start = next((n for n, line in enumerate(lines) if line.startswith("|")), len(lines))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        if not re.fullmatch(r"[|\s:-]+", line):
            rows.append([_inline(cell.strip()) for cell in line.strip().strip("|").split("|")])
    return rows


def _section(text: str, heading: str) -> list[str]:
    """Return the lines between a heading and the next one, lists with one line per entry."""
    found: list[str] = []
    inside = fenced = False
    for line in text.splitlines():
        if line.startswith("```") or fenced:
            fenced ^= line.startswith("```")
        elif line.startswith("#"):
            inside = line.lstrip("# ").strip() == heading
        elif inside and line.startswith("  ") and found and found[-1].startswith("- "):
            found[-1] += " " + line.strip()
        elif inside:
            found.append(line)
    return found


def _inline(text: str) -> Markup:
    html = str(escape(text))
    for mark, replacement in _MARKS:
        html = mark.sub(replacement, html)
    return Markup(html)
