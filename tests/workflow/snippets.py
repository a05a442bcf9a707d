"""Files and commands that stand in the documentation, for the tests that use them."""

import re

from clone import ROOT


def files_in(page: str) -> dict[str, str]:
    """Code blocks of a page that name a file behind their language, by its path."""
    text = (ROOT / page).read_text("utf-8")
    return dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def commands_in(page: str) -> list[str]:
    """Indented lines, and code within lines, that start a program, without comments."""
    text = re.sub(r"(?ms)^```.*?^```", "", (ROOT / page).read_text("utf-8"))
    programs = r"(?:make|snakemake|python) [^\n`]+"
    lines = re.findall(rf"^    ({programs})$", text, re.MULTILINE)
    inline = re.findall(rf"`({programs})`", text.replace("\n", " "))
    commands = (re.split(r"\s+# ?|\s+&", line)[0] for line in [*lines, *inline])
    return [command.strip() for command in commands]
