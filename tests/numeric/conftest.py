"""What several modules of these tests use."""

import pytest

from numeric.cli import main


@pytest.fixture
def run(capsys):
    """The exit status, the standard output and the standard error of a command."""

    def run(*arguments):
        status = main(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, out, err

    return run
