"""Which files of the tree changed, for the commands that look at the change alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def _git(root: Path, *arguments: str) -> list[str] | None:
    """The lines that git prints, or None if it fails or is not installed."""
    try:
        run = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.splitlines()


def base(root: Path = ROOT) -> str | None:
    """The commit to compare with: where the branch left main; on main itself, the one before.

    None without git, or without a commit.
    """
    head = _git(root, "rev-parse", "--verify", "HEAD")
    if not head:
        return None
    for main in ("origin/main", "main"):
        left = _git(root, "merge-base", "HEAD", main)
        if left and left != head:
            return left[0]
    before = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^")
    return before[0] if before else head[0]


def changed_files(root: Path = ROOT, since: str | None = None) -> list[str] | None:
    """Paths that differ from ``since`` (by default ``base``), committed or not; None without git.

    Deleted files are among them, and new ones that git does not know yet.
    """
    since = since or base(root)
    if since is None:
        return None
    # --relative: the tree may be a folder of a larger repository.
    known = _git(root, "diff", "--name-only", "--no-renames", "--relative", since, "--")
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    return None if known is None or new is None else sorted({*known, *new})
