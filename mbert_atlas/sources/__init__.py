"""Upstream files: what they are, where they come from, and getting them whole and checked."""

from mbert_atlas.sources.fetch import (
    Sources,
    fetch,
    fetch_all,
    fetch_snapshot,
    origin_of,
    require_available,
)
from mbert_atlas.sources.mirror import Mirror, write_manifest
from mbert_atlas.sources.register import Register, snapshot_path

__all__ = [
    "Mirror",
    "Register",
    "Sources",
    "fetch",
    "fetch_all",
    "fetch_snapshot",
    "origin_of",
    "require_available",
    "snapshot_path",
    "write_manifest",
]
