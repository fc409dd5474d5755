"""100 equations of physics, differentiated twice, each derivative checked two ways.

This is the main job, on real input: ``python -m numeric.demo``.

equations   the table of formulas and ranges, and how points are drawn from them
derivatives value, gradient and Hessian of an equation, and the scale of their terms
oracles     two independent derivatives: many digits, and differences that know their error
check       one equation against both oracles
command     options, table, summary line, exit status: 0 if every derivative is right
"""
