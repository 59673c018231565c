#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether scripts call the functions of scripts beside them with arguments that these take. Some scripts run only with
packages that the tests do not install, so that nothing else would tell.   usage: module_calls.py FOLDER... | --self"""
import ast
import inspect
import pathlib
import sys
import tempfile


def signature(function):
    """That of a parsed function; a default is only there or not."""
    taken, kind = function.args, inspect.Parameter
    ordered = [*taken.posonlyargs, *taken.args]
    first_default = len(ordered) - len(taken.defaults)
    made = [kind(a.arg, kind.POSITIONAL_ONLY if k < len(taken.posonlyargs) else kind.POSITIONAL_OR_KEYWORD,
                 default=kind.empty if k < first_default else None) for k, a in enumerate(ordered)]
    if taken.vararg:
        made.append(kind(taken.vararg.arg, kind.VAR_POSITIONAL))
    made += [kind(a.arg, kind.KEYWORD_ONLY, default=None if d else kind.empty)
             for a, d in zip(taken.kwonlyargs, taken.kw_defaults)]
    if taken.kwarg:
        made.append(kind(taken.kwarg.arg, kind.VAR_KEYWORD))
    return inspect.Signature(made)


def faults(scripts):
    """(number of calls that were checked, sentences about those that are wrong)"""
    trees = {path: ast.parse(path.read_text()) for path in scripts}
    functions = {}
    for path, tree in trees.items():
        here = {node.name: signature(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
        if path.stem in functions:
            here = {}  # which of two modules is meant is not known
        functions[path.stem] = here
    checked, wrong = 0, []
    for path, tree in trees.items():
        imported = {name.asname or name.name: name.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                    for name in node.names}
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
                    and isinstance(call.func.value, ast.Name)):
                continue
            module = imported.get(call.func.value.id)
            known = functions.get(module, {}).get(call.func.attr)
            unpacked = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
            if known is None or unpacked:
                continue
            checked += 1
            try:
                known.bind(*call.args, **{k.arg: k.value for k in call.keywords})
            except TypeError as problem:
                wrong.append(f"{path}:{call.lineno}: {module}.{call.func.attr}: {problem}")
    return checked, wrong


def finds_planted_faults():
    with tempfile.TemporaryDirectory() as folder:
        module, caller = pathlib.Path(folder, "peer.py"), pathlib.Path(folder, "caller.py")
        module.write_text("def serve(case, file, *, about=None):\n    pass\n")
        for call, right in (("case, file", True), ("case, file, about=1", True), ("*both", True), ("case", False),
                            ("case, file, 1", False), ("case, file, abuot=1", False)):
            caller.write_text(f"import peer\npeer.serve({call})\n")
            if bool(faults([module, caller])[1]) == right:
                sys.exit(f"peer.serve({call}) is judged wrongly")
    return 0


def main():
    if sys.argv[1:] == ["--self"]:
        return finds_planted_faults()
    scripts = sorted(path for folder in sys.argv[1:] for path in pathlib.Path(folder).rglob("*.py"))
    checked, wrong = faults(scripts)
    print("\n".join(wrong) if wrong else f"{checked} calls take what the functions take")
    return 1 if wrong or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
