"""Code, documentation and pages use the field's words; a list of odd ones stays out."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py", ".smk", ".md", ".yaml", ".j2", ".rst", ".sh", ".toml", ".cff", ".html", ""}
# Fixtures, upstream names, generated or literal data, and the lists of words themselves.
SKIPPED = re.compile(
    r"tests/unit/test_wording\.py|resources/(reported|encoders)/|resources/sources\.yaml|LICENSE"
    r"|mbert_atlas/miniature/(concepts|templates)\.py|\.gitignore|tests/unit/bad_configs\.yaml"
)
# regular expression -> what to write instead
WORDS = {
    r"\bmend(s|ed|ing)?\b": "fix, correct",
    r"\banew\b|\bnew weights are drawn\b": "again, retrained, re-initialised",
    r"\btold (by|in)\b": "see, given by, described in",
    r"\btold (\w+ )?apart\b|\btells? (the )?languages?\b|\blanguages? apart\b": "identify",
    r"\btaken up\b|\btakes? up (where|what|interrupted)\b": "resumes",
    r"\blaid[ _]over\b|\blays? (it |them )?over\b|\blies? over it\b": "overrides, merged into",
    r"\b(the|of the|this) house\b|\brooms? (below|above|imports?|of the (package|design))\b": (
        "architecture, subpackage"
    ),
    r"\blittle[- ]worlds?\b|\bin miniature\b(?!\.)": "synthetic data, at reduced scale",
    r"\bbeside\b": "next to, alongside, in addition to",
    r"\b(of|on) (its|one's|their|a job's) own\b|\ban own\b|\bown code\b": "separate, custom",
    r"\bother verbs\b|\beach verb\b": "targets",
    r"\brefus(es?|ed|ing|als?)\b": "raises an error",
    r"\bby its prediction\b": "estimated",
    r"\bweb space\b": "web server",
    r"\bpull(s|ing|ed)? (translations|related|them) together\b": "cross-lingual alignment",
    r"\bclaims? in words\b|\bclaims? that a paper makes in words\b": "claims in the text",
    r"\bown (numbers|table) says? otherwise\b": "contradicted by the paper's own table",
    r"\b(items|seeds?) alone\b|\bitems unknown\b": "item-level CI, seed-level CI, no CI available",
    r"\bgreater everywhere\b|\bless in most places\b": "positive in all languages",
    r"\b(?-i:Drawn): |\bMeasured here, not in the paper\b": "plot of, additional results",
    r"\brule behind the verdicts\b": "how verdicts are computed",
    r"\bone condition less another\b": "difference",
    r"\bfound by their translations?\b|\bwords find their translations?\b": "word retrieval",
    r"\baccuracy lost\b|\bF1 lost\b": "relative accuracy drop, F1 drop",
    r"\bGoogle's BERT\b": "mBERT",
    r"\bbeyond as many random\b|\bdirections taken away\b": "gain over random, removed directions",
    r"\balone in their genus\b": "single-language genera",
    r"\bone side (in )?English\b": "mixed-language XNLI",
    r"\bparts? of speech\b(?!, chunk and tag)": "POS",
    r"\bno longer alike\b|\bgrow(s|ing)? alike\b": "dissimilar, become more similar",
    r"\bby no large margin\b": "only slightly",
    r"\baligning pieces\b|\bdraws? all words together\b": "subword alignment, reduces distances",
    r"\bwho pays\b|\bpaper that pays\b": "account to charge, attributed to",
    r"\bmak(es?|ing) room\b": "free disk space, yield",
    r"\bgo(es|ing)? on (from|after|with|without|where|at|there)\b": "resumes, continues",
    r"\b(has|have) forgotten\b": "no longer lists",
    r"\bat (its|the) highest\b": "peak",
    r"\bdies on\b": "fails on",
    r"\bfirst plan\b": "the original design",
    r"(?<![-_.\w`\"'])pieces?(?![-_\w`\"':]| \(null|, see\b)": "subwords, wordpieces, tokens",
    r"\bforeign words?\b": "code-switched tokens",
    r"\bhead of questions\b": "QA head",
    r"\bPassingError\b": "TransientError",
    r"\bcommonest class\b": "majority baseline",
    r"\bheld out by (its|their) English\b": "held-out sentences",
    r"\b(what|that|which) (is|are) there\b|\bwhat there is\b|\bgold that is there\b": "existing",
    r"\b(knows?|learns?) (nothing )?of\b|\bunaware of\b": "does not depend on",
    r"\basks? for\b|\basked for\b(?!: there are no more)": "requests",
    r"\bsays (what|which|how|where|whether|so)\b": "describes, returns, states",
    r"\ba (heap|share) of\b": "the number, a fraction",
    r"\bdraws? new weights\b|\bdrawn again\b": "re-initialised",
}
# Fields (`shown: int = Field(`) and parameters (`shown: int = 0,`) may be keys of configs.
NAMES = (
    r"^\s*(for )?(found|known|made|given|wanted|shown|own)(, \w+)*"
    r"(?!: .*(= Field\(|,$))(: .*)? (=|in) "
)
FLAGS = re.MULTILINE | re.IGNORECASE
PATTERNS = [(re.compile(word, FLAGS), instead) for word, instead in WORDS.items()]
# Participles as names of variables, which only tests may have
CODE = [*PATTERNS, (re.compile(NAMES, re.MULTILINE), "the noun: paths, cells, runs")]


def odd_words(text: str, is_code: bool = False) -> list[str]:
    """Lines of a text with an odd word, and what to write instead."""
    return [
        f"line {text.count(chr(10), 0, match.end()) + 1}: {match[0].strip()!r}, write {instead}"
        for pattern, instead in (CODE if is_code else PATTERNS)
        for match in pattern.finditer(text)
    ]


def words_of(page: str) -> str:
    """The text of an HTML page."""
    text = re.sub(r"(?s)<(style|script)\b.*?</\1>|\"data:[^\"]*\"", "", page)
    return re.sub(r"<[^>]*>", " ", text)


def places() -> dict[str, list[Path]]:
    """Text files that git tracks or would add, by folder; the package's by subpackage."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    found = defaultdict(list)
    for name in listed:
        path = ROOT / name
        if path.suffix in SUFFIXES and not SKIPPED.search(name) and path.is_file():
            depth = 2 if name.startswith("mbert_atlas/") and name.count("/") > 1 else 1
            found["/".join(name.split("/")[:depth]) if "/" in name else "."].append(path)
    return found


@pytest.mark.parametrize("place", sorted(places()))
def test_no_odd_words(place: str) -> None:
    odd = [
        f"{path.relative_to(ROOT)}, {line}"
        for path in places()[place]
        for line in odd_words(path.read_text("utf-8"), path.suffix == ".py" and place != "tests")
    ]
    assert not odd, "\n".join(odd)


def test_the_patterns() -> None:
    odd = [
        "Laid over it",
        "how to mend it",
        "it lies beside the log",
        "split into pieces",
        "it says which one",
    ]
    assert [len(odd_words(text)) for text in odd] == [1] * len(odd)
    assert len(odd_words("found = [1]\nfor known, other in own:\n", is_code=True)) == 2
    assert len(odd_words("    found: dict[str, int] = {}\n", is_code=True)) == 1
    assert odd_words("shown: int = Field(\n    given: int = 0,\n", is_code=True) == []
    plain = "amendment besides is found in wordpieces n_pieces Snakemake's own output household"
    assert odd_words(plain, is_code=True) == []
    assert words_of('<p style="x">a <b>b</b></p><style>c</style>').split() == ["a", "b"]
