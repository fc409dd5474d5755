"""``python -m numeric.cli``: the command ``symdiff``."""

import sys

from numeric.cli import main

if __name__ == "__main__":
    sys.exit(main())
