r"""The gallery: what ``text`` and ``latex`` write, decided before the printer wrote it.

Every row builds an expression of symbols of its own, declared in the order in which a person would
write them; operands that commute stand in the order of ``symdiff.display.order``.  Rows are
compared in a process of their own (``tests.display.present``), where no other test holds older
symbols of the same name.  LaTeX is compared after ``normalised``.

What the conventions leave open is decided like this:

- A text is Python: scalar factors stand in front, divisors behind, ``2*X.T @ (X @ w - y)/n``.
  Association is that of the graph, ``A @ (B @ v)``; LaTeX has none.
- In LaTeX, numbers and scalar divisors of a product of arrays, or of a sum with a sign of
  summation, stand in front of it, ``\frac{2}{n} X^\top r``; otherwise they are below the bar,
  ``\frac{v}{2}``, ``\frac{v^\top A v}{2}``.
- Transposition and factors are moved to where they are usual: ``(A @ B).T`` is ``B.T @ A.T``, the
  transpose of a sum stays, and a factor leaves a product or a solve in which it is linear.
- A sum of squares is ``v @ v`` of what has a name, otherwise ``sum((X @ w - y)**2)``; in LaTeX the
  squared norm, Frobenius' for matrices.
- A choice of several cases is one ``cases`` with several lines.
- exp(z - logsumexp(z)) is softmax(z), sech2 is the square of sech, the gradient of det(A) is
  det(A) inv(A)', that of an angle is written out.
- Derivatives of special functions are formulas in functions that users know.  A case says the
  value where the formula has none; at the origin of a length there is only a convention.
- Whole arrays in index notation are ``[i,j] = ...`` in a text, ``\left[...\right]_{i,j}`` in LaTeX.
"""

from tests.display.gallery_arrays import ARRAYS
from tests.display.gallery_components import COMPONENTS
from tests.display.gallery_functions import FUNCTIONS
from tests.display.gallery_matrices import MATRICES
from tests.display.gallery_models import MODELS
from tests.display.gallery_scalars import SCALARS

GALLERY = [*SCALARS, *FUNCTIONS, *MODELS, *MATRICES, *COMPONENTS, *ARRAYS]
