"""Labels of tasks, encoders, metrics, conditions and languages, on pages and in figures."""

import re
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files

import yaml

_FILE = files("mbert_atlas.labels").joinpath("labels.yaml")
_TEXTS: dict[str, dict[str, str]] = yaml.safe_load(_FILE.read_text("utf-8"))
_WORDS, _PHRASES = _TEXTS["words"], _TEXTS["phrases"]
_ENDINGS, _COMPARISONS = _TEXTS["endings"], _TEXTS["comparisons"]
_COMPARED = re.compile(rf"(.+?)_({'|'.join(_COMPARISONS)})(?:_vs)?_(.+)")
_PREFIX = re.compile(r"(token|span|entity|micro)_(.+)")
_BETWEEN_WORDS = re.compile(r"_|(?<=[a-z])-(?=[a-z])")


def label(name: str, names: Mapping[str, str] | None = None) -> str:
    """Return the label of a task, encoder, metric or condition: ``MLQA: mixed``, ``mlqa:qa_mixed``.

    ``names`` are labels that override the usual ones.
    """
    phrases = {**_PHRASES, **(names or {})}
    if name in phrases:
        return phrases[name]
    if match := _COMPARED.fullmatch(name):
        holm = " (Holm)" if match[2] == "holm_p_value" else ""
        compared = f"{_COMPARISONS[match[2]]} {label(match[3], names)}{holm}"
        return f"{label(match[1], names)}: {compared}"
    for ending, words in _ENDINGS.items():
        if name.endswith(ending) and name != ending:
            return label(name.removesuffix(ending), names) + words
    if match := _PREFIX.fullmatch(name):
        return f"{match[1]} {label(match[2], names)}"
    for start in (":qa_", ":"):
        head, between, rest = name.partition(start)
        if between:
            return f"{label(head, names)}: {label(rest, names)}"
    words = " ".join(_WORDS.get(word, word) for word in _BETWEEN_WORDS.split(name))
    return re.sub(r"(?<=\w)=", " = ", words)


def language(codes: str, names: Mapping[str, str]) -> str:
    """Return ``en+de`` as ``English + German``; anything but a language code becomes a label."""
    if codes in names:
        return names[codes]
    return " + ".join(label(code, names) for code in codes.split("+"))


def listed(words: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def places(names: Collection[str], order: Sequence[str]) -> dict[str, int]:
    """Return the rank of each name, which decides its colour, dash and marker.

    A name of ``order`` has its rank there, whatever else is drawn, so that it looks the same in all
    figures. Other names follow, sorted.
    """
    ranked = dict.fromkeys([*order, *sorted(set(names) - set(order))])
    return {name: rank for rank, name in enumerate(ranked) if name in names}
