"""Hooks of MkDocs, see mkdocs.yml: the site is the Markdown of the repository, as it is.

Pages outside of docs/ join it, links to other files of the repository lose their target, and the
reference of the config is made from its JSON schema.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).resolve().parents[1]
_OUTSIDE = {
    "README.md": "index.md",
    **{name: name.lower() for name in ("CONTRIBUTING.md", "CHANGELOG.md")},
    "config/README.md": "module.md",
    "resources/README.md": "resources.md",
}
"""Pages of the site that lie elsewhere in the repository."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:)([^)#\s]*)(#[^)]*)?\)")
_FENCE = re.compile(r"^( *)```(\w+) (\S+)$", re.MULTILINE)  # a block with the file that it is


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie elsewhere, and the reference."""
    for source, name in _OUTSIDE.items():
        text = (_ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "reference.md", content="\n".join(_reference())))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to pages of the site, and name the file of a block above it."""
    sources = {name: source for source, name in _OUTSIDE.items()}
    source = _ROOT / sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def linked(match: re.Match[str]) -> str:
        mark, text, target, anchor = match[1], match[2], match[3], match[4] or ""
        path = (source.parent / target).resolve() if target else source
        name = path.relative_to(_ROOT).as_posix()
        name = _OUTSIDE.get(name, name.removeprefix("docs/"))
        name, anchor = _published(name, anchor)
        if files.get_file_from_path(name) is None:
            return text
        above = "../" * page.file.src_uri.count("/")
        return f"{mark}[{text}]({above}{name}{anchor})"

    return _FENCE.sub(r'\1```{.\2 title="\3"}', _LINK.sub(linked, markdown))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Take the script that searches in files, without a server, from the site."""
    above = "../" * page.file.src_uri.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{above}iframe-worker.js")


def _published(name: str, anchor: str) -> tuple[str, str]:
    """Return the page of published results in place of their README, which the site has not."""
    if name.startswith("results/") and name.endswith("/README.md"):
        return name.replace("README.md", "index.html"), anchor
    return name, anchor


def _reference() -> Iterator[str]:
    """Yield the lines of the reference: a table of keys for each part of the config."""
    yield "# Config reference\n\nEvery key, from the JSON schema that editors read, too."
    paths = [_ROOT / "config/schema.json", *sorted(_ROOT.glob("config/papers/*.schema.json"))]
    done = set[str]()
    for path in paths:
        schema = json.loads(path.read_text(encoding="utf-8"))
        title = "Config" if path.name == "schema.json" else path.name.partition(".")[0]
        for name, part in {title: schema, **schema.get("$defs", {})}.items():
            if name not in done and part.get("properties"):
                done.add(name)
                yield from _keys(name, part)


def _keys(name: str, part: Mapping[str, Any]) -> Iterator[str]:
    yield f"\n## {name}\n\n{_plain(part.get('description', ''))}\n"
    yield "| key | type | default | |\n| --- | --- | --- | --- |"
    for key, item in part["properties"].items():
        default = json.dumps(item["default"]) if "default" in item else ""
        default = f"`{default}`" if default and len(default) <= 40 else ""
        yield f"| `{key}` | {_type(item)} | {default} | {_plain(item.get('description', ''))} |"


def _type(item: Mapping[str, Any]) -> str:
    if "$ref" in item:
        name = item["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in item:
            return " or ".join(dict.fromkeys(_type(one) for one in item[several]))
    if "enum" in item or "const" in item:
        return ", ".join(f"`{value}`" for value in item.get("enum", [item.get("const")]))
    inner = item.get("items") or item.get("additionalProperties")
    of = f" of {_type(inner)}" if isinstance(inner, dict) and inner else ""
    return f"{item.get('type', 'any')}{of}"


def _plain(text: str) -> str:
    """Return a description as one line of a table."""
    text = re.sub(r":\w+:`[~.]?", "`", text).replace("``", "`")
    return " ".join(text.replace("|", "\\|").split())
