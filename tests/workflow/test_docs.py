"""The documentation is true: links lead somewhere, named files exist, commands run or plan."""

import json
import os
import re
import shlex
import subprocess
from urllib.parse import unquote

import pytest
from snakemake.cli import parse_args
from toy_results import finished_run

from clone import ROOT, jobs, python, snakemake, succeeded
from mbert_atlas import papers
from mbert_atlas.config.merging import merge_all
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.languages import Languages
from mbert_atlas.papers import names
from mbert_atlas.plan.plan import Plan
from mbert_atlas.scorecard.cells import write_csv
from mbert_atlas.scorecard.judging import read_judging
from mbert_atlas.scorecard.provenance import write_config
from mbert_atlas.scorecard.publishing import publish
from mbert_atlas.scorecard.results import read_results
from snippets import commands_in, files_in

PAGES = [
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "config/README.md", "resources/README.md"),
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))),
]
NAMED = re.compile(
    r"(?:benchmarks|config|docs|envs|local|mbert_atlas|resources|slurm|tests|workflow)/[\w./-]+"
)
WRITTEN_BY_READERS = {
    f"config/{name}.yaml"
    for name in ("mine", "turkish", "another", "second", "xlmr", "content", "parquet")
}
# What stands for something in the pages, and for what here; first {mirror} and {mine}, see `here`.
PLACEHOLDERS = {
    "PAPER": names()[0],
    "ROOT": "workflow.scripts.finetune:",
    "TARGET": "all",
    "DIR": "{mirror}",
    "FILE": "config/demo.yaml",
    "RATES": "{mirror}/rates.csv",
    "/data/mirror": "{mirror}",
    "my-mirror": "{mirror}",
    "config/mine.yaml": "{mine}",
    "mine.yaml": "{mine}",
    "resources/downloads": "{mirror}",
    "results/demo/highlights": "{runs}/demo/highlights",
    "results/second/highlights": "{runs}/second/highlights",
    "results/small": "{runs}/small",
    "docs/results/small": "{runs}/published",
    "results/comparison": "{runs}/comparison",
    **{f"exports/{name}": "{runs}/exports" for name in names()},
    **{f"--paper {name}": f"--paper {names()[0]}" for name in names()},
}
DEFAULT = json.dumps([[], []])
COMMANDS = sorted(
    {command for page in PAGES if page != "CHANGELOG.md" for command in commands_in(page)}
)


def anchors(page):
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_and_named_files(page):
    text = (ROOT / page).read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if re.match(r"https?:", target):
            continue
        path = (ROOT / page).parent / file if file else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.relative_to(ROOT)), target
    for name in {name.rstrip(".") for name in re.findall(rf"`({NAMED.pattern})`", text)}:
        written = name in WRITTEN_BY_READERS or re.search("/(toy2020|downloads|count_words)", name)
        assert written or (ROOT / name).exists(), name


MKDOCS = ROOT / ".venv-docs/bin/mkdocs"


