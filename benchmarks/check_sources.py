"""Time the check of the paper preset's 191 sources against asking one address after the other.

    python benchmarks/check_sources.py [--latency .2] [--files 191]

A server on the loopback interface answers each request after the latency, and plays the Internet
Archive with its metadata and redirects. The ratio is at most the four requests at a time that each
host gets, times the hosts; all hosts are one here but for the archive's redirects.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import common

sys.path.insert(0, str(common.ROOT / "tests/unit"))
from configs import LANGUAGES, ROOT, config
from internet import Answer, Internet, served

from mbert_atlas.plan.plan import Plan
from mbert_atlas.sources import check, download
from mbert_atlas.sources.fetch import Sources
from mbert_atlas.sources.register import Register


def answer(internet: Internet, path: str) -> Answer:
    """Play the archive: metadata of every item, files on another host; other hosts have all."""
    if "/metadata/" in path:
        name = path.rpartition("/")[2] + "-pages-articles.xml.bz2"
        return Answer(json.dumps({"files": [{"name": name, "size": "1000000"}]}).encode())
    if path.startswith("/archive.org/"):
        elsewhere = internet.url.replace("127.0.0.1", "localhost")
        return Answer(b"", 302, {"Location": f"{elsewhere}/ia{path}"})
    return Answer(b"data", size=1_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of each answer")
    parser.add_argument("--files", type=int, default=191)
    options = common.parse(parser, latency=0.001, files=8)
    paths = Plan(config(), LANGUAGES, home=ROOT).upstream_files[: options.files]
    with contextlib.ExitStack() as stack:
        internet = stack.enter_context(served())
        internet.others = lambda path, headers: answer(internet, path)
        internet.latency = options.latency
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        text = (ROOT / "resources/sources.yaml").read_text("utf-8")
        text = re.sub(r"\n( +bytes|checksums):.*", "", text)  # the server has one size for all
        (folder / "sources.yaml").write_text(internet.redirect(text), "utf-8")
        register = Register.read(folder / "sources.yaml")
        seconds = {}
        for name, workers in {"one after the other": 1, "as check_sources": 32}.items():
            with (
                patch.object(check, "_AT_ONCE", workers),
                patch.object(download, "_AT_A_TIME", min(4, workers)),
            ):
                seconds[name], findings = common.timed(
                    lambda: check.check(paths, [], Sources(register))
                )
            assert all(one.state == "found" for one in findings), findings
            print(f"{name}: {seconds[name].wall:.1f} s for {len(paths)} sources")
    ratio = seconds["one after the other"].wall / seconds["as check_sources"].wall
    print(f"ratio {ratio:.1f}, {len(internet.asked) // 2} requests of {options.latency} s each")


if __name__ == "__main__":
    main()
