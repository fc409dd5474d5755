"""What several modules of these tests use."""

from weakref import WeakValueDictionary

import pytest

from numeric.cli import main
from numeric.lowering.native import cache, libraries
from numeric.lowering.native.compiler import NoCompiler, compiler


def pytest_collection_modifyitems(items):
    """Machine code is tested where there is a compiler."""
    native = [item for item in items if item.path.name.startswith("test_native")]
    try:
        if native:
            compiler()
    except NoCompiler:
        for item in native:
            item.add_marker(pytest.mark.skip(reason="there is no C compiler"))


@pytest.fixture
def run(capsys):
    """The exit status, the standard output and the standard error of a command."""

    def run(*arguments):
        status = main(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, out, err

    return run


def forget(monkeypatch):
    """What this process loaded, and what failed, is as if it were not; for a test."""
    monkeypatch.setattr(libraries, "_LOADED", WeakValueDictionary())
    monkeypatch.setattr(libraries.FAILURES, "texts", set())
    monkeypatch.setattr(libraries.FAILURES, "reason", None)


@pytest.fixture
def nothing_found(monkeypatch):
    """What this process found out of the compiler, and loaded, is as if it were not; for a test."""
    forget(monkeypatch)
    compiler.cache_clear()
    libraries._is_there.cache_clear()
    yield
    compiler.cache_clear()
    libraries._is_there.cache_clear()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A new folder for what is kept, of the compiler that is there."""
    compiler()
    found = tmp_path / "kept"
    monkeypatch.setenv(cache.FOLDER, str(found))
    forget(monkeypatch)
    return found
