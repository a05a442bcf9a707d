"""The papers: one folder each, found and not listed."""

from pathlib import Path


def names() -> list[str]:
    """Return the papers that there are, sorted."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/__init__.py"))
