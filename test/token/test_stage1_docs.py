"""docs/stage1.md names the settings, metrics and commands that there are, with their defaults."""

import itertools
import re
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path

import pytest
import yaml

from rlt_ros.cli import COMMANDS
from rlt_ros.token import cache_cli, stage1_cli
from rlt_ros.token.config import FitConfig, RunConfig, Stage1Config, Stage1File, TokenConfig

DOCS = (Path(__file__).parents[2] / "docs" / "stage1.md").read_text()
TABLES = {
    "Relative paths start": Stage1File,
    "`learn`:\n": Stage1Config,
    "`learn.token`:\n": TokenConfig,
    "`learn.fit_vla` and `learn.fit_token`:": FitConfig,
    "`run`:\n": RunConfig,
}


def rows(start):
    """Names and defaults of the first table after a text."""
    lines = itertools.dropwhile(lambda line: not line.startswith("|"), DOCS.split(start)[1].splitlines())
    table = itertools.takewhile(lambda line: line.startswith("|"), lines)
    for line in itertools.islice(table, 2, None):
        names, defaults = (re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:3])
        yield from zip(names, defaults + [None] * len(names))


@pytest.mark.parametrize(("start", "config"), TABLES.items())
def test_the_tables_are_the_dataclasses(start, config):
    assert {name for name, _ in rows(start)} == {f.name for f in fields(config)}


@pytest.mark.parametrize(("start", "config"), TABLES.items())
def test_the_defaults_are_true(start, config):
    defaults = {f.name: f.default for f in fields(config) if f.default is not MISSING and not is_dataclass(f.default)}
    for name, told in rows(start):
        if told is not None:
            value = yaml.safe_load(told)
            assert (tuple(value) if isinstance(value, list) else value) == defaults[name], name


def test_the_commands_have_these_options():
    for command in re.findall(r"`rlt ((?:stage1|cache|fast)[^`]*)`", DOCS):
        name, *rest = command.split()
        assert name in COMMANDS
        parser = {"stage1": stage1_cli.parser, "cache": cache_cli.parser}.get(name)
        if parser is not None and rest:
            parser().parse_args(rest)
