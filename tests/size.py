"""Count lines of code, docstrings, comments and tests, by package: ``python -m tests.size``."""

from __future__ import annotations

import ast
import io
import subprocess
import tarfile
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGES = ("symdiff", "numeric", "tests", "benchmarks", "manual")


class Size(NamedTuple):
    """Lines of each kind; a line with code and a comment is a line of code."""

    files: int = 0
    code: int = 0
    docstrings: int = 0
    comments: int = 0
    blank: int = 0

    def plus(self, other: Size) -> Size:
        """Add the counts of two sizes."""
        return Size(*(a + b for a, b in zip(self, other, strict=True)))


_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def docstring_lines(source: str) -> set[int]:
    """Return the numbers of the lines of all docstrings."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for first in node.body[:1]:
                if ast.get_docstring(node, clean=False) is not None:
                    lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def size_of_source(source: str) -> Size:
    """Count the lines of one file."""
    docstrings = docstring_lines(source)
    code: set[int] = set()
    comments: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        lines = range(token.start[0], token.end[0] + 1)
        if token.type == tokenize.COMMENT:
            comments.update(lines)
        elif token.type not in _NO_CODE:
            code.update(lines)
    code -= docstrings
    comments -= code | docstrings
    total = len(source.splitlines())
    blank = total - len(code) - len(docstrings) - len(comments)
    return Size(1, len(code), len(docstrings), len(comments), blank)


def sizes(files: Iterable[tuple[str, str]]) -> dict[str, Size]:
    """Add up the sizes of files, pairs of a path and a source, by top-level folder."""
    by_package = dict.fromkeys(PACKAGES, Size())
    for path, source in files:
        package = path.split("/")[0]
        if package in by_package:
            by_package[package] = by_package[package].plus(size_of_source(source))
    return by_package


def files_of_tree(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the source of each Python file of a working tree."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def files_of_revision(root: Path, revision: str) -> Iterator[tuple[str, str]]:
    """Yield the same for a revision of Git."""
    command = ["git", "archive", "--format=tar", revision]
    packed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.name.endswith(".py") else None
            if content is not None:
                yield member.name, content.read().decode("utf-8")


def last_tag(root: Path) -> str | None:
    """Return the last tag before HEAD, or None where Git or a tag is missing."""
    command = ["git", "describe", "--tags", "--abbrev=0"]
    try:
        run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def table(title: str, by_package: dict[str, Size]) -> str:
    """Write sizes as a table."""
    names = [*Size._fields]
    rows = [(package, size) for package, size in by_package.items() if size.files]
    lines = [f"{title:<12}" + "".join(f"{name:>12}" for name in names)]
    lines += [f"{package:<12}" + "".join(f"{n:>12,}" for n in size) for package, size in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table("now", sizes(files_of_tree(ROOT))))
    tag = last_tag(ROOT)
    if tag is not None:
        print("\n" + table(tag, sizes(files_of_revision(ROOT, tag))))
