"""The library that sorts, searches and filters tables: DataTables, which itables bundles."""

import re
from importlib.metadata import distribution
from pathlib import Path

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_path

_EXPORTS = re.compile(r"\bexport\{([^}]*)\};?")
_START = """
document.querySelectorAll("table.sortable").forEach(table => new DataTable(table, {
  order: [], autoWidth: false, titleRow: 0, ordering: {indicators: false, handler: false},
  paging: table.classList.contains("long"), pageLength: 50, lengthMenu: [50, 200, -1],
  layout: {topStart: "search", topEnd: "pageLength"},
  language: {search: "Search all columns", lengthMenu: "_MENU_ rows a page",
    info: "_TOTAL_ rows", infoEmpty: "no rows", infoFiltered: "of _MAX_",
    columnControl: {dropdown: "Filter by this column", order: "Sort by this column"}},
  columnDefs: [
    {targets: "facet", columnControl: ["order", ["searchList"]]},
    {targets: "_all", columnControl: ["order", ["search"]]},
  ],
}));
"""
"""Columns of class ``facet`` filter by a list of their values, others by text or number."""


def write_library(script: Path, style: Path) -> None:
    """Write script and style that make tables of class ``sortable`` sort, search and filter.

    The bundle is an ES module, which browsers do not load from files on disk: its export becomes a
    global. Raises AtlasError if the bundle has another form, or if the disk is full.
    """
    folder = Path(str(distribution("itables").locate_file("itables/html")))
    module = (folder / "dt_bundle.js").read_text(encoding="utf-8")
    exports = _EXPORTS.findall(module)
    if len(exports) != 1 or " as default" not in exports[0]:
        raise AtlasError(f"{folder}: no bundle of one default export; install requirements.lock")
    local = next(name for name in exports[0].split(",") if name.endswith(" as default")).split()[0]
    body = _EXPORTS.sub(f"window.DataTable={local};", module)
    for path, text in (
        (script, f"(() => {{{body}\n}})();{_START}"),
        (style, (folder / "dt_bundle.css").read_text(encoding="utf-8")),
    ):
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
