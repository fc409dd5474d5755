"""``python -m symdiff``: the command ``symdiff``."""

import sys
from importlib import import_module

if __name__ == "__main__":
    # The command lowers and runs, which ``numeric`` does: this file alone names it.
    sys.exit(import_module("numeric.cli").main())
