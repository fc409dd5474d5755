"""Derivatives made visible: graphs with values, the chain rule in steps, plots.

==============  ================================================================================
``draw``        the graph of an expression or of a Tensor's record, with values and cotangents
``steps``       the chain rule in steps: values, derivatives, cotangents, contributions of each node
``plot``        a function of one number and its derivatives
``plot_field``  a function of two numbers: contours, gradients, the Hessian's eigenvectors
``explore``     a plot with sliders for the point and the parameters
==============  ================================================================================

Text, LaTeX and Mermaid, which need no values, are in ``symdiff``.
"""

import sys
from typing import TYPE_CHECKING

from numeric.guesses import SHOW
from numeric.show.drawings import Drawing as Drawing
from numeric.show.exploring import Explorer as Explorer
from numeric.show.exploring import explore as explore
from numeric.show.fields import plot_field as plot_field
from numeric.show.graphs import draw as draw
from numeric.show.pictures import Picture as Picture
from numeric.show.plots import plot as plot
from numeric.show.stepwise import Edge as Edge
from numeric.show.stepwise import Note as Note
from numeric.show.stepwise import Row as Row
from numeric.show.stepwise import Steps as Steps
from numeric.show.stepwise import steps as steps
from symdiff.guesses import missing

__all__ = [
    "Drawing",
    "Edge",
    "Explorer",
    "Note",
    "Picture",
    "Row",
    "Steps",
    "draw",
    "explore",
    "plot",
    "plot_field",
    "steps",
]


if not TYPE_CHECKING:  # a type checker would accept every name as an attribute of the module

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.show'", name, SHOW, sys.modules[__name__])
