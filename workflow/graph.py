"""The rules by stage and what the stages need of each other: the picture in docs/rules.md.

python -m workflow.graph docs/rules.md
"""

import sys
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from workflow.dryrun import planned

_PAGE = """# The rules by stage

All rules that the demo runs, by the file in `workflow/rules/` that has them. An arrow means that a
stage reads what another one makes; arrows that follow from others are left out. `make graph` writes
this page; `snakemake --rulegraph` draws every rule.

```mermaid
flowchart TD
{lines}
```
"""


def main() -> None:
    """Write the page to the file that the command line names."""
    rules: dict[str, set[str]] = defaultdict(set)
    edges: set[tuple[str, str]] = set()
    with planned(["all"], ["config/demo.yaml"], {}, cores=None) as workflow:
        jobs = [job for job in workflow.dag.jobs if job.rule.script]
        stage = {job.rule.name: Path(job.rule.snakefile).stem for job in jobs}
        for job in jobs:
            rules[stage[job.rule.name]].add(job.rule.name)
            needs = {need.rule.name for need in workflow.dag.dependencies[job]} & stage.keys()
            edges |= {(stage[need], stage[job.rule.name]) for need in needs}
    lines = [f'    {name}["<b>{name}</b><br>{_text(rules[name])}"]' for name in sorted(rules)]
    lines += [f"    {first} --> {second}" for first, second in reduced(edges)]
    Path(sys.argv[1]).write_text(_PAGE.format(lines="\n".join(lines)), encoding="utf-8")


def reduced(edges: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return edges, sorted, without those that a path of others stands for, and without loops."""
    kept = sorted((first, second) for first, second in edges if first != second)
    for edge in list(kept):
        others = [other for other in kept if other != edge]
        reached, waiting = {edge[0]}, [edge[0]]
        while waiting:
            node = waiting.pop()
            new = {second for first, second in others if first == node} - reached
            reached |= new
            waiting += new
        if edge[1] in reached:
            kept = others
    return kept


def _text(names: Collection[str]) -> str:
    """Return names in lines of three; variants of a rule are left out."""
    plain = sorted(n for n in names if not any(n.startswith(f"{other}_") for other in names))
    return "<br>".join(", ".join(plain[at : at + 3]) for at in range(0, len(plain), 3))


if __name__ == "__main__":
    main()
