"""A copy of what a run has found, small enough for a repository: pages, tables and pictures."""

import base64
import html
import json
import lzma
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, read_text
from mbert_atlas.scorecard.counts import count_verdicts
from mbert_atlas.scorecard.judging import MEASUREMENTS, Judging, differing
from mbert_atlas.scorecard.results import COMPARABLE, ENCODER, FACTS, Results, read_results
from mbert_atlas.scorecard.templates import Setting, natural, render
from mbert_atlas.scorecard.verdicts import DECIDED, NOT_APPLICABLE, NOT_RUN
from mbert_atlas.scorecard.views import ClaimView, Outcome, claim_views

MOST_BYTES = 6_000_000
_TABLES = ("claims.csv", "scorecard.csv", "cost.csv", "config.yaml")
_ON_INDEX = {"run", COMPARABLE, "data", "protocols", "date", "versions", "cost"}
"""What a run's index states by itself."""
_OF_THIS_MACHINE = [  # in config.yaml
    (re.compile(r"^(?:mirror|downloads): .*\n", re.MULTILINE), ""),
    (re.compile(r"^( *folder: )/.*/(?=[^/\n]+$)", re.MULTILINE), r"\1"),
]
_IN_COMMANDS = [  # on pages
    (re.compile(r"((?:mirror|downloads)=&#34;).*?(?=&#34;)"), r"\1DIR"),
    (re.compile(r"(?<= )(?:\.\.)?/[^\s<]*/(?=[\w.-]+\.ya?ml\b)"), ""),
]
_EMBEDDED = re.compile(r"data:image/(?:svg\+xml|png);base64,([A-Za-z0-9+/=]+)")
_PICTURE = re.compile(r'(href|src)="([^":#]+\.(?:svg|png))"')
_SVG = re.compile(r'<a href="[^"]+\.svg">SVG</a> ')
_ENTRY = re.compile(r'<li><a href="([^":#]+)">[^\n]*</li>\n')
_LINK = re.compile(r'<a href="([^":#]+)(?:#[^"]*)?"[^>]*>(.*?)</a>', re.DOTALL)
_FILES = re.compile(r'<(p|span) class="files">(?:(?!<a |</\1>).)*</\1>', re.DOTALL)
_IMAGE = re.compile(r'<img src="([^":#]+)"[^>]*>')
_ADDITIONAL = re.compile(
    r"<details[^>]*><summary>Additional results</summary>.*?</details>", re.DOTALL
)
_IN_TABLE = (
    f'<p class="soft">Additional results: <a href="../{MEASUREMENTS}">{MEASUREMENTS}</a></p>'
)
_SMALLER, _SMALLEST = 0.8, 0.3  # width of pictures: at each step, and the least, of the original


def publish(folder: Path, output: Path, *, judging: Judging, hardware: str = "") -> None:
    """Copy index, pages of papers, tables, pictures and measurements of a run to ``output``.

    Pages link to the pictures of the copy, as PNG, and to nothing that is not in it; they leave
    additional results to the measurements. ``run.json``, ``README.md`` and the index state what
    the run is and its ``hardware``, by default this machine's. Pictures are reduced until the copy
    has at most :data:`MOST_BYTES`. Raises a DataError as :func:`.results.read_results`, if there is
    no index or nothing was measured, if the copy is too large with small pictures, if its
    measurements give other verdicts or intervals than ``claims.csv`` has, or if ``output`` is a
    folder that was not published.
    """
    (results,) = read_results([folder])
    if not (folder / "index.html").is_file():
        fix = "run the target `all` or `highlights` to its end"
        raise DataError(folder, "", "there is no index.html", fix)
    if not judging.files(results)[0]:
        raise DataError(folder, "", "nothing was measured here", "finish a target first")
    if output.exists() and not (output / FACTS).is_file():
        problem = f"the folder has no {FACTS}, so it was not published, and would be replaced"
        raise DataError(output, "", problem, "name another folder")
    facts = {**results.facts, "hardware": hardware or _machine()}
    with atomic_directory(output) as copy:
        for name in _TABLES:
            if (folder / name).is_file():
                _copy(folder / name, copy / name)
        _copy_curves(results.root, copy, judging)
        _shorten(copy / "scorecard.csv")
        judging.pack(results, copy)
        if (config := copy / "config.yaml").is_file():
            config.write_text(_replaced(read_text(config), _OF_THIS_MACHINE), encoding="utf-8")
        pages = _Pages(results, copy)
        was_run = {*results.claims["paper"][results.claims["verdict"] != NOT_RUN]}
        for page in [folder / "index.html", *sorted((folder / "papers").glob("*.html"))]:
            if page.parent == folder or page.stem in was_run:
                pages.copy_page(page)
        for page in sorted(copy.rglob("*.html")):
            pages.remove_links(page)
        index = copy / "index.html"
        listed = "".join(
            f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>"
            for name, text in facts.items()
            if name not in _ON_INDEX and not name.startswith(ENCODER)
        )
        text = read_text(index).replace("</dl>", f"{listed}</dl>", 1)  # that of its facts
        index.write_text(text, encoding="utf-8")
        _write_readme(results, facts, copy, judging.languages, copy / "README.md")
        (copy / FACTS).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", "utf-8")
        if names := differing(results.claims, judging.again(replace(results, folder=copy))):
            problem = f"{len(names)} verdicts or intervals are others than those of the "
            problem += f"measurements, such as {names[0]}"
            fix = "judge the claims again by the target that this file is"
            raise DataError(folder / "claims.csv", "", problem, fix)
        _reduce(copy, output)


