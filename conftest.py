"""Load the modules of Tensors before pytest does.

In the import mode ``importlib``, pytest executes a module again if the import of its package has
loaded it already.  The operations of that module would then be declared twice.
"""

import numeric.nn  # noqa: F401
