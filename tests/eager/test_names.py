"""Every name of PyTorch that programs reach for exists; each exception has a reason."""

import pytest

import numeric as torch
from tests.support.cases import all_cases


def _words(text):
    return text.split()


TOP = _words("""
manual_seed rand randint randperm normal set_printoptions mul neg squeeze clone argmax argmin
clip eq ne lt le gt ge logical_or numel Size Tensor abs acos acosh add addcdiv addcmul addmm
addmv addr all allclose amax amin arange as_tensor asin asinh atan atan2 atanh atleast_2d
baddbmm bmm broadcast_tensors broadcast_to can_cast cat ceil cholesky_solve chunk clamp
column_stack concat cos cosh count_nonzero cummax cumprod cumsum det diag diag_embed diagonal
diff digamma dist div dot einsum empty empty_like enable_grad equal erf erfc erfinv exp exp2
expm1 eye finfo flatten flip fliplr flipud floor fmax fmin fmod frac from_numpy full full_like
gather get_default_dtype hstack hypot iinfo index_select inference_mode inverse
is_floating_point is_grad_enabled is_inference is_inference_mode_enabled is_tensor isclose
isfinite isinf isnan kron kthvalue lerp lgamma linspace log log10 log1p log2 logaddexp
logcumsumexp logdet logical_and logical_not logit logsumexp masked_select matmul matrix_exp max
maximum mean median meshgrid min minimum mm movedim mv nan_to_num nanmean nansum narrow no_grad
nonzero norm ones ones_like outer permute pow promote_types quantile rand_like randn reciprocal
relu remainder repeat_interleave reshape result_type roll rot90 round rsqrt rsub select
select_scatter set_default_dtype set_grad_enabled sigmoid sign signbit sin sinc sinh softmax
sort split sqrt square stack std sub sum swapaxes take take_along_dim tan tanh tensor tensordot
tile transpose tril tril_indices triu_indices trunc unbind unsqueeze var_mean vstack where xlogy
zeros zeros_like
""")

DTYPES = _words("""
bool double float float16 float32 float64 int32 int64 long uint8
""")

FUNCTIONAL = _words("""
binary_cross_entropy binary_cross_entropy_with_logits celu cross_entropy elu gelu hardtanh
huber_loss kl_div l1_loss leaky_relu linear log_softmax logsigmoid mish mse_loss nll_loss
one_hot pad relu relu6 selu silu smooth_l1_loss softmin softplus softsign
""")

LINALG = _words("""
cholesky cross det eigh eigvalsh inv lstsq matrix_exp matrix_norm matrix_power multi_dot norm
pinv qr slogdet solve solve_triangular svd svdvals vector_norm
""")

AUTOGRAD = _words("""
Function backward grad gradcheck gradgradcheck function.once_differentiable functional.hessian
functional.hvp functional.jacobian functional.jvp functional.vhp functional.vjp
""")

FUNC = _words("""
grad grad_and_value hessian jacfwd jacrev jvp vjp vmap
""")

CONTEXT = _words("""
save_for_backward saved_tensors needs_input_grad mark_dirty mark_non_differentiable
set_materialize_grads
""")

ATTRIBUTES = _words("""
T mT data dtype grad grad_fn is_leaf ndim output_nr requires_grad retains_grad shape _version
""")

METHODS = _words("""
abs add all amax amin any argmax argmin argsort atan2 backward bool double float half int long
short to type type_as chunk clamp clamp_min clone contiguous cos cumprod cumsum detach diag
diagonal dim div eq exp expand expand_as flatten flip gather index_add index_copy index_fill
index_select inner inverse is_contiguous is_floating_point isnan item log log_softmax logdet
logsumexp masked_fill masked_scatter max mean median minimum mm movedim mul narrow neg new_ones
new_tensor new_zeros nonzero norm numel numpy permute pow prod ravel register_hook
register_post_accumulate_grad_hook relu repeat repeat_interleave reshape retain_grad roll round
scatter scatter_add select sigmoid sign sin size softmax sort split sqrt square squeeze std
stride sub sum t tanh tolist topk trace transpose tril triu unbind unflatten unfold unsqueeze
var view view_as where
""")

IN_PLACE = _words("""
abs_ add_ addcdiv_ addcmul_ clamp_ copy_ cos_ detach_ div_ exp_ expm1_ fill_ floor_ index_add_
index_fill_ index_put_ log1p_ log_ masked_fill_ mul_ neg_ pow_ reciprocal_ relu_ requires_grad_
rsqrt_ scatter_ scatter_add_ sigmoid_ sin_ sqrt_ square_ sub_ t_ tanh_ zero_
""")

OPERATORS = _words("""
__add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __pow__ __matmul__ __and__ __or__
__invert__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __radd__ __rsub__ __rmul__ __rtruediv__
__rfloordiv__ __rmod__ __rpow__ __rmatmul__ __rand__ __ror__ __iadd__ __isub__ __imul__
__itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ __ior__ __getitem__ __setitem__ __len__
__iter__ __contains__ __abs__ __bool__ __float__ __int__ __index__ __array__ __neg__ __pos__
""")

# Names that are not there, each with its reason.
MISSING: dict[str, str] = {}

_PLACES = {
    "": (torch, TOP + DTYPES),
    "nn.functional": (torch.nn.functional, FUNCTIONAL),
    "linalg": (torch.linalg, LINALG),
    "autograd": (torch.autograd, AUTOGRAD),
    "func": (torch.func, FUNC),
    "optim": (torch.optim, ["SGD", "Adam"]),
    "Tensor": (torch.Tensor, METHODS + IN_PLACE + OPERATORS),
}


@all_cases(
    ("place", "name"),
    [(place, name) for place, (_, names) in _PLACES.items() for name in names],
    least=492,
)
def test_name(place, name):
    """The name leads to something that can be called, or to a dtype, a class or a module."""
    found = _PLACES[place][0]
    if f"{place}.{name}" in MISSING:
        for part in name.split("."):
            if not hasattr(found, part):
                return
            found = getattr(found, part)
        pytest.fail("it is there; take it off the list")
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found) or isinstance(found, torch.dtype)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attribute(name):
    x = torch.ones(2, 2, requires_grad=True)
    x.sum().backward()
    assert getattr(x, name) is not None or name == "grad_fn"


@pytest.mark.parametrize("name", CONTEXT)
def test_name_of_a_context(name):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            assert name == "saved_tensors" or hasattr(ctx, name)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = torch.tensor(3.0, requires_grad=True)
    Square.apply(x).backward()
    assert x.grad.item() == 6


def test_results_with_names():
    assert torch.ones(2).max(0)._fields == ("values", "indices")
    assert torch.linalg.lstsq(torch.eye(2), torch.ones(2, 1)).solution.shape == (2, 1)
    assert torch.finfo(torch.float32).eps > 0
    assert torch.finfo(torch.float32).max > 1e38
    assert torch.iinfo(torch.int32).max == 2**31 - 1
    assert torch.float32.is_floating_point
    assert torch.float32.itemsize == 4


@pytest.mark.parametrize("module", ["numeric", "symdiff"])
def test_no_module_has_the_name_of_a_function(module):
    """``import numeric.x`` would put the module where the function was."""
    import importlib
    import pkgutil

    package = importlib.import_module(module)
    names = set(package.__all__)
    modules = {info.name for info in pkgutil.iter_modules(package.__path__)}
    also_modules = {"autograd", "func", "linalg", "nn", "optim"}  # which are modules in PyTorch too
    also_modules |= {"check", "export", "show"}
    assert not (names & modules) - also_modules
