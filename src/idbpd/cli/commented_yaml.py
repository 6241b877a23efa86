"""The entries of a YAML file with the comments that say what they mean."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml


class Entry(NamedTuple):
    """A name with its block, the value as it is written (None for a block), and the comment on it."""

    name: str
    value: str | None
    meaning: str


def entries(path: Path, depth: int = 9) -> list[Entry]:
    """All entries of a file down to a depth, each block before what is in it.

    A comment is what stands on the line of an entry, after what stands on whole lines directly above it.
    """
    text = path.read_text(encoding="utf-8")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    return list(_entries(root, text.splitlines(), "", depth)) if isinstance(root, yaml.MappingNode) else []


def header(path: Path) -> str:
    """The first sentence of the comment at the top of a file."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
    return " ".join(line.removeprefix("#").strip() for line in lines).partition(". ")[0]


def _entries(node: yaml.MappingNode, lines: Sequence[str], block: str, depth: int) -> Iterator[Entry]:
    for key, value in node.value:
        name = f"{block}.{key.value}" if block else str(key.value)
        is_block = isinstance(value, yaml.MappingNode) and not value.flow_style
        end = key.end_mark if is_block else value.end_mark
        own = lines[end.line][end.column :].partition("#")[2]
        meaning = " ".join(part.strip() for part in [*_above(lines, key.start_mark), own] if part.strip())
        yield Entry(name, None if is_block else _written(value, lines), meaning)
        if isinstance(value, yaml.MappingNode) and is_block and depth > 1:
            yield from _entries(value, lines, name, depth - 1)


def _above(lines: Sequence[str], mark: yaml.Mark) -> list[str]:
    """The comments on whole lines above a place, in the same column; those at the top of a file are about the file."""
    found: list[str] = []
    for line in reversed(lines[: mark.line]):
        if not line.startswith(" " * mark.column + "#"):
            break
        found.insert(0, line.strip().removeprefix("#"))
    return [] if len(found) == mark.line else found


def _written(value: yaml.Node, lines: Sequence[str]) -> str:
    begin, end = value.start_mark, value.end_mark
    inner = [lines[begin.line][begin.column :], *lines[begin.line + 1 : end.line]] if begin.line < end.line else []
    last = lines[end.line][begin.column if begin.line == end.line else 0 : end.column]
    return " ".join(part.strip() for part in [*inner, last] if part.strip())