def _copy_curves(root: Path, copy: Path, judging: Judging) -> None:
    """Write the measurements that comparisons of runs draw, compressed."""
    for paper, plan in judging.papers.items():
        for name in {name for item in plan.curves for name in item.measurements}:
            path = root / f"measurements/{paper}/{name}.csv"
            if path.is_file():
                packed = copy / f"measurements/{paper}/{name}.csv.xz"
                packed.parent.mkdir(parents=True, exist_ok=True)
                packed.write_bytes(lzma.compress(path.read_bytes()))


def _shorten(scorecard: Path) -> None:
    """Leave the rows of a scorecard that have a reported number and one of the run.

    They are left without ``reason``, which is about other rows, and without the difference of both.
    """
    if scorecard.is_file():
        rows = pd.read_csv(scorecard, dtype=str, keep_default_na=False)
        has_number = (rows[[f"{protocol}_mean" for protocol in PROTOCOLS]] != "").any(axis=1)
        derived = ["reason", *(f"{protocol}_difference" for protocol in PROTOCOLS)]
        rows = rows[has_number & (rows["reported"] != "")].drop(columns=derived)
        rows.to_csv(scorecard, index=False, lineterminator="\n")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _replaced(text: str, patterns: Iterable[tuple[re.Pattern[str], str]]) -> str:
    for pattern, replacement in patterns:
        text = pattern.sub(replacement, text)
    return text


class _Pages:
    """Copies pages, and the pictures that they show."""

    def __init__(self, results: Results, copy: Path) -> None:
        self.folder, self.figures, self.copy = results.folder, results.root / "figures", copy
        pictures = [*self.figures.rglob("*.svg"), *self.figures.rglob("*.png")]
        self.by_content = {sha256(path.read_bytes()).digest(): path for path in pictures}

    def copy_page(self, source: Path) -> None:
        """Copy a page; an embedded picture that is no figure of the run stays in it."""
        target = self.copy / source.relative_to(self.folder)

        def linked(match: re.Match[str]) -> str:
            path = Path(os.path.normpath(source.parent / html.unescape(match[2])))
            place = self.picture(path, target) if path.is_relative_to(self.figures) else ""
            return f'{match[1]}="{html.escape(place)}"' if place else match[0]

        def embedded(match: re.Match[str]) -> str:
            path = self.by_content.get(sha256(base64.b64decode(match[1])).digest())
            return html.escape(self.picture(path, target)) if path else match[0]

        text = _SVG.sub("", read_text(source))  # the copy has PNG alone
        text = _EMBEDDED.sub(embedded, _PICTURE.sub(linked, text))
        text = _replaced(_ADDITIONAL.sub(_IN_TABLE, text), _IN_COMMANDS)
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def picture(self, source: Path, page: Path) -> str:
        """Copy a figure as PNG; return its path from a page, empty if there is none."""
        source = source.with_suffix(".png")
        place = self.copy / "figures" / source.relative_to(self.figures)
        if not source.is_file():
            return ""
        _copy(source, place)
        return Path(os.path.relpath(place, page.parent)).as_posix()

    def remove_links(self, page: Path) -> None:
        """Remove what a page of the copy links to, or shows, and the copy does not have."""

        def exists(name: str) -> bool:
            return (page.parent / html.unescape(name)).exists()

        text = _ENTRY.sub(lambda match: match[0] if exists(match[1]) else "", read_text(page))
        text = _LINK.sub(lambda match: match[0] if exists(match[1]) else match[2], text)
        text = _FILES.sub("", text)  # lists whose links all went
        text = _IMAGE.sub(lambda match: match[0] if exists(match[1]) else "", text)
        page.write_text(text, encoding="utf-8")


