"""A results folder as a Workflow Run RO-Crate (https://w3id.org/ro/wfrun/workflow/0.5).

An action per table or figure states its files, data, encoders and times, another one the pages.
"""

import mimetypes
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from rocrate.model import ContextEntity
from rocrate.rocrate import ROCrate

from mbert_atlas.files import atomic_path, read_text, write_json
from mbert_atlas.scorecard.citations import short_name
from mbert_atlas.scorecard.provenance import read_trace

_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_TERMS = {"resourceUsage": "https://w3id.org/ro/terms/workflow-run#resourceUsage"}
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
_COMPLETED = "http://schema.org/CompletedActionStatus"


def write_crate(
    record: Path,
    output: Path,
    workflow: Path,
    *,
    pages: Sequence[Path],
    snakefile: Path,
    citation: Path,
) -> None:
    """Write the metadata of the folder of ``output``, and ``workflow``, a copy of the Snakefile.

    ``record`` is what :func:`.provenance.trace` described; ``citation`` is a CITATION.cff.
    """
    crate = _Crate(output.parent, read_trace(record), yaml.safe_load(read_text(citation)))
    with atomic_path(workflow) as copy:
        copy.write_text(read_text(snakefile), encoding="utf-8")
    crate.add_workflow(workflow)
    crate.add_config()
    for key, item in crate.record["artifacts"].items():
        crate.add_artifact(key, item)
    crate.add_pages(record, pages)
    write_json(crate.crate.metadata.generate(), output)


class _Crate:
    def __init__(
        self, folder: Path, record: Mapping[str, Any], citation: Mapping[str, Any]
    ) -> None:
        self.folder, self.record, self.citation = folder, record, citation
        self.crate = ROCrate(version="1.1")
        self.crate.metadata.extra_terms |= _TERMS
        self.file = cache(self._file)
        self._describe()

    def _entity(self, place: str, kind: str, **properties: Any) -> Any:
        return self.crate.add(ContextEntity(self.crate, place, {"@type": kind} | properties))

    def _describe(self) -> None:
        root, about = self.crate.root_dataset, self.citation
        root["name"] = f"Results of the run {self.record['run']}"
        root["description"] = " ".join(about["abstract"].split())
        root["license"] = self._entity(
            f"https://spdx.org/licenses/{about['license']}", "CreativeWork", name=about["license"]
        )
        self.author = self._entity("#authors", "Organization", name=about["authors"][0]["name"])
        if repository := about.get("repository-code"):
            self.author["url"] = repository
        root["author"] = root["publisher"] = self.author
        root["keywords"] = about["keywords"]
        root["citation"] = [
            self._entity(
                f"https://doi.org/{item['doi']}" if "doi" in item else f"#{short_name(item)}",
                "ScholarlyArticle",
                name=item["title"],
                author=[f"{one['given-names']} {one['family-names']}" for one in item["authors"]],
                datePublished=str(item["year"]),
            )
            for item in about["references"]
            if any(key.startswith(f"{short_name(item)}/") for key in self.record["artifacts"])
        ]
        root["conformsTo"] = [
            self._entity(url, "CreativeWork", name=name, version=version)
            for url, (name, version) in _PROFILES.items()
        ]

    def add_workflow(self, path: Path) -> None:
        """Add the main workflow; the crate has its file alone, the repository all of its code."""
        code, about = self.record["code"], self.citation
        properties = {
            "name": about["title"],
            "description": f"Commit {code['commit']}" if "commit" in code else about["title"],
            "version": code["version"],
            "author": self.author,
            "license": self.crate.root_dataset["license"],
            "encodingFormat": "text/plain",
            "conformsTo": self._entity(_BIOSCHEMAS, "CreativeWork", name="ComputationalWorkflow"),
            "softwareRequirements": f"Python {platform.python_version()}, requirements.lock",
        }
        if repository := about.get("repository-code"):
            properties["codeRepository"] = properties["url"] = repository
        self.workflow = self.crate.add_workflow(
            path, path.name, main=True, lang="snakemake", properties=properties
        )

    def add_config(self) -> None:
        """Add the config as the input of the workflow."""
        parameter = self.crate.add_formal_parameter(
            "config", "File", identifier="#config", description="all files and options merged"
        )
        self.workflow["input"] = parameter
        self.config = self.file(self.record["config"])
        self.config["exampleOfWork"] = parameter

    def _file(self, name: str) -> Any:
        """Return the entity of a file, by its path in the folder."""
        path = self.folder / name
        properties = {
            "name": name,
            "contentSize": str(path.stat().st_size),
            "encodingFormat": mimetypes.guess_type(name)[0] or "application/octet-stream",
        }
        return self.crate.add_file(path, name, properties=properties)

    def source(self, kind: str, name: str, text: str) -> Any:
        """Return the entity of a dataset or an encoder."""
        place = f"#{kind}-{name}"
        return self.crate.dereference(place) or self._entity(
            place, "CreativeWork", name=name, description=text
        )

    def add_artifact(self, key: str, item: Mapping[str, Any]) -> None:
        """Add the action that made the files of a table or figure."""
        names = [
            *(item["figures"] + item["tables"] + item["measurements"]),
            *(str(Path(name).with_suffix(".png")) for name in item["figures"]),
            *(str(Path(name).with_suffix(".csv")) for name in item["tables"]),
        ]
        encoders = self.record["encoders"]
        used = [
            *(
                self.source("data", name, "; ".join(data["origins"]) or name)
                for name, data in item.get("datasets", {}).items()
            ),
            *(self.source("encoder", name, encoders[name]) for name in item.get("encoders", ())),
        ]
        self._action(item["target"], item, names, used)

    def add_pages(self, record: Path, pages: Sequence[Path]) -> None:
        """Add the action that made the pages, the last one."""
        items = self.record["artifacts"].values()
        times = {
            name: choose(item[name] for item in items)
            for name, choose in (("started", min), ("ended", max))
            if all(name in item for item in items)
        }
        names = [str(path.relative_to(self.folder)) for path in [record, *pages]]
        self._action("all", times, names, [])

    def _action(
        self, target: str, item: Mapping[str, Any], names: Sequence[str], used: Sequence[Any]
    ) -> None:
        properties = {
            "name": target,
            "description": f"{self.record['command']} {target}",
            "agent": self.author,
            "actionStatus": _COMPLETED,
        }
        if "started" in item:
            properties |= {"startTime": item["started"], "endTime": item["ended"]}
        if "cost" in item:
            properties["resourceUsage"] = [
                self._entity(
                    f"#{target}-{name}",
                    "PropertyValue",
                    name=name,
                    value=f"{number:.6g}",
                    **({"unitText": "h"} if name.endswith("hours") else {}),
                    propertyID=f"https://w3id.org/ro/terms/workflow-run#{name}",
                )
                for name, number in item["cost"].items()
            ]
        action = self.crate.add_action(
            self.workflow,
            identifier=f"#{target}",
            object=[self.config, *used] if used else self.config,
            result=[self.file(name) for name in dict.fromkeys(names)],
            properties=properties,
        )
        self.crate.root_dataset.append_to("mentions", action)
