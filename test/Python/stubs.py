"""The stubs say what the modules have: the same names, and functions with the same arguments and defaults."""
import ast
import importlib
import importlib.util
import inspect
import pathlib

import hocket


def arguments_of(function):
    """[(name, kind, default as text)] of a definition in a stub."""
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + [ast.unparse(d) for d in given.defaults]
    result = [(a.arg, "positional", d) for a, d in zip(positional, defaults)]
    result += [(a.arg, "keyword", ast.unparse(d) if d else None) for a, d in zip(given.kwonlyargs, given.kw_defaults)]
    return result


def actual_arguments(function):
    kinds = {inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional", inspect.Parameter.KEYWORD_ONLY: "keyword"}
    return [(p.name, kinds[p.kind], None if p.default is p.empty else repr(p.default))
            for p in inspect.signature(function).parameters.values() if p.kind in kinds]


def same(stub, actual):
    """Overloads may lack a default; nothing else may differ."""
    return len(stub) == len(actual) and all(
        (a[:2] == b[:2]) and (a[2] is None or b[2] is None or ast.literal_eval(a[2]) == ast.literal_eval(b[2]))
        for a, b in zip(stub, actual))


def check_function(where, stub, actual):
    found, wanted = arguments_of(stub), actual_arguments(actual)
    assert same(found, wanted), f"{where}.{stub.name}: the stub has {found}, the function {wanted}"


def check_class(where, stub, actual):
    for member in stub.body:
        if isinstance(member, ast.FunctionDef) and member.name != "__getattr__":  # which says: anything
            assert hasattr(actual, member.name), f"{where}.{stub.name} has no {member.name}"
            function = inspect.getattr_static(actual, member.name)
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function) and not isinstance(function, property):
                check_function(f"{where}.{stub.name}", member, function)
    if any(isinstance(m, ast.FunctionDef) and m.name == "__getattr__" for m in stub.body):
        return
    public = {name for name in vars(actual) if not name.startswith("_")}
    said = {m.name for m in stub.body if isinstance(m, ast.FunctionDef)} | {
        m.target.id for m in stub.body if isinstance(m, ast.AnnAssign)}
    assert public <= said, f"{where}.{stub.name}: the stub lacks {public - said}"


folder = pathlib.Path(hocket.__file__).parent
checked = 0
for path in sorted(folder.glob("*.pyi")):
    if path.stem == "torch_ops" and importlib.util.find_spec("torch") is None:
        continue  # which that module is for
    name = "hocket" if path.stem == "__init__" else f"hocket.{path.stem}"
    module = importlib.import_module(name)
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            check_function(name, node, getattr(module, node.name))
            checked += 1
        if isinstance(node, ast.ClassDef):
            check_class(name, node, getattr(module, node.name))
            checked += 1
stub = (folder / "__init__.pyi").read_text()
for name in hocket.__all__:
    assert f"{name} as {name}" in stub, f"__init__.pyi lacks {name}"
print(f"{checked} stubs checked")
