"""A JupyterLab of its own in headless Chromium: nothing of the user's is read, no network is used.

The server listens on a free port of the loopback interface; home, settings and runtime files are
in a directory that is removed in the end.  Every script comes from JupyterLab's own bundle: a
request to anywhere else is refused, and is a fault.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
PROBE = Path(__file__).with_name("probe.js").read_text()

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
QUIET, LIMIT = 150, 20_000  # milliseconds without a change until an output is done, and at most
START = 120  # seconds within which the server answers, and a notebook has its kernel
WIDTH, HEIGHT = 1100, 1400
MARGIN = 200  # what the lab needs around an output, in height

SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},  # cells out of view are drawn, too
    "apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
}

NOISE = (
    # Of the lab itself, about files that it asks for and that need not be there.
    "favicon.ico",
    "/lsp/status",
)


@dataclass
class Seen:
    """What became of a cell: what is wrong, the types that it sent, the one that is shown."""

    name: str
    faults: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    text: str = ""
    picture: str = ""


def chromium() -> str:
    """The path of the browser; SystemExit with status 1 where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise SystemExit("make look needs Chromium: apt-get install chromium")
    return found


@contextmanager
def lab(theme: str = "light") -> Iterator[Lab]:
    """A server and a browser, both of which end with the block."""
    from playwright.sync_api import sync_playwright  # of the extra `look`, as nbformat is

    path = chromium()
    with tempfile.TemporaryDirectory(prefix="look-") as name, sync_playwright() as playwright:
        home = Path(name)
        with _server(home, theme) as (url, token):
            browser = playwright.chromium.launch(
                executable_path=path, args=list(FLAGS), env={**os.environ, "HOME": name}
            )
            try:
                yield Lab(home, url, token, browser)
            finally:
                browser.close()


@contextmanager
def _server(home: Path, theme: str) -> Iterator[tuple[str, str]]:
    """JupyterLab's address and token, once it answers."""
    settings = dict(SETTINGS)
    if theme == "dark":
        settings["apputils-extension/themes"] = {"theme": "JupyterLab Dark"}
    for name, values in settings.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    (home / "notebooks").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, url = secrets.token_hex(16), f"http://127.0.0.1:{port}"
    env = {
        **{key: value for key, value in os.environ.items() if not key.startswith("JUPYTER")},
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "JUPYTER_NO_CONFIG": "1",
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "CACHE", "DATA")},
        **{f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("DATA", "RUNTIME")},
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--expose-app-in-browser"),
        *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={token}", "--ServerApp.allow_root=True"),
        *(f"--ServerApp.root_dir={home / 'notebooks'}", "--LabApp.extension_manager=readonly"),
        "--ServerApp.terminals_enabled=False",
    ]
    log = home / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen(command, env=env, cwd=home, stdout=out, stderr=out)
        try:
            _answered(f"{url}/api/status?token={token}", server, log)
            yield url, token
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _answered(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(10 * START):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"JupyterLab does not start:\n{log.read_text()[-3000:]}")


class Lab:
    """Notebooks are opened in it, one after the other."""

    def __init__(self, home: Path, url: str, token: str, browser: Any) -> None:
        self.home, self.url, self.token, self.browser = home, url, token, browser

    @contextmanager
    def notebook(self, name: str, setup: str, sources: Sequence[str]) -> Iterator[Notebook]:
        """A notebook of these cells, opened and with a kernel; ``setup`` has run."""
        import nbformat

        cells = [nbformat.v4.new_code_cell(source) for source in (setup, *sources)]
        for cell in cells:
            cell.metadata["tags"] = ["raises-exception"]  # the cells after it run all the same
        made = nbformat.v4.new_notebook(cells=cells)
        made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        with self.opened(name, nbformat.writes(made)) as notebook:
            before = notebook.run(0)
            if any("empty" not in fault for fault in before.faults):
                raise SystemExit(f"{name}: the first cell fails: {before.faults}")
            yield notebook

    @contextmanager
    def opened(
        self, name: str, text: str, width: int = WIDTH, scale: float = 1
    ) -> Iterator[Notebook]:
        """A notebook with the text of its file, opened and with a kernel; nothing has run."""
        (self.home / "notebooks" / f"{name}.ipynb").write_text(text, encoding="utf-8")
        context = self.browser.new_context(
            viewport={"width": width, "height": HEIGHT}, device_scale_factor=scale
        )
        try:
            page = context.new_page()
            notebook = Notebook(page, urlsplit(self.url).netloc)
            context.route("**/*", notebook.checked)
            page.goto(f"{self.url}/doc/tree/{quote(name)}.ipynb?token={self.token}")
            page.wait_for_function("window.jupyterapp && window.jupyterapp.shell", timeout=120_000)
            page.evaluate(PROBE)
            page.evaluate(f"look.opened({1000 * START})")
            yield notebook
        finally:
            context.close()


