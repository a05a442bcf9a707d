"""What all pages share: templates, their setting, names of artifacts, figures, provenance."""

import base64
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from scipy.special import ndtri

import mbert_atlas
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.encoders import shape_of
from mbert_atlas.files import atomic_path
from mbert_atlas.labels import label, language
from mbert_atlas.scorecard import rules, verdicts

_IMAGE_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


class Labels(NamedTuple):
    """How cells of an artifact are named and marked."""

    places: Mapping[str, str]  # names of source and target: languages, sets that the config decides
    contrasts: Sequence[rules.Contrast] = ()  # they decide how significant differences are marked
    conditions: Mapping[str, str] = {}  # names that differ from their usual label
    models: Mapping[str, str] = {}  # names that differ from their usual label


@dataclass(frozen=True)
class Setting:
    """What a page is about."""

    run_name: str
    comparable: bool  # whether data and encoder are the papers'
    world: str | None = None  # where they are not: data and encoder, to be read after "holds"
    names: Mapping[str, str] = field(default_factory=dict)  # language code to English name
    conditions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Names of conditions that differ from their usual label, by ``paper/artifact``."""
    models: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """By paper and model: ``label``, and the ``config`` of an encoder whose size is added to it."""
    facts: Mapping[str, str] = field(default_factory=dict)  # preset and encoders, by name
    record: Mapping[str, Any] = field(default_factory=dict)  # of :func:`.provenance.read_trace`
    citations: Mapping[str, str] = field(default_factory=dict)  # BibTeX, see :mod:`.citations`

    def labels(self, key: str, contrasts: Sequence[rules.Contrast] = ()) -> Labels:
        """Return how cells of ``paper/artifact`` are named and marked."""
        models = {
            model: ", ".join(filter(None, [item["label"], shape_of(Path(item["config"]))]))
            for model, item in self.models.get(key.partition("/")[0], {}).items()
        }
        conditions = self.conditions.get(key, {})
        return Labels({**self.names, **conditions}, contrasts, conditions, models)


@dataclass(frozen=True)
class FigureLink:
    """A figure of an artifact."""

    paper: str
    artifact: str
    title: str
    path: Path  # the SVG file; a PNG and the caption lie next to it

    @property
    def protocol(self) -> str:
        """The protocol that it shows; empty if it shows both, or its file name has none."""
        return next((name for name in PROTOCOLS if name in self.path.stem.split(".")), "")

    @property
    def caption(self) -> str:
        """What it shows, n, seeds, intervals and how to read it; empty if that was not written."""
        file = self.path.with_suffix(".caption.txt")
        return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def figure_links(
    figures: Iterable[Mapping[str, str]], names: Mapping[str, str]
) -> list[FigureLink]:
    """Return figures (``paper``, ``artifact``, ``path``) with titles by their file names.

    ``figure1.de.published.svg`` is *Figure 1, German, published*.
    """
    links = []
    for figure in figures:
        path, artifact = Path(figure["path"]), figure["artifact"]
        title = figure_title(path, artifact, names)
        links.append(FigureLink(figure["paper"], artifact, title, path))
    return links


def figure_title(path: Path, artifact: str, names: Mapping[str, str]) -> str:
    """Return the title of a figure of an artifact by its file name, see :func:`figure_links`."""
    name, *rest = path.stem.split(".")
    words = filter(None, [name.removeprefix(artifact).strip("_"), *rest])
    return ", ".join([artifact_name(artifact), *(language(word, names) for word in words)])


def duration(hours: float) -> str:
    """Return hours in the unit that fits: ``42 s``, ``3.1 min``, ``12.5 h``."""
    for unit, size in (("h", 1.0), ("min", 60.0)):
        if hours * size >= 1:
            return f"{hours * size:,.1f} {unit}"
    return f"{hours * 3600:.0f} s"


def artifact_name(artifact: str) -> str:
    """Return ``table2`` as ``Table 2``, ``appendixA`` as ``Appendix A``."""
    match = re.fullmatch(r"([a-z]+)[_ ]?([A-Z0-9][A-Za-z0-9.]*)", artifact)
    return f"{match[1].capitalize()} {match[2]}" if match else label(artifact)


def natural(name: str) -> list[tuple[str, int]]:
    """Return a key that sorts figure10 after figure9."""
    return [(text, int(part or 0)) for text, part in re.findall(r"(\D*)(\d*)", name)]


def data_url(figure: Path) -> str:
    """Return the smaller of a figure's SVG and PNG as a data URL."""
    both = (figure, figure.with_suffix(".png"))
    smallest = min(filter(Path.exists, both), key=lambda path: path.stat().st_size)
    content = base64.b64encode(smallest.read_bytes()).decode()
    return f"data:{_IMAGE_TYPES[smallest.suffix]};base64,{content}"


def drawn_width(figure: Path) -> str:
    """Return how wide a figure was drawn, for CSS: its fonts then have their size in print."""
    head = figure.read_bytes()[:1000].decode(errors="replace") if figure.exists() else ""
    width = re.search(r'<svg[^>]* width="([\d.]+pt)"', head)
    return width[1] if width else "100%"


def expected_extreme(k: int) -> float:
    """Return the expected largest of k standard normal numbers: 1.87 of 20."""
    uniform = (np.arange(100_000) + 0.5) / 100_000
    return float(ndtri(uniform ** (1 / k)).mean())


def render(
    template: str,
    output: Path,
    setting: Setting,
    package: str = "mbert_atlas.scorecard",
    **content: object,
) -> None:
    """Write a page from a template of a package, or of this one, and its variables, atomically."""
    world = setting.world or "with the data and the encoder of this run"
    templates = Environment(
        loader=ChoiceLoader(
            [PackageLoader(name, ".") for name in (package, "mbert_atlas.scorecard")]
        ),
        autoescape=template.endswith(".html.j2"),
        keep_trailing_newline=not template.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "artifact_name": artifact_name,
        "relative": lambda path: Path(os.path.relpath(path, output.parent)).as_posix(),
        "data_url": data_url,
        "drawn_width": drawn_width,
        "duration": duration,
        "extreme": expected_extreme,
        "figure_title": figure_title,
        "minus": lambda number: number.replace("-", "−", 1),  # as wide as a plus
    }
    templates.globals |= {
        "protocols": PROTOCOLS,
        "judged": rules.JUDGED,
        "verdicts": rules.VERDICTS if setting.comparable else rules.UNJUDGED,
        "claim_verdicts": verdicts.VERDICTS,
        "run_name": setting.run_name,
        "comparable": setting.comparable,
        "where": "here" if setting.comparable else world,  # to be read after "holds"
        "record": setting.record,
        "language_names": setting.names,
        "citations": setting.citations,
    }
    with atomic_path(output) as temporary:
        temporary.write_text(templates.get_template(template).render(content), encoding="utf-8")


def provenance(setting: Setting) -> dict[str, str]:
    """Return the versions of the software, the preset and the encoders, by name."""
    versions = {"mbert-atlas": mbert_atlas.__version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in ("torch", "transformers")}
    return versions | dict(setting.facts)
