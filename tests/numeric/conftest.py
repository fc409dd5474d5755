"""What several modules of these tests use."""

import pytest

from numeric.cli import main
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
