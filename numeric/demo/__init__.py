"""100 equations of physics, differentiated twice, each derivative checked in two ways.

This demonstration on real input is the main job of the library: ``python -m numeric.demo``.

equations   the table of formulas and ranges, and the points drawn from them
derivatives value, gradient and Hessian of an equation, and the scale of their terms
oracles     two independent derivatives: many digits, and differences with an error estimate
check       one equation against both oracles
command     options, table, summary line, exit status: 0 if every derivative is right
"""
