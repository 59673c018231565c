#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts of benchmarks/ and tests/scripts/ call the functions of scripts beside them with arguments that these take.
Some scripts run only with packages that the tests do not install, so that nothing else would tell.

    module_calls.py ROOT | --self
"""
import ast
import inspect
import sys

import planted


def signatures(tree):
    """Of the functions of a module, whose bodies are left out: a default is only there or not."""
    functions = [node for node in ast.parse(ast.unparse(tree)).body if isinstance(node, ast.FunctionDef)]
    for node in functions:
        node.body, node.decorator_list, node.returns = [ast.Pass()], [], None
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
        node.args.kw_defaults = [default and ast.Constant(None) for default in node.args.kw_defaults]
        for argument in ast.walk(node.args):
            argument.annotation = None
    made = {}
    exec(compile(ast.fix_missing_locations(ast.Module(functions, [])), "functions", "exec"), made)
    return {node.name: inspect.signature(made[node.name]) for node in functions}


def faults(root):
    paths = [path for folder in ("benchmarks", "tests/scripts") for path in sorted((root / folder).rglob("*.py"))]
    trees = {path: ast.parse(path.read_text()) for path in paths}
    stems = [path.stem for path in paths]
    known = {path.stem: signatures(tree) for path, tree in trees.items() if stems.count(path.stem) == 1}
    checked = 0
    for path, tree in trees.items():
        imported = {name.asname or name.name: name.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                    for name in node.names}
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
                    and isinstance(call.func.value, ast.Name)):
                continue
            module = imported.get(call.func.value.id)
            signature = known.get(module, {}).get(call.func.attr)
            unpacked = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
            if signature is None or unpacked:
                continue
            checked += 1
            try:
                signature.bind(*call.args, **{k.arg: k.value for k in call.keywords})
            except TypeError as problem:
                yield f"{path}:{call.lineno}: {module}.{call.func.attr}: {problem}"
    if checked == 0:
        yield "no call was checked"


CALLER = "benchmarks/caller.py"
SOUND = {"benchmarks/peer.py": "def serve(case, file: str, *, about=None):\n    pass\n",
         CALLER: "import peer\npeer.serve(case, file)\npeer.serve(case, file, about=1)\npeer.serve(*both)\n"}
PLANTED = [(CALLER, "case, file", call, "peer.serve") for call in ("case", "case, file, 1", "case, file, abuot=1")]
PLANTED += [(CALLER, "import peer", "", "no call")]

sys.exit(planted.main(faults, SOUND, PLANTED, "calls take what the functions take"))
