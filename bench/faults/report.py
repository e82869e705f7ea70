"""Turns the records of test/launch/test_faults.py and test_kills.py into the tables of docs/faults.md."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- measured: {} -->", "<!-- end: {} -->"
NONE = "-"


def seconds(value: float | None) -> str:
    """A duration for the table."""
    return NONE if value is None else f"{value:.2f}"


def rows_of(record: Mapping[str, Any]) -> str:
    """Rows recorded of the phase of a fault."""
    counts = record.get("rows") or {}
    text = f"{counts.get('before', 0)} before, {counts.get('after', 0)} after"
    wrong = counts.get("doubtful", 0) + counts.get("across", 0)
    return f"{text}, {wrong} during" if wrong else text


def fault_table(records: list[dict[str, Any]]) -> str:
    """Markdown: fault, hold time, rows affected, recovered after."""
    lines = [
        "| fault | last command after | arm at rest after | late | rows kept | drives again after its end | said |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in records:
        # An arm that was never to hold, or a fault that never came about, has no times.
        held = r["holds"] and r["end"] > 0
        commands, motion = (seconds(r[name]) if held else NONE for name in ("commands", "motion"))
        said = (r["reasons"] or [NONE])[0].replace("|", "/")
        lines.append(
            f"| {r['fault']} {r['seconds']:g} s | {commands} | {motion} | {seconds(r['late'])} | {rows_of(r)} "
            f"| {seconds(r['recovered'])} | {r['problem'] or said} |"
        )
    return "\n".join(lines)


def kill_table(records: list[dict[str, Any]]) -> str:
    """Markdown: node, hold time, when it was back."""
    lines = [
        "| killed | last command after | arm at rest after | late | back after | drives again after | rows kept |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in records:
        times = " | ".join(seconds(r[name]) for name in ("commands", "motion", "late", "returned", "recovered"))
        lines.append(f"| {r['node']} | {times} | {r['rows']} |")
    return "\n".join(lines)


TABLES = {"faults": fault_table, "kills": kill_table}


def commit() -> str:
    """Short name of the commit that was measured; + where files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], capture_output=True, text=True).stdout.strip()

    changed = "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    return (git("rev-parse", "--short", "HEAD") or "unknown") + changed


def section(name: str, record: Mapping[str, Any]) -> str:
    """A table with where it comes from."""
    cores = os.cpu_count()
    return f"Measured {record['made']}, commit {commit()}, {cores} cores.\n\n{TABLES[name](record['rows'])}"


def put(document: str, name: str, text: str) -> str:
    """A document with the section between its marks replaced. Raises ValueError where the marks are missing."""
    begin, end = BEGIN.format(name), END.format(name)
    before, found, rest = document.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the document lacks {begin} and {end}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="bench.faults.report", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the tests wrote faults.json and kills.json")
    parser.add_argument("--into", type=Path, help="document whose tables are replaced; otherwise they are printed")
    arguments = parser.parse_args()
    document = arguments.into.read_text() if arguments.into else ""
    for name in TABLES:
        path = arguments.folder / f"{name}.json"
        if not path.exists():
            continue
        text = section(name, json.loads(path.read_text()))
        print(text, end="\n\n")
        document = put(document, name, text) if arguments.into else ""
    if arguments.into:
        arguments.into.write_text(document)


if __name__ == "__main__":
    main()
