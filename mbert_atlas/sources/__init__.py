"""Upstream files: what they are, where they come from, and getting them whole and checked."""

from mbert_atlas.sources.fetch import (
    check_snapshot,
    fetch,
    fetch_snapshot,
    missing_files,
    require_available,
)
from mbert_atlas.sources.mirror import Mirror, write_manifest
from mbert_atlas.sources.register import (
    FileEntry,
    HubEntry,
    Register,
    SourceFile,
    snapshot_path,
)

__all__ = [
    "FileEntry",
    "HubEntry",
    "Mirror",
    "Register",
    "SourceFile",
    "check_snapshot",
    "fetch",
    "fetch_snapshot",
    "missing_files",
    "require_available",
    "snapshot_path",
    "write_manifest",
]
