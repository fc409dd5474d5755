"""``python -m numeric.demo``."""

import sys

from numeric.demo.command import main

sys.exit(main())
