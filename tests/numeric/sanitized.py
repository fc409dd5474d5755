"""The tests of machine code with sanitizers of addresses and of undefined behaviour.

``python -m tests.numeric.sanitized [PYTEST ARGUMENTS]`` runs tests/numeric/test_native.py,
test_native_shifted.py, test_native_tiles.py and test_native_scans.py, or what is named, in a
process whose compiler adds the checks to every kernel, and whose memory is that of the sanitizer.
What a kernel does wrongly ends the process.  First it is seen to do so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from numeric.lowering.native import cache
from numeric.lowering.native import compiler as native

ROOT = Path(__file__).parents[2]
CHECKS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g"
FAULTS = {
    "reads beyond its memory": (
        "#include <stdlib.h>\nint answer(void) { volatile int *x = malloc(4); return x[1]; }",
        "heap-buffer-overflow",
    ),
    "adds beyond the largest integer": (
        "int answer(void) { volatile int x = 2147483647; return x + 1; }",
        "signed integer overflow",
    ),
}


def surroundings(folder: str) -> dict[str, str]:
    """The variables of the environment under which kernels are checked."""
    command = native.compiler().command
    runtime = subprocess.run(
        [*command, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return {
        **os.environ,
        "CC": " ".join([*command, CHECKS]),
        "LD_PRELOAD": str(Path(runtime.stdout.strip()).resolve(strict=True)),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it has until the end
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(ROOT),
        cache.FOLDER: folder,
    }


def main(given: list[str]) -> int:
    """Run the checks; 0 if all is well."""
    with tempfile.TemporaryDirectory() as folder:
        known = surroundings(folder)
        for name, (text, sign) in FAULTS.items():
            call = (
                f"from numeric.lowering.native import libraries as c; c.library({text!r}).answer()"
            )
            done = subprocess.run(
                [sys.executable, "-c", call], env=known, capture_output=True, text=True, check=False
            )
            if done.returncode == 0 or sign not in done.stderr:
                print(f"a kernel that {name} is not seen:\n{done.stderr[-2000:]}")
                return 1
        tests = given or [
            f"tests/numeric/test_native{kind}.py" for kind in ("", "_shifted", "_tiles", "_scans")
        ]
        command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-s", *tests]
        return subprocess.run(command, env=known, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
