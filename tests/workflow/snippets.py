"""Files and commands that stand in the documentation, for the tests that use them."""

import re

from clone import ROOT


def files_in(page: str) -> dict[str, str]:
    """Code blocks of a page that name a file behind their language, by its path."""
    text = (ROOT / page).read_text("utf-8")
    return dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def commands_in(page: str) -> list[str]:
    """Indented lines and lines of shell blocks that start a program, without comments."""
    text = (ROOT / page).read_text("utf-8")
    lines = re.findall(r"^    (.*)$", re.sub(r"(?ms)^```.*?^```$", "", text), re.MULTILINE)
    return [re.split(r"\s{2,}#|\s+#\s", line)[0].strip() for line in lines]
