"""All upstream files of a run: whether they can be had, then fetching them."""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mbert_atlas.errors import AtlasError, TransientError
from mbert_atlas.progress import track
from mbert_atlas.sources.check import Finding, check, report, require_space
from mbert_atlas.sources.fetch import Sources, fetch, fetch_snapshot
from mbert_atlas.sources.register import snapshot_path

_logger = logging.getLogger(__name__)
Snapshots = Sequence[tuple[str, str]]  # repositories of the hub, and their revisions


def check_all(
    paths: Sequence[str], snapshots: Snapshots, downloads: Path | str, sources: Sources
) -> list[Finding]:
    """Check whether all files can be had; log a table of those that cannot, and the total size.

    Raises AtlasError if the disk is too small, or the network must not be used.
    """
    if sources.offline:
        raise AtlasError("offline is set, and the check asks servers; start without it.")
    findings = check(paths, snapshots, sources)
    _logger.info("%s", report(findings, downloads))
    require_space(findings, downloads)
    return findings


def fetch_all(
    paths: Sequence[str], snapshots: Snapshots, downloads: Path | str, sources: Sources
) -> None:
    """Put files, and hub snapshots, into the downloads folder, small ones first.

    Existing snapshots stay. Without ``offline``, all servers are asked first, see
    :func:`check_all`. What broke off is tried once more, after all others.

    Raises AtlasError, after all others have been fetched, if some cannot be; names each with its
    reason, which is logged at once, too.
    """
    folder, sizes = Path(downloads), dict[str, float]()
    if not sources.offline:
        findings = check_all(paths, snapshots, downloads, sources)
        sizes = {one.path: one.size or 0 for one in findings if one.size is not None}
    fetches = {path: partial(fetch, path, folder / path, sources) for path in paths}
    for hub in snapshots:
        path = snapshot_path(*hub)
        if not (folder / path).exists():
            fetches[path] = partial(fetch_snapshot, *hub, folder / path, sources)
    waiting, failures = sorted(fetches, key=lambda path: sizes.get(path, 0)), dict[str, str]()
    for is_last in (False, True):
        again = []
        for path in track(waiting, "files"):
            try:
                fetches[path]()
            except AtlasError as error:
                _logger.error("%s", error)
                if isinstance(error, TransientError) and not is_last:
                    again.append(path)
                else:
                    failures[path] = str(error)
        waiting = again
    if failures:
        raise AtlasError(f"{len(failures)} could not be fetched:\n" + "\n".join(failures.values()))