@pytest.mark.skipif(not MKDOCS.exists(), reason="needs `make docs`, once")
def test_the_site_builds_without_warnings_and_its_links_hold(tmp_path):
    command = [str(MKDOCS), "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    options = {"capture_output": True, "text": True, "check": False}
    done = subprocess.run(command, cwd=ROOT, env=environment, **options)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert tmp_path / f"results/small/papers/{names()[0]}.html" in pages
    assert "token_budget" in (tmp_path / "reference.html").read_text("utf-8")
    for page in (page for page in pages if page.name != "404.html"):  # that of a server's root
        assert not re.search(r'src="(https?:)?//', page.read_text("utf-8")), page
        for target in re.findall(r'(?:href|src)="([^"#:?]+)["#?]', page.read_text("utf-8")):
            assert (page.parent / unquote(target)).exists(), (page, target)


def test_make_targets_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {command.split()[1] for command in COMMANDS if command.startswith("make ")}
    assert len(named) > 5
    assert named <= targets


def planned():
    """Documented Snakemake commands by their config: targets, which one dry run plans together."""
    groups = {}
    for command in COMMANDS:
        program, *words = shlex.split(re.sub(r"\s+", " ", command))
        if program != "snakemake" or not words or words[0] == "..." or "*" in command:
            continue
        if "config/topics.yaml" in words:  # with the code of the page: test_plugins.py runs it
            continue
        _, options = parse_args([replaced(word) for word in words])
        key = json.dumps([list(map(str, options.configfile or [])), options.config or []])
        targets = options.targets or ["all"]
        # Everything at paper scale takes long to plan; the default config shows that it does.
        small = targets if key == DEFAULT else [f"{names()[0]}_table3"]
        groups.setdefault(key, set()).update(small if targets == ["all"] else targets)
    return sorted((key, *sorted(targets)) for key, targets in groups.items())


def replaced(text):
    for placeholder, value in PLACEHOLDERS.items():
        text = re.sub(
            rf"(?<![\w/]){re.escape(placeholder)}(?![\w/])|{placeholder}(?=_)", value, text
        )
    return text


@pytest.fixture(scope="module")
def here(repository, tmp_path_factory):
    """Files that the pages mention: a mirror with a file, and a reader's config."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "mirror").mkdir()
    header = "path\tbytes\tsha256\tdataset\tsource\tcommit\tlicence\tnote\n"
    (folder / "mirror/MANIFEST.tsv").write_text(header)
    (folder / "mirror/mine").mkdir()
    (folder / "mirror/mine/news.txt").write_text("One house .\n")
    (folder / "mine.yaml").write_text("run: mine\n")
    for page in ("CONTRIBUTING.md", "docs/compare.md", "docs/faq.md", "docs/wikipedia.md"):
        for name, text in files_in(page).items():
            if name in WRITTEN_BY_READERS:
                (repository / name).write_text(text)
    runs = folder / "runs"
    for name, scope in (("demo", "highlights"), ("second", "highlights"), ("small", "")):
        finished_run(runs / name, {"ru": 1}, run=name, paper=names()[0], scope=scope)
    languages = Languages.read(ROOT / "resources/languages.csv")
    config = papers.load(root=ROOT, languages=[item.code for item in languages])
    whole = merge_all([*map(read_yaml, papers.files(root=ROOT))])
    whole |= {"run": "small", "comparable": False, "world": "made up"}
    write_config(whole, runs / "small/config.yaml")
    plan = Plan(config, languages)
    judging = read_judging(plan.papers, plan.language_names())
    (results,) = read_results([runs / "small"])  # its claims are made up: judge those of the papers
    write_csv(judging.again(results), runs / "small/claims.csv")
    publish(runs / "small", runs / "published", judging=judging)
    return {"mirror": folder / "mirror", "mine": folder / "mine.yaml", "runs": runs}


@pytest.mark.workflow
@pytest.mark.parametrize("group", planned(), ids=lambda group: group[0])
def test_snakemake_commands_plan(repository, here, group):
    key, *targets = group
    files, settings = json.loads(key)
    options = ["--configfile", *files] if files else []
    options += ["--config", *settings] if settings else []
    options = [option.format(**here) for option in options]
    done = snakemake(repository, "-n", "--profile", "slurm", *options, "--", *targets, timeout=600)
    assert jobs(done)["total"] > 0


@pytest.mark.workflow
@pytest.mark.parametrize(
    "command",
    [
        command
        for command in COMMANDS
        # A debugger waits for a person; `rerun` submits jobs (tests/slurm/test_faults.py); the hub
        # is on the network (tests/unit/test_own_encoder.py).
        if command.startswith("python -") and not re.search(r"pdb|rerun|hub:", command)
    ],
)
def test_python_commands_run(repository, here, command):
    _, *words = shlex.split(replaced(command).format(**here))
    succeeded(python(repository, *words))