class Notebook:
    """The page of a notebook, and what was wrong with it outside of the outputs."""

    def __init__(self, page: Any, host: str) -> None:
        self.page, self.host = page, host
        self.noises: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.noises.append(f"script error: {error}"))

    def checked(self, route: Any) -> None:
        """Let a request through if it goes to the server, else refuse and remember it."""
        parts = urlsplit(route.request.url)
        if parts.scheme in ("data", "blob") or parts.netloc == self.host:
            route.continue_()
        else:
            self.noises.append(f"request to {parts.scheme}://{parts.netloc}")
            route.abort()

    def _said(self, message: Any) -> None:
        said = f"{message.text[:300]} {urlsplit(message.location['url']).path}"
        if message.type == "error" and not any(noise in said for noise in NOISE):
            self.noises.append(f"console: {said}")

    def run(self, place: int, name: str = "") -> Seen:
        """Execute the cell, wait until its output is drawn, and say what is wrong."""
        self.noises.clear()
        found = self.page.evaluate(f"look.run({place}, {QUIET}, {LIMIT})")
        types = [kind for kinds in found["types"] for kind in kinds]
        faults = [*found["faults"], *dict.fromkeys(self.noises)]
        return Seen(name, faults, types, found["shown"], found["text"])

    def cell(self, place: int) -> bytes:
        """A screenshot of a cell that is not selected, its code and what it shows."""
        self.page.evaluate("look.leave()")
        return self.page.locator(".jp-Notebook .jp-Cell").nth(place).screenshot()  # type: ignore[no-any-return]

    def cells(self) -> list[Seen]:
        """All cells as the file has them, nothing executed; the last is the page itself."""
        found = self.page.evaluate(f"look.cells({QUIET}, {3 * LIMIT})")
        cells = [Seen(cell["id"], cell["faults"]) for cell in found]
        return [*cells, Seen("the page", list(dict.fromkeys(self.noises)))]

    def pages(self, stem: Path) -> list[Path]:
        """Screenshots of all of the notebook, from its top to its end."""
        paths: list[Path] = []
        place: float | None = 0
        while place is not None:
            shown = self.page.evaluate(f"look.page({place})")
            paths.append(stem.with_name(f"{stem.name}-{len(paths) + 1:02}.png"))
            self.page.screenshot(path=paths[-1], clip=shown["clip"], animations="disabled")
            place = shown["next"]
        return paths

    def paragraphs(self, place: int) -> list[list[str]]:
        """What is wrong with each paragraph of an output."""
        return self.page.evaluate(f"look.paragraphs({place})")  # type: ignore[no-any-return]

    def picture(self, place: int, path: Path) -> None:
        """A screenshot of the output, if there is one."""
        from playwright.sync_api import Error

        output = self.page.locator(".jp-Notebook .jp-Cell").nth(place)
        output = output.locator(".jp-Cell-outputArea")
        box = output.bounding_box()
        high = box is not None and box["height"] + MARGIN > HEIGHT
        self.page.set_viewport_size(
            {"width": WIDTH, "height": int(box["height"]) + MARGIN if high else HEIGHT}
        )
        try:
            output.screenshot(path=path, animations="disabled", timeout=10_000)
        except Error as error:
            self.noises.append(f"no screenshot: {error.message.splitlines()[0]}")
