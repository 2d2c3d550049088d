"""Storages acme/uses and rival/uses: roles, systems and measures, and the elements that refer to them.

Steps can have a role in the contexts `roles`, `accountable` and `informed`. The process `build` has an expired, a
released and a draft version, each with its own steps; `idea` is only a draft, and `gone` has expired. The risk, whose
facet is not for readers, refers to the measure. A lane of a released process and one of a draft show the packer. The
step `cut` is in a lane of the assembler, to whom it refers as well. rival/uses has the same ids and other names, so that
a leak shows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from storage.provisioning.templates import TEMPLATE_DIR

Wire = dict[str, Any]
NAMES = (
    "assembler", "assembler-1", "painter", "painter-1", "idle", "idle-1", "saw", "saw-1", "measure", "measure-1",
    "risk", "risk-1", "course", "course-1", "build", "build-1", "build-2", "build-3", "repair", "repair-1",
    "idea", "idea-1", "gone", "gone-1", "check", "check-1",
    "old-cut", "cut", "weld", "new-cut", "inspect", "dream", "past",
    "shape-old-cut", "shape-cut", "shape-weld", "shape-check", "shape-new-cut", "shape-new-check",
    "shape-inspect", "shape-repair-check", "shape-dream", "shape-past",
    "packer", "packer-1", "lane-cut", "lane-inspect", "lane-new-cut",
)  # fmt: skip
ID = {name: f"00000000-0000-4000-b000-{number:012x}" for number, name in enumerate(NAMES, 1)}
FACETS = "http://testserver/acme/uses/_api/rest/facets"
FACET_OF = {
    "role": "roles", "system": "it", "measure": "measures", "risk": "risks", "training": "learning",
    "subProcess": "processes", "task": "processes",
}  # fmt: skip


def write_template(path: Path) -> str:
    """Write the standard template with two more contexts of steps, and a facet that is not for readers."""
    template = json.loads((TEMPLATE_DIR / "standard.json").read_text(encoding="utf-8"))
    for key, english, german in (
        ("accountable", "Accountable", "Rechenschaftspflichtig"),
        ("informed", "Informed", "Zu informieren"),
    ):
        names = {"1031": german, "1033": english}
        context = {"key": key, "displayNames": names, "related": {"facet": "roles"}}
        template["types"]["task"]["properties"].append(context)
    template["facets"]["risks"]["forReaders"] = False
    path.write_text(json.dumps(template), encoding="utf-8")
    return str(path)


def ref(type: str, name: str) -> Wire:
    return {"facetName": FACET_OF[type], "id": ID[name], "type": type}


def _version(type: str, name: str, number: int, version: str, state: str, english: str, **more: Any) -> Wire:
    attributes = {"name": {"1033": english}, "version": {"127": version}}
    return {**ref(type, name), "versionId": ID[f"{name}-{number}"], "state": state, "attributes": attributes, **more}


def _step(name: str, english: str, **related: Any) -> Wire:
    return {**ref("task", name), "creationId": ID[name], "attributes": {"name": {"1033": english}}, "related": related}


def _shape(shape: str, type: str, name: str, *, is_laned: bool = False) -> Wire:
    lane = {"lane": ID[f"lane-{shape}"]} if is_laned else {}
    return {"properties": {"shapeId": ID[f"shape-{shape}"], "predecessors": [], **lane}, **ref(type, name)}


def _lane(shape: str, role: str) -> Wire:
    return {"id": ID[f"lane-{shape}"], "name": {}, "element": ref("role", role)}


ASSEMBLER = [ref("role", "assembler")]
BOTH = [ref("role", "painter"), ref("role", "assembler")]
SAW = [ref("system", "saw")]
LINES: list[Wire] = [
    _version("role", "assembler", 1, "1.0", "released", "Assembler"),
    _version("role", "painter", 1, "0.1", "inProcess", "Painter"),
    _version("role", "idle", 1, "1.0", "released", "Idle"),
    _version("role", "packer", 1, "1.0", "released", "Packer"),
    _version("system", "saw", 1, "1.0", "released", "Saw"),
    _version("measure", "measure", 1, "1.0", "released", "Insure"),
    _version("risk", "risk", 1, "1.0", "released", "Fire", related={"measures": [ref("measure", "measure")]}),
    _version("training", "course", 1, "1.0", "released", "Welding course", related={"targetRoles": ASSEMBLER}),
    _version("subProcess", "build", 1, "1.0", "expired", "Build once", content=[_shape("old-cut", "task", "old-cut")]),
    _version(
        "subProcess", "build", 2, "2.0", "released", "Build",
        content=[
            _shape("weld", "task", "weld"), _shape("cut", "task", "cut", is_laned=True),
            _shape("check", "subProcess", "check"),
        ],
        lanes=[_lane("cut", "assembler")],
    ),
    _version(
        "subProcess", "build", 3, "2.1", "inProcess", "Build better",
        content=[_shape("new-cut", "task", "new-cut", is_laned=True), _shape("new-check", "subProcess", "check")],
        lanes=[_lane("new-cut", "packer")],
    ),
    _version(
        "subProcess", "repair", 1, "1.0", "released", "A repair",
        content=[_shape("inspect", "task", "inspect", is_laned=True), _shape("repair-check", "subProcess", "check")],
        lanes=[_lane("inspect", "packer")],
    ),
    _version("subProcess", "idea", 1, "0.1", "inProcess", "Idea", content=[_shape("dream", "task", "dream")]),
    _version("subProcess", "gone", 1, "1.0", "expired", "Gone", content=[_shape("past", "task", "past")]),
    _version("subProcess", "check", 1, "1.0", "released", "Check", related={"systems": SAW}),
    _step("old-cut", "Cut by hand", roles=ASSEMBLER),
    _step("cut", "Cut", roles=ASSEMBLER, systems=SAW, secondarySystemsInput=SAW),
    _step("weld", "Weld", roles=BOTH, accountable=ASSEMBLER),
    _step("new-cut", "Cut quickly", roles=ASSEMBLER),
    _step("inspect", "Inspect", roles=ASSEMBLER, informed=BOTH),
    _step("dream", "Dream", roles=ASSEMBLER),
    _step("past", "Pack", roles=ASSEMBLER),
]  # fmt: skip


def write_lines(path: Path, rename: str = "") -> Path:
    lines = [json.loads(json.dumps(line)) for line in LINES]
    for line in lines:
        line["attributes"]["name"]["1033"] = rename + line["attributes"]["name"]["1033"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def referenced_by(name: str, type: str, query: str = "", *, collection: str = "acme", view: str = "detail") -> str:
    place = f"/{collection}/uses/_api/rest/facets/{FACET_OF[type]}/views/{view}/elements/{ID[name]}/referencedBy"
    return f"{place}?{query}" if query else place


def named(name: str) -> Wire:
    """Return the reference to a step, or to a version such as `build-2`, as responses have it with its name."""
    line = next(each for each in LINES if ID[name] == each.get("versionId", each["id"]))
    keys = ("facetName", "id", "versionId", "creationId", "type", "state")
    address = f"{FACETS}/{line['facetName']}/views/detail/elements/{ID[name]}"
    found = {key: line[key] for key in keys if key in line}
    return {**found, "expandUri": address, "attributes": {"name": line["attributes"]["name"]}}


def use(name: str, context: str, *diagrams: tuple[str, str]) -> Wire:
    """Return an entry of the response. Each diagram is a version and a shape."""
    shown = [{"properties": {"shapeId": ID[f"shape-{shape}"]}, **named(version)} for version, shape in diagrams]
    return {**named(name), "context": context, **({"diagrams": shown} if shown else {})}
