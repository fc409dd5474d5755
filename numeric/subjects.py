"""The subjects of numeric's public names, and the modules that these come from."""

from __future__ import annotations

SUBJECTS: dict[str, tuple[str, ...]] = {
    "Lowering": ("function", "reference"),
    "Tensors": ("tensors",),
    "Rooms": ("(module)",),
    "Making tensors": ("factories", "conversions", "random_numbers"),
    "Modes and transforms": ("modes", "compiling", "func", "batches"),
    "Drawings, steps and plots": ("show",),
    "Elementwise functions": (
        "ops.arithmetic",
        "ops.comparing",
        "ops.pointwise",
        "shortcuts",
    ),
    "Reductions and order": ("ops.reducing", "ops.moments", "ops.ordering", "ops.scanning"),
    "Linear algebra": ("ops.matrices", "linalg"),
    "Shapes and parts": ("ops.rearranging", "ops.parts", "ops.shaping"),
    "Reading and writing by index": ("ops.scattering", "ops.indexing"),
    "Dtypes": ("dtypes", "(dtype)"),
    "Printing": ("tensor_printing",),
    "Constants and options": ("(value)",),
}
