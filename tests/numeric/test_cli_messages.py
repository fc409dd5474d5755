"""Messages of the command line: in its own words, with the remedy; and its exit statuses."""

import re
import shlex

import pytest

COMMANDS = ("eval", "diff", "grad", "hessian", "steps", "latex", "lower", "check")
PYTHON = re.compile(r"\bsubs\b|evalf|grad_outputs|sd\.|nm\.|outputs depend|\w=\)|<\w+:|Error")
"""What only Python says: names of its functions and arguments, reprs, classes of errors."""


def test_the_position_of_an_error_is_marked(run):
    status, out, err = run("diff", "sin(x)) + 1", "x")
    assert (status, out) == (1, "")
    first, line, caret = err.splitlines()
    assert first.startswith("symdiff: error: no formula")
    assert line.strip() == "sin(x)) + 1"
    assert line[caret.index("^")] == ")"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diff", "foo(x)", "x"], "foo is not a function here"),
        (["latex", "diff(x**2, x)"], "a text has no derivatives in it"),
        (["latex", "hessian(x*y)"], "the commands symdiff diff, grad and hessian"),
        (["eval", "sn(x)"], "sn is not a function here; did you mean sin?"),
        (["eval", "xy(x)"], "xy is not a function here; write * between factors"),
        (["diff", "x^2", "x"], "a power is written **"),
        (["diff", "", "x"], "an empty text is not a formula"),
        (["diff", "x > 0", "x", "--at", "y=1"], "y does not occur"),
        (["diff", "x*y", "x", "--at", "x=1"], "no value for y"),
        (["diff", "x*x", "x", "--at", "x=z"], "depends on z"),
        (["diff", "x*x", "x", "--at", "x=1/0"], "not a finite number"),
        (["diff", "x*x", "x", "--at", "x=1 2"], "error"),
        (["diff", "polygamma(n, x)", "n"], "error"),
        (["diff", "sin(pi*n)", "n", "--at", "n=1/2"], "digits are not certain"),
        (["lower", "x + y", "--inputs", "x"], "write --inputs x,y"),
        (["lower", "x +", "--source"], "no formula"),
    ],
)
def test_errors_in_formulas_and_values(run, arguments, message):
    status, _, err = run(*arguments)
    assert status == 1
    assert err.startswith("symdiff: error: ")
    assert message in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["integrate", "x"],
        ["diff", "x"],
        ["diff", "x", "2x"],
        ["diff", "x", "pi"],
        ["diff", "x", "2"],
        ["diff", "x", "x", "2", "2"],
        ["diff", "x", "x", "1001"],
        ["diff", "x", "x", "9" * 5000],
        ["diff", "x", "x", "--digits", "0"],
        ["diff", "x", "x", "--digits", "1e9"],
        ["diff", "x", "x", "--digit", "3"],
        ["diff", "x", "x", "--at", "x"],
        ["diff", "x", "x", "--at", "x="],
        ["diff", "x", "x", "--at", "2=x"],
        ["diff", "x", "x", "--at", "x=1,x=2"],
        ["diff", "x", "x", "--at", "pi=3"],
        ["lower", "x", "--inputs", "x,"],
        ["check", "x", "--inputs", "x="],
        ["check", "x", "--grad", "math:sin"],
    ],
)
def test_wrong_usage(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "error: " in err


def test_help(run):
    status, out, _ = run("--help")
    assert status == 0
    assert "exit status: 0" in out
    assert all(f"\n    {command} " in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help_run(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0
    examples = [line.strip() for line in out.splitlines() if re.match(r" +symdiff ", line)]
    assert len(examples) >= 2
    for example in examples:
        words = shlex.split(example)
        assert words[:2] == ["symdiff", command]
        if command != "check":  # its modules are the user's
            status, out, err = run(*words[1:])
            assert (status, err) == (0, "")
            assert out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        # A value that is missing, too much, or of another shape.
        (["eval", "x*y", "--at", "x=1"], "no value for y; give it, as in --at y=..."),
        (["grad", "x*y", "--digits", "30"], "as in --at y=..."),
        (["hessian", "x**2*y", "--digits", "30"], "as in --at y=..."),
        (["steps", "x*y", "x", "--at", "x=1"], "as in --at y=..."),
        (["diff", "x**2*y", "x", "--digits", "30"], "--at x=...,y=..."),
        (["eval", "q @ q", "--inputs", "q=3"], "as in --at q=..."),
        (["eval", "x", "--at", "x=1,z=2"], "z does not occur in the formula; there are x"),
        (["grad", "x", "--at", "z=2"], "z does not occur"),
        (["eval", "2", "--at", "z=2"], "z does not occur in the formula; it has no variables"),
        (["eval", "q", "--at", "q=[1, 2]", "--inputs", "q=3"], "q is an array of 3 in --inputs"),
        (["eval", "x", "--at", "x=[1, 2]", "--inputs", "x"], "x is a number in --inputs"),
        (["eval", "A @ q", "--at", "A=[[1, 2], [3]],q=[1, 2]"], "--at A=[[1, 2], [3]]: "),
        # Values that are not numbers.
        (["eval", "x", "--at", "x=1,2"], "write --at x=1,y=2 for two values, [1, 2] for an array"),
        (["eval", "x*y", "--at", "x=1 y=2"], "--at x=1 y=2: "),
        (["eval", "x", "--at", "x=inf"], "--at x=inf: this is not a finite number"),
        (["eval", "x", "--at", "x=y"], "--at x=y: the value depends on y"),
        (["eval", "x", "--at", "x=log(-1)"], "--at x=log(-1): this is not a finite number"),
        (["eval", "x", "--at", "x=().__class__"], "--at x=().__class__: "),
        (["eval", "x", "--at", "x=1e999999999"], "exponent of more than 5 digits"),
        # Formulas.
        (["eval", "sin(pi*n)", "--at", "n=1"], "it may be exactly 0"),
        (["grad", "x*sin(n)", "--at", "n=pi,x=1"], "df/dx: 15 digits are not certain"),
        (["eval", "arcsn(x)", "--at", "x=1"], "did you mean arcsin?"),
        (["eval", "__import__('os').system('ls')"], "are refused"),
        (["latex", "A @ q"], "arrays have their shapes from --inputs, as in --inputs q=3,A=2x2"),
        (["diff", "q[0]", "q[0]"], "arrays have their shapes from --inputs"),
        (["grad", "2*q", "--inputs", "q=3"], "the formula is an array of 3; take a number of it"),
        (["hessian", "2*q", "--inputs", "q=3"], "such as sum(...) or an element"),
        (["grad", "3"], "the formula has no variables"),
        (["diff", "A @ A", "A", "--inputs", "A=2x2"], "A is an array of 2x2: symdiff diff takes"),
        (["diff", "A @ A", "A[0]", "--inputs", "A=2x2"], "A[0] is an array of 2: symdiff diff"),
        (["lower", "x*q", "--inputs", "q=3"], "write --inputs q=3,x"),
        (["lower", "2*q", "--inputs", "q=3", "--gradient"], "the formula is an array of 3"),
        (["steps", "2*q", "q", "--inputs", "q=3"], "the formula is an array of 3"),
        (["hessian", "max(q)", "--inputs", "q=9000000", "--digits", "5"], "arrays are too large"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_command_line(run, arguments, message):
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert err.startswith("symdiff: error: ")
    assert message in err
    assert not PYTHON.search(err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dif", "x", "x"], f"there is no command dif; the commands are {', '.join(COMMANDS)}"),
        (["x**2", "x"], "there is no command x**2; the commands are"),
        (["evalf", "x"], "there is no command evalf: symdiff eval"),
        (["gradient", "x"], "there is no command gradient: symdiff grad"),
        (["gradcheck", "x"], "there is no command gradcheck: symdiff check"),
        (["explain", "x"], "there is no command explain: symdiff steps"),
        (["simplify", "x"], "there is no command simplify: in Python"),
        (["eval", "x*y", "--at", "x=1", "y=2"], "y=2 stands alone: values are joined by commas"),
        (["eval", "x", "+", "1"], "+ is one word too many: put quotation marks around a formula"),
        (["latex", "x", "--at", "x=1"], "there is no option --at here"),
        (["steps", "x", "x", "--digits", "3"], "there is no option --digits here"),
        (["eval"], "the following arguments are required: FORMULA"),
        (["diff", "x*y", "x,y"], "separate names by spaces, as in x y"),
        (["diff", "x*y", "x y"], "separate names by spaces, as in x y"),
        (["grad", "x*y", "pi"], "'pi' is not the name of a variable"),
        (["hessian", "x*y", "2"], "'2' is not the name of a variable"),
        (["eval", "x", "--at", "x"], "write name=value, as in --at x=1,y=2"),
        (["eval", "x", "--at", ""], "write name=value, as in --at x=1,y=2"),
        (["grad", "q @ q", "--inputs", "q=three"], "write x=5 for a vector"),
        (["diff", "q", "q[0]", "--inputs", "q=three"], "write x=5 for a vector"),
        (["eval", "x", "--at", "x=1", "--digits", "0"], "0 is not a number from 1 to 10000"),
    ],
)
def test_wrong_usage_is_said_in_the_words_of_the_command_line(run, arguments, message):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert "expected" not in err


def test_what_has_no_value_is_noted(run):
    note = "symdiff: note: nan means that there is no real value\n"
    assert run("eval", "log(x)", "--at", "x=-1") == (0, "nan\n", note)
    assert run("grad", "x", "z")[2] == "symdiff: note: z does not occur in the formula\n"


def test_a_function_without_arguments_has_no_gradient_to_add(run):
    status, out, _ = run("lower", "sqrt(2)", "--gradient")
    assert (status, "outputs: ()" in out) == (0, True)


def test_nothing_that_is_typed_is_run(run, monkeypatch):
    def refuse(*_):
        raise AssertionError("a text was run")

    monkeypatch.setattr("os.system", refuse)
    attack = "__import__('os').system('x')"
    for arguments in (
        *([command, attack, "x"] for command in ("diff", "grad", "hessian", "steps")),
        *([command, attack] for command in ("eval", "latex", "lower")),
        ["eval", "x", "--at", f"x={attack}"],
        ["grad", "x", attack],
        ["grad", "x", f"q[{attack}]", "--inputs", "q=3"],
        ["lower", "x", "--inputs", f"x={attack}"],
        ["check", attack, "--grad", "math:sin", "--inputs", "x="],
        ["check", "x", "--grad", f"{attack}:sin", "--inputs", "x="],
    ):
        assert run(*arguments)[0] in (1, 2)
