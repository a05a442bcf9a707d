"""Pages in headless Chromium, and what axe-core finds in them; neither is a dependency."""

import html
import json
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_CHROMIUM = shutil.which("chromium") or ""
_AXE = find_spec("axe_playwright_python")  # only for the script that it ships
_CHECK = """<pre id="axe-result"></pre><script>
addEventListener("load", async () => {
  document.querySelectorAll("details").forEach(item => { item.open = true; });
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await axe.run({exclude: "#axe-result"}, {runOnly: tags});
  document.querySelector("#axe-result").textContent = JSON.stringify({
    size: [innerWidth, document.documentElement.scrollWidth], passed: found.passes.length,
    wrong: found.violations.map(rule => [rule.id, rule.nodes.map(node => node.html)]),
  });
});
</script></body>"""

needs_chromium = pytest.mark.skipif(not _CHROMIUM, reason="needs chromium")
needs_axe = pytest.mark.skipif(
    not (_CHROMIUM and _AXE),
    reason="needs chromium, and axe-core: pip install --no-deps axe-playwright-python",
)


def dom(page: Path, *options: str) -> str:
    """Return a page after its scripts have run."""
    common = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=30000"]
    command = [_CHROMIUM, *common, *options, "--dump-dom", page.resolve().as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def check(page: Path, *, width: int, dark: bool) -> dict[str, Any]:
    """Return what axe-core finds in a page with every fold open, and how wide the page is."""
    assert _AXE
    assert _AXE.origin
    axe = Path(_AXE.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    copy = page.with_name(f"axe-{page.name}")
    text = page.read_text(encoding="utf-8").replace("</body>", f"<script>{axe}</script>{_CHECK}")
    copy.write_text(text, encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    text = dom(copy, f"--window-size={width},900", scheme)
    found = re.search(r'<pre id="axe-result">(.+?)</pre>', text, re.DOTALL)
    assert found, "axe-core has not finished"
    return dict(json.loads(html.unescape(found[1])))
