"""The public names of Tensors by module, in brackets by kind: ``python -m tests.tensor_stub``.

``numeric`` lists them without loading what they name.
"""

from __future__ import annotations

TENSOR_NAMES = {
    "(dtype)": """
        bool double float float16 float32 float64 half int int16 int32 int64 int8 long short
        uint8
    """,
    "(value)": """
        contiguous_format preserve_format
    """,
    "eager.dtypes": """
        can_cast dtype get_default_dtype promote_types set_default_dtype
    """,
    "eager.printing": """
        set_printoptions
    """,
    "eager.tensor": """
        Size Tensor
    """,
    "linalg.top_level_names": """
        cholesky_solve cross det inverse logdet matrix_exp matrix_power norm pinverse slogdet
    """,
    "ops.arithmetic": """
        add addcdiv addcmul div divide floor_divide fmod lerp mul multiply neg negative pow
        reciprocal remainder rsub square sub subtract true_divide
    """,
    "ops.comparing": """
        allclose bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
        bitwise_xor eq equal ge greater greater_equal gt isclose isfinite isinf isnan le less
        less_equal logical_and logical_not logical_or logical_xor lt ne not_equal signbit
    """,
    "ops.conversions": """
        clone detach is_same_size
    """,
    "ops.creation": """
        arange as_tensor asarray device empty empty_like eye finfo from_numpy full full_like
        iinfo is_floating_point is_inference is_tensor linspace logspace ones ones_like
        result_type scalar_tensor tensor zeros zeros_like
    """,
    "ops.cumulative": """
        cummax cummin cumprod cumsum diff logcumsumexp
    """,
    "ops.gather_scatter": """
        argwhere gather index_add index_copy index_fill index_put index_select masked_fill
        masked_scatter masked_select nonzero scatter scatter_add take take_along_dim
    """,
    "ops.matrix_products": """
        addmm addmv addr baddbmm bmm dot einsum ger inner kron matmul mm mv outer tensordot
        trace vdot
    """,
    "ops.moments": """
        dist log_softmax logsumexp softmax std std_mean var var_mean
    """,
    "ops.pointwise": """
        abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh
        atan atan2 atanh ceil clamp clamp_max clamp_min clip cos cosh deg2rad digamma erf erfc
        erfinv exp exp2 expm1 fix floor fmax fmin frac hypot lgamma log log10 log1p log2
        logaddexp logit maximum minimum nan_to_num rad2deg relu round rsqrt sgn sigmoid sign sin
        sinc sinh sqrt tan tanh trunc where xlogy
    """,
    "ops.random_numbers": """
        Generator bernoulli initial_seed manual_seed normal rand rand_like randint randint_like
        randn randn_like randperm seed
    """,
    "ops.rearranging": """
        cat column_stack concat concatenate diag diag_embed diagonal_scatter dstack flip fliplr
        flipud hstack repeat_interleave roll rot90 row_stack select_scatter slice_scatter stack
        tile tril tril_indices triu triu_indices vstack
    """,
    "ops.reducing": """
        all amax amin aminmax any argmax argmin count_nonzero max mean min nanmean nansum prod
        sum
    """,
    "ops.sorting": """
        argsort bucketize kthvalue median msort nanmedian nanquantile quantile searchsorted sort
        topk unique
    """,
    "ops.views": """
        atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to flatten meshgrid
        moveaxis movedim numel permute ravel reshape squeeze swapaxes swapdims t transpose
        unflatten unsqueeze
    """,
    "ops.views_of_parts": """
        chunk diagonal narrow select split tensor_split unbind
    """,
    "tracing.compiling": """
        compile
    """,
}