def _write_readme(
    results: Results, facts: Mapping[str, str], copy: Path, names: Mapping[str, str], output: Path
) -> None:
    """Write what the run is, verdicts and effects of its claims, and its pictures, in Markdown."""
    setting = Setting(facts["run"], results.is_comparable, names=names)
    was_run = results.claims["verdict"] != NOT_RUN

    def pictures(paper: str) -> list[Path]:
        paths = (path.relative_to(copy) for path in copy.glob(f"figures/{paper}/*.png"))
        return sorted(paths, key=lambda path: natural(path.stem))

    render(
        "readme.md.j2",
        output,
        setting,
        facts=facts,
        counts=_by_paper(results.claims, count_verdicts),
        run=_by_paper(results.claims[was_run], lambda rows: claim_views(rows, setting)),
        results=_results,
        pictures=pictures,
    )


def _by_paper(claims: pd.DataFrame, of: Callable[[pd.DataFrame], Any]) -> dict[str, Any]:
    return {str(paper): of(rows) for paper, rows in claims.groupby("paper", sort=False)}


def _results(view: ClaimView) -> dict[str, str]:
    """Return the result of a claim by protocol; empty if there is none."""
    results = dict.fromkeys(PROTOCOLS, "") | {one.protocol: _result(one) for one in view.outcomes}
    return results | ({PROTOCOLS[0]: "the same numbers"} if view.row["same_numbers"] else {})


def _result(outcome: Outcome) -> str:
    """Return a verdict with reasons, controls, effect, limiting case and scope."""
    mark = "**" if outcome.verdict in DECIDED else ""
    text = f"{mark}{outcome.words}{mark}"
    if outcome.verdict == NOT_APPLICABLE:
        return f"{text}: {'; '.join(outcome.reasons)}"
    texts = [f"weak: q = {outcome.q}"] if outcome.is_weak else []
    texts += [f"control {name}: {it}" for name, _, it in outcome.controls]
    texts += [f"{outcome.effect} {outcome.unit}".strip()]
    texts += [f"limiting case {outcome.limiting}"] if outcome.limiting else []
    texts += [outcome.scope, *(f"left out: {reason}" for reason in outcome.reasons)]
    return f"{text}: {'; '.join(filter(None, texts))}"


def _machine() -> str:
    """Return cores, processor and memory of this machine."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)$", read_text(info) if info.is_file() else "", re.M)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    processor = f"{names[0]}, " if names else ""
    return f"{processor}{len(os.sched_getaffinity(0))} cores, {memory:.0f} GB"


def _reduce(copy: Path, output: Path) -> None:
    """Make pictures smaller until the copy is small enough."""
    pictures, width = sorted(copy.rglob("*.png")), 1.0
    while (size := sum(path.stat().st_size for path in copy.rglob("*.*"))) > MOST_BYTES:
        width *= _SMALLER
        if width < _SMALLEST or not pictures:
            problem = f"the copy takes {size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f}"
            raise DataError(output, "", problem, "publish the folder `highlights` of the run")
        for path in pictures:
            image = Image.open(path).convert("RGB")
            small = (round(_SMALLER * image.width), round(_SMALLER * image.height))
            image = image.resize(small, Image.Resampling.LANCZOS)
            image.quantize(64, Image.Quantize.MEDIANCUT).save(path, optimize=True)
