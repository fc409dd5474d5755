"""The subjects of numeric's public names, and the modules that define the names."""

from __future__ import annotations

SUBJECTS: dict[str, tuple[str, ...]] = {
    "Lowering": ("lowering.function", "lowering.reference", "shards.sharded"),
    "Tensors": ("eager.tensor",),
    "Modules": ("(module)",),
    "Making tensors": ("ops.creation", "ops.conversions", "ops.random_numbers"),
    "Modes and transforms": ("modes", "tracing.compiling", "func", "tracing.vmap"),
    "Drawings, steps and plots": ("show",),
    "Elementwise functions": (
        "ops.arithmetic",
        "ops.comparing",
        "ops.pointwise",
        "eager.fast_paths",
    ),
    "Reductions and order": ("ops.reducing", "ops.moments", "ops.sorting", "ops.cumulative"),
    "Linear algebra": ("ops.matrix_products", "linalg"),
    "Shapes and parts": ("ops.rearranging", "ops.views_of_parts", "ops.views"),
    "Reading and writing by index": ("ops.gather_scatter", "ops.indexing"),
    "Dtypes": ("eager.dtypes", "(dtype)"),
    "Printing": ("eager.printing",),
    "Constants and options": ("(value)",),
}
