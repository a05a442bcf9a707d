"""Markup of MediaWiki's LanguageConverter, ``-{...}-``, in languages with several scripts.

See https://www.mediawiki.org/wiki/Writing_systems/Syntax. ``-{zh-hans:计算机;zh-hant:電腦}-`` is
one word in two variants. Flags stand before a ``|``: ``H``, ``T`` and ``-`` define a conversion and
show nothing; ``R``, ``N`` and ``D`` show what follows as it is, although MediaWiki replaces codes
of variants after ``N`` and ``D`` by their names.
"""

import re
from collections.abc import Iterator

_PREFERRED = {  # language with a converter -> variants to take before any other
    **{"ban": "ban ban-latn", "crh": "crh crh-latn", "gan": "gan-hans", "iu": "ike-cans"},
    **{
        "kk": "kk kk-cyrl",
        "ku": "ku ku-latn",
        "mni": "mni",
        "sh": "sh-latn",
        "shi": "shi shi-latn",
    },
    **{"sr": "sr-ec sr-cyrl", "tg": "tg tg-cyrl", "tly": "tly", "uz": "uz uz-latn"},
    **{"wuu": "wuu-hans", "zgh": "zgh", "zh": "zh-hans zh-cn"},
}
# Where -{ is no markup; <nowiki/> has no content.
_OPENING = re.compile(
    r"<!--|<(nowiki|pre|math|chem|ce|source|syntaxhighlight|score|timeline)\b[^<>]*(?<!/)>",
    re.IGNORECASE,
)
# Not in -{{...}}-, a template between hyphens; }}}- ends a template and a rule.
_END = r"(?:(?<!\})|(?<=\}\}))\}-"
_INNERMOST = re.compile(rf"-\{{(?!\{{)((?:(?!-\{{(?!\{{)|{_END}).)*+){_END}", re.DOTALL)


def without_variants(text: str, language: str) -> tuple[str, int]:
    """Return a text with one variant in place of each ``-{...}-``, and how many there were.

    Unclosed ones, and those in comments and tags such as ``<math>`` and ``<nowiki>``, are kept; so
    is everything in languages whose Wikipedia has no converter.
    """
    if language not in _PREFERRED or "-{" not in text:
        return text, 0
    texts, opaque, last, total = list[str](), list[str](), 0, 0
    text = text.replace("\0", "")
    for start, end in _opaque(text):
        texts += [text[last:start], f"\0{len(opaque)}\0"]
        opaque.append(text[start:end])
        last = end
    text = "".join([*texts, text[last:]])
    for _ in range(10):  # as deep as MediaWiki goes, the innermost first
        text, number = _INNERMOST.subn(lambda match: _shown(match[1], language), text)
        total += number
    return re.sub("\0([0-9]+)\0", lambda match: opaque[int(match[1])], text), total


def _opaque(text: str) -> Iterator[tuple[int, int]]:
    """Yield where comments and tags with other markup begin and end; unclosed ones are neither."""
    place, unclosed = 0, set[str]()
    while opening := _OPENING.search(text, place):
        tag, place = (opening[1] or "").lower(), opening.end()
        if tag not in unclosed:
            end = re.compile(rf"</{tag}\s*>" if tag else "-->", re.IGNORECASE)
            if closing := end.search(text, place):
                place = closing.end()
                yield opening.start(), place
            else:
                unclosed.add(tag)  # it would be searched for again and again


def _shown(content: str, language: str) -> str:
    """Return what a reader of the page sees in place of ``-{content}-``."""
    before, bar, text = content.partition("|")
    is_flagged = bar and re.fullmatch(r"[\w\s;+-]*", before)  # and no link or template
    flags = {flag.strip() for flag in before.split(";")} if is_flagged else set()
    text = text if is_flagged else content
    variant = rf"{'ike' if language == 'iu' else language}(?:-[a-z]+)*"
    if flags & {"R", "N"}:
        return text
    if flags & {"H", "-"} or flags == {"T"}:
        return ""
    if "D" in flags or any(re.fullmatch(variant, flag) for flag in flags):
        return text
    both, one_way = dict[str, str](), dict[str, str]()
    for rule in re.split(rf";\s*(?=(?:[^;]*?=>\s*)?{variant}\s*:|\s*$)", text, flags=re.IGNORECASE):
        if ":" not in rule:
            continue
        parts = re.fullmatch(rf"(?si)\s*(?:(.+?)=>\s*)?({variant})\s*:(.*)", rule)
        if parts is None:
            return text
        (one_way if parts[1] else both)[parts[2].lower()] = parts[3].strip()
    if not both and not one_way:
        return text
    texts = {code: text for code, text in both.items() if text} or one_way
    preferred = [texts[code] for code in _PREFERRED[language].split() if code in texts]
    return next(iter([*preferred, *texts.values()]), "")
