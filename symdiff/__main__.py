"""``python -m symdiff``: the command ``symdiff``."""

import sys
from importlib import import_module

# The command evaluates and lowers, which the package ``numeric`` does: this file alone names it.
sys.exit(import_module("numeric.cli").main())
