"""Derivatives made visible: graphs with numbers on them, the chain rule in steps, plots.

=====================  ===========================================================================
``draw``               the graph of an expression or of a Tensor's record, with values; a Drawing
=====================  ===========================================================================

What needs no values, text, LaTeX and Mermaid, is in ``symdiff``.
"""

import sys
from typing import TYPE_CHECKING

from numeric.guesses import SHOW
from numeric.show.drawings import Drawing as Drawing
from numeric.show.graphs import draw as draw
from symdiff.guesses import missing

__all__ = ["Drawing", "draw"]


if not TYPE_CHECKING:  # which would take every name for one of the module's

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.show'", name, SHOW, sys.modules[__name__])
