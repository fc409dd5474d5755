"""MathJax and Mermaid for offline pages: npm's tarballs with pinned hashes.

``assets.json`` names the packages, their versions, the integrity of their tarballs in npm's form,
and the files to extract.  Fetched tarballs are cached, and verified again on each use.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path
from urllib.request import urlopen

PINS = Path(__file__).with_name("assets.json")
CACHE = PINS.parent.parent / "out" / "assets"
STATIC = CACHE / "static"
REGISTRY = "https://registry.npmjs.org"


class AssetError(Exception):
    """A package that cannot be fetched, or differs from the pinned one."""


def provide(out: Path, cache: Path, pins: Path = PINS, registry: str = REGISTRY) -> None:
    """Write the pinned files into ``out``; cache tarballs in ``cache``.

    Raises AssetError where the registry does not answer, where a tarball has not the pinned hash
    (nothing of it is kept), and where it lacks a file.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name, pin in json.loads(pins.read_text(encoding="utf-8")).items():
        tarball = _tarball(name, pin["version"], pin["integrity"], cache, registry)
        with tarfile.open(fileobj=io.BytesIO(tarball)) as packed:
            for member, target in pin["files"].items():
                try:
                    content = packed.extractfile(member)
                except KeyError:
                    content = None
                if content is None:
                    raise AssetError(f"{name} {pin['version']} has no file {member}")
                (out / target).write_bytes(content.read())


def _tarball(name: str, version: str, integrity: str, cache: Path, registry: str) -> bytes:
    cached = cache / f"{name}-{version}.tgz"
    if cached.exists() and _integrity(cached.read_bytes()) == integrity:
        return cached.read_bytes()
    url = f"{registry}/{name}/-/{name}-{version}.tgz"
    try:
        with urlopen(url, timeout=120) as answer:
            data: bytes = answer.read()
    except OSError as error:
        raise AssetError(
            f"{name} {version} could not be fetched from {url}: {error}. "
            f"Build the site with a network, or put the tarball at {cached}"
        ) from error
    if _integrity(data) != integrity:
        raise AssetError(
            f"{url} is not the pinned package: its integrity is {_integrity(data)}, "
            f"and {PINS.name} has {integrity}. It was not cached"
        )
    cache.mkdir(parents=True, exist_ok=True)
    cached.write_bytes(data)
    return data


def _integrity(data: bytes) -> str:
    """Write the hash in npm's form."""
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


if __name__ == "__main__":
    try:
        provide(STATIC, CACHE)
    except AssetError as error:
        sys.exit(f"make docs: {error}")
