# What targets, pages and figures show, and in which words.

import csv
import re
from importlib import import_module

from mbert_atlas.labels import listed


def paper_of(wildcards):
    """The paper of a table."""
    return wildcards.table.partition("/")[0]


def reported(wildcards):
    """The numbers that the paper of a table reports."""
    return reported_file(paper_of(wildcards))


def headline(artifact):
    """An artifact as the paper calls it, for the report: Table 1 for table1_udpos, Appendix A."""
    kind, number = re.match(r"(?:.*/)?([a-z]+)([A-Z]|\d+)", artifact).groups()
    return f"{kind.capitalize()} {number}"


def claims(paper):
    """The module with a paper's title and contrasts."""
    return import_module(f"mbert_atlas.papers.{paper}.claims")


def figure_title(paper, artifact, **words):
    """The title of a figure, with words of the config where it has places for them."""
    return claims(paper).FIGURES[artifact].format(**words)


def language_names(codes):
    """Languages by their English names: a, b and c."""
    return listed([LANGUAGES[code].name for code in codes])


def condition_order(paper):
    """The conditions of a paper as it reports them, then those of its figures alone.

    It decides what a condition looks like in a figure, whatever else is drawn.
    """
    with open(reported_file(paper)) as stream:
        stated = [row["condition"] for row in csv.DictReader(stream)]
    return list(dict.fromkeys([*filter(None, stated), *ORDER.get(paper, [])]))


def artifacts(paper):
    """The files that a paper's target makes."""
    return [path for paths in ARTIFACTS[paper].values() for path in paths]


def in_scope(scope):
    """What pages show in a folder of the run: all; in `highlights/` what is to be seen first.

    In `available/` what is there. By paper `artifacts` and the `measurements` behind them.
    """
    every = {
        paper: {"artifacts": list(ARTIFACTS[paper]), "measurements": MEASUREMENTS[paper]}
        for paper in ARTIFACTS
    }
    if scope == "highlights/":  # a config may have taken some of them out
        return {
            paper: {
                key: [name for name in names if name in every[paper][key]]
                for key, names in item.items()
            }
            for paper, item in HIGHLIGHTS.items()
        }
    if not scope:
        return every
    there = {
        paper: {
            "artifacts": [
                name for name, paths in ARTIFACTS[paper].items() if all(map(made, paths))
            ],
            "measurements": list(filter(made, item["measurements"])),
        }
        for paper, item in every.items()
    }
    return {paper: item for paper, item in there.items() if item["measurements"]}


def made(path):
    """The absolute path of a result that is there, or nothing."""
    found = Path(path.replace("<results>", RESULTS)).absolute()
    return str(found) if found.exists() else ""


def as_input(scope, path):
    """What is there is taken as it is: no rule makes an absolute path."""
    return made(path) if scope == "available/" else path


def shown_measurements(scope, *papers):
    """The measurements behind what a scope shows, of all papers or of some."""
    return [
        as_input(scope, path)
        for paper, item in in_scope(scope).items()
        if not papers or paper in papers
        for path in item["measurements"]
    ]


def shown_files(scope, *papers):
    """The files of the artifacts that a scope shows, with paper and artifact."""
    return [
        {"paper": paper, "artifact": artifact, "path": path}
        for paper, item in in_scope(scope).items()
        if not papers or paper in papers
        for artifact in item["artifacts"]
        for path in ARTIFACTS[paper][artifact]
    ]


def shown_paths(scope, *papers):
    """The paths of these files."""
    return [as_input(scope, item["path"]) for item in shown_files(scope, *papers)]


def shown_figures(scope, *papers):
    """The drawings among these files, with the folder of the run filled in."""
    return [
        item | {"path": item["path"].replace("<results>", RESULTS)}
        for item in shown_files(scope, *papers)
        if item["path"].endswith(".svg")
    ]
