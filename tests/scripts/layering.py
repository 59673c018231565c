#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layers of include/cairn, checked on its text: which folder and which standard header may be included where,
how much preprocessor there is, and what the umbrella reaches.

    layering.py ROOT     checks ROOT/include/cairn, prints each fault, exits 1 if there is one
    layering.py --self   plants one fault of each kind in a tree that is sound and checks that it is found
"""
import re
import sys

import planted

# What a folder may include besides itself; the longest key that begins a header's path is its layer.
# An adapter is a layer of its own: adapt/x.hpp and adapt/x/ may not include adapt/y. That of tools for automatic
# differentiation, adapt/ad, needs no third party; each tool is an adapter beside it.
MAY_INCLUDE = {
    "language.hpp": [],
    "version.hpp": [],
    "detail/": [],
    "impl/": ["core/", "rules/", "schedule/", "plan/", "plan/text/", "profile/", "run/", "run/check/impl/check_plans",
              "trace/"],
    "core/": ["version.hpp"],
    "rules/": ["core/"],
    "door/": ["core/", "rules/"],
    "schedule/": ["core/", "rules/"],
    "plan/": ["core/", "rules/", "schedule/"],
    "plan/text/": ["core/", "rules/", "schedule/", "plan/"],
    "store/": ["core/"],
    "run/": ["core/", "door/", "rules/", "store/", "schedule/uniform.hpp", "schedule/remaining.hpp",
             "schedule/detail/value_list.hpp"],
    "run/block_executor.hpp": ["core/", "door/", "rules/", "plan/", "store/", "run/"],
    "run/check/check_plans.hpp": ["core/", "door/", "rules/", "schedule/", "store/", "run/",
                                  "run/check/impl/check_plans"],
    "run/check/impl/check_plans": ["core/", "door/", "rules/", "run/", "run/check/check_plans.hpp"],
    "trace/": ["core/", "rules/", "plan/text/action_words.hpp", "version.hpp"],
    "profile/": ["core/", "door/", "rules/", "schedule/", "plan/", "plan/text/", "run/", "trace/"],
    "adapt/": ["core/", "door/", "rules/", "store/", "run/"],
    "adapt/disk": ["core/", "door/", "rules/", "schedule/", "store/", "run/"],
    "adapt/zstd": ["core/", "adapt/disk"],
    "adapt/ad": ["core/", "door/", "rules/", "schedule/", "plan/", "store/", "run/"],
    "adapt/adolc": ["core/", "adapt/ad"],
    "adapt/codipack": ["core/", "adapt/ad"],
    "adapt/cppad": ["core/", "adapt/ad"],
    "adapt/sacado": ["core/", "adapt/ad"],
    "adapt/xad": ["core/", "adapt/ad"],
    "adapt/nlohmann_json": ["core/", "rules/", "schedule/", "plan/", "plan/text/"],
    "adapt/cuda": ["core/", "door/", "rules/", "schedule/", "plan/", "store/", "run/"],
    "adapt/torch": ["core/", "door/", "rules/", "schedule/", "plan/", "store/", "run/",
                    "run/block_executor.hpp", "profile/", "trace/"],
    "adapt/mpi": ["core/", "door/", "rules/", "schedule/", "plan/", "store/", "run/"],
    "cairn.hpp": ["version.hpp", "core/", "door/", "rules/", "schedule/", "plan/", "store/", "run/"],
    "planning.hpp": ["core/", "rules/", "schedule/", "plan/"],
    "chains.hpp": ["core/", "door/", "rules/", "plan/", "run/", "run/block_executor.hpp"],
}
# The umbrella never reaches these, not even through another header.
OPT_IN = ("adapt/", "profile/", "trace/", "plan/text/", "store/behind", "store/tiered")

# Headers in detail/ are private. The core's own folders use each other's; an adapter uses these of the core, where it
# extends an executor or speaks as the core does.
EXTENDS = {
    "adapt/ad": ["core/detail/aggregate", "core/detail/state_hash", "door/detail/user_function", "run/sweep/detail/cached_object",
                 "plan/loop/detail/plan_over_leaves"],
    "adapt/adolc": ["adapt/ad/detail/shared_record"],
    "adapt/codipack": ["adapt/ad/detail/shared_record"],
    "adapt/cppad": ["adapt/ad/detail/shared_record"],
    "adapt/sacado": ["adapt/ad/detail/shared_record"],
    "adapt/xad": ["adapt/ad/detail/shared_record"],
    "adapt/cuda": ["door/detail/callable", "rules/detail/replay_ledger", "door/detail/signature",
                   "core/detail/state_hash", "door/detail/step_shape", "core/detail/table", "core/detail/text", "plan/loop/detail/workload",
                   "run/sweep/detail/execute", "run/sweep/detail/one_of", "run/probe/detail/timings",
                   "schedule/detail/remarks"],
    "adapt/disk": ["core/detail/kept_as", "rules/detail/most_within",
                   "core/detail/state_hash", "core/detail/table",
                   "run/chain/detail/checks", "run/chain/detail/sweep", "run/chain/detail/seed",
                   "run/sweep/detail/action_range", "run/sweep/detail/advanced_copy", "run/sweep/detail/kept_snapshot",
                   "run/sweep/detail/given_parts", "schedule/detail/plan_numbers", "store/detail/beside",
                   "store/detail/transfers"],
    "adapt/threads": ["core/detail/kept_as", "core/detail/same_capacity", "door/detail/member_function",
                      "rules/detail/two_threads",
                      "run/form/detail/last_arguments",
                      "run/form/detail/loop_adjoint", "run/form/detail/loop_step", "run/form/detail/open_loop",
                      "run/form/detail/reversal", "run/sweep/detail/byte_limit", "run/sweep/detail/cached_object",
                      "run/sweep/detail/copied_states", "run/sweep/detail/end_hash", "run/sweep/detail/execute",
                      "run/sweep/detail/frames", "run/sweep/detail/plan_place", "run/sweep/detail/replayed_states",
                      "store/detail/beside"],
    "adapt/zstd": ["adapt/disk/detail/packing"],
    "adapt/mpi": ["core/detail/text", "door/detail/lending", "run/check/detail/user_loop",
                  "run/sweep/detail/action_range", "run/sweep/detail/given_parts", "run/sweep/detail/one_of"],
    "adapt/nlohmann_json": ["plan/text/detail/read_actions", "plan/text/detail/words",
                            "plan/text/detail/written_actions"],
    "adapt/nvtx": ["core/detail/text"],
    "adapt/torch": ["rules/detail/graph_segments", "rules/detail/most_within",
                    "door/detail/refused",
                    "core/detail/state_hash", "plan/block/detail/ceil_root",
                    "profile/detail/process_bytes", "run/sweep/detail/execute",
                    "run/sweep/detail/open_sweep", "schedule/detail/leaves_in"],
}
# The rooms of a large folder, and what each may include besides itself; "" is an adapter's own umbrella, "*" are the
# headers that stand in no room.
ROOMS = {
    "run/": {
        "sweep/": [],
        "form/": ["sweep/"],
        "chain.hpp": ["chain/"],
        "graph.hpp": ["graph/"],
        "probe.hpp": ["*", "probe/"],
        "*": ["form/", "sweep/"],
        "with/": ["*", "form/", "sweep/"],
        "probe/": ["*", "form/", "sweep/"],
        "chain/": ["form/", "probe/", "sweep/"],
        "graph/": ["form/", "probe/", "sweep/"],
        "check/": ["*", "sweep/", "with/"],
    },
    "adapt/torch": {
        "": ["checkpoint/", "loop/", "memory/", "record/", "state/"],
        "memory/": [],
        "state/": [],
        "loop/": ["memory/", "state/"],
        "checkpoint/": ["memory/", "state/"],
        "record/": ["checkpoint/", "memory/", "state/"],
        "graph/": ["checkpoint/", "memory/", "record/", "state/"],
        "trace/": ["loop/", "state/"],
        "profile/": ["checkpoint/", "memory/", "record/", "state/"],
        "compat/": ["checkpoint/", "loop/", "memory/", "record/", "state/"],
        "compat.hpp": ["compat/"],
    },
}
LINKAGE, SOURCE = "detail/linkage.hpp", "impl/src.hpp"
# Texts and programs that show what a user writes.
USERS = ("README.md", "docs/**/*.md", "examples/**/*", "tools/**/*", "benchmarks/**/*")
MEASURES_PRIVATE = "chain_bench.cpp"  # a kernel by itself

# core/ and run/ are in every user's build: light standard headers only.
LIGHT = set("""bit cassert cfloat climits compare concepts cstddef cstdint cstring exception initializer_list limits new
               optional tuple type_traits utility vector version""".split())
FILES_AND_THREADS = set("""condition_variable filesystem fstream future iostream mutex thread""".split())
STANDARD = {  # folder -> what it may not include
    "core/": lambda name: name not in LIGHT,
    "door/": lambda name: name not in LIGHT,
    "rules/": lambda name: name not in LIGHT,
    "run/": lambda name: name not in LIGHT,
    "schedule/": lambda name: name in FILES_AND_THREADS | {"chrono"},
    "plan/": lambda name: name in FILES_AND_THREADS,
    "run/block_executor.hpp": lambda name: name in FILES_AND_THREADS,  # it plans, too
    "run/check/report.hpp": lambda name: name not in LIGHT | {"string"},  # they say what was found
    "run/check/check_model.hpp": lambda name: name not in LIGHT | {"string"},
}
MOST_IFS = 20

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
IF = re.compile(r"^\s*#\s*(?:el)?if(?:n?def)?\b(?! CAIRN_SEPARATE_COMPILATION)", re.M)  # as each header with impl/ asks
ASKS = re.compile(r"^\s*#\s*(?:(?:el)?ifn?def\b|(?:el)?if\b.*\bdefined\b)|\b__has_include\b", re.M)


def is_private(path):
    return bool({"detail", "impl"} & set(path.split("/")[:-1])) and path != SOURCE


def header_of(path):
    """The header whose bodies a file of impl/ holds; any other file itself."""
    return re.sub(r"impl/(\w+)\.ipp$", r"\1.hpp", path)


def extends(path, other):
    """Whether an adapter may include a private header of the core."""
    layer = layer_of(path)
    extended = EXTENDS.get(layer, ())
    return not layer.startswith("adapt/") or layer_of(other) == layer or other.removesuffix(".hpp") in extended


def layer_of(path):
    layer = max((key for key in MAY_INCLUDE if path.startswith(key)
                 and (key.endswith(("/", ".hpp")) or path[len(key)] in "/.")), key=len, default=None)
    if layer == "adapt/":
        return "adapt/" + re.split(r"[/.]", path[len(layer):])[0]
    return layer


def may_include(path, other):
    own, theirs = layer_of(path), layer_of(other)
    if own == theirs or other in ("language.hpp", LINKAGE):  # they know nothing
        return True
    allowed = MAY_INCLUDE.get(own, MAY_INCLUDE["adapt/"])
    return any(theirs == entry or other == entry for entry in allowed)


def room_of(path):
    """The adapter and the header's room there, if that adapter has rooms; None where it stands in none of them."""
    adapter = layer_of(path)
    rest = path.removeprefix(adapter or "").removeprefix("/").removeprefix(".hpp")
    return adapter, next((room for room in ROOMS.get(adapter, ()) if (rest.startswith(room) if room else not rest)),
                         "*" if "/" not in rest and "*" in ROOMS.get(adapter, ()) else None)


def reached_from(path, includes, seen):
    for other in includes.get(path, ()):
        if other not in seen:
            seen.add(other)
            reached_from(other, includes, seen)
    return seen


def faults(root):
    top = root / "include" / "cairn"
    texts = {p.relative_to(top).as_posix(): p.read_text() for p in sorted(top.rglob("*.[hi]pp"))}
    if not texts:
        yield f"{top}: no headers"
    includes, defines, ifs = {}, [], 0
    for path, text in texts.items():
        if layer_of(path) is None:
            yield f"{path}: belongs to no layer"
            continue
        if "#pragma once" not in text:
            yield f"{path}: no #pragma once"
        adapter, room = room_of(path)
        if adapter in ROOMS and room is None:
            yield f"{path}: belongs to no room of {adapter}/"
        includes[path] = []
        for quote, name in INCLUDE.findall(text):
            if quote == '"':
                yield f'{path}: "{name}" is to be written <cairn/...>'
            elif name.startswith("cairn/"):
                other = name[len("cairn/"):]
                includes[path].append(other)
                if layer_of(other) and not may_include(path, other):
                    yield f"{path}: may not include <{name}>"
                elif room is not None and layer_of(other) == adapter and room_of(other)[1] not in (
                        room, *ROOMS[adapter][room]):
                    yield f"{path}: may not include <{name}>, which is of another room"
                elif is_private(other) and layer_of(path) and other != LINKAGE and not extends(path, other):
                    yield f"{path}: may not include <{name}>, which is private; see EXTENDS in layering.py"
            elif STANDARD.get(path, STANDARD.get(path.split("/")[0] + "/", lambda _: False))(name):
                yield f"{path}: <{name}> is not for this folder"
        if path.startswith("core/") and ASKS.search(text):
            yield f"{path}: core/ asks nothing of the preprocessor (#ifdef, __has_include)"
        defines += [(path, name) for name in DEFINE.findall(text)]
        ifs += len(IF.findall(text))
    # A header and its bodies are one: bodies include what they need once their own header is read.
    for path in [path for path in includes if path.endswith(".ipp")]:
        both = set(includes.get(header_of(path), ())) | set(includes.pop(path))
        includes[header_of(path)] = sorted(other for other in both if header_of(other) != header_of(path))
    build = (root / "CMakeLists.txt").read_text()
    for layer in sorted({layer_of(path) for path in texts if path.startswith("adapt/")}):
        if f"cairn_component({layer[len('adapt/'):]} " not in build:
            yield f"{layer}: no cairn_component() in CMakeLists.txt, so it is not installed"
    for path in includes:
        if path in reached_from(path, includes, set()):
            yield f"{path}: includes itself, through others"
    for path, name in defines:
        if (path, name) != (LINKAGE, "CAIRN_DECL") and not re.match(r"CAIRN_(VERSION|HAS)_", name):
            yield f"{path}: #define {name}: macros are CAIRN_VERSION_* or CAIRN_HAS_*, and CAIRN_DECL of {LINKAGE}"
    for file in sorted(file for pattern in USERS for file in root.glob(pattern) if file.is_file()):
        text, path = file.read_text(errors="replace"), file.relative_to(root)
        if re.search(r"#\s*include\s*<cairn/(?:\w+/)*(?:detail/|impl/(?!src\.hpp))", text):
            yield f"{path}: includes a private header of cairn"
        if file.suffix != ".md" and file.name != MEASURES_PRIVATE and re.search(r"\bcairn::(?:\w+::)*detail\b", text):
            yield f"{path}: uses a private name of cairn"
    if len({path for path, _ in defines} - {LINKAGE}) > 1:
        yield "macros are defined in one header: " + " ".join(sorted({path for path, _ in defines} - {LINKAGE}))
    if ifs > MOST_IFS:
        yield f"{ifs} #if, at most {MOST_IFS}"
    for other in sorted(reached_from("cairn.hpp", includes, set())):
        if other.startswith(OPT_IN):
            yield f"cairn.hpp: reaches {other}, which is opt-in"


SOUND = {
    "version.hpp": "#define CAIRN_VERSION_MAJOR 0\n",
    "cairn.hpp": "#include <cairn/core/a.hpp>\n#include <cairn/run/a.hpp>\n#include <cairn/version.hpp>\n",
    "core/a.hpp": "#include <vector>\n",
    "schedule/uniform.hpp": "#include <cairn/core/a.hpp>\n",
    "schedule/b.hpp": "#include <algorithm>\n#include <cairn/schedule/uniform.hpp>\n",
    "plan/a.hpp": "#include <cairn/schedule/b.hpp>\n",
    "plan/text/a.hpp": "#include <string>\n#include <cairn/plan/a.hpp>\n",
    "store/a.hpp": "#include <cairn/core/a.hpp>\n",
    "run/a.hpp": "#include <cairn/schedule/uniform.hpp>\n#include <cairn/store/a.hpp>\n",
    "adapt/one.hpp": "#include <cairn/adapt/one/part.hpp>\n#include <cairn/run/a.hpp>\n",
    "adapt/one/part.hpp": "#include <Eigen/Core>\n",
    "adapt/two.hpp": "",
    "adapt/torch.hpp": "#include <cairn/adapt/torch/loop/a.hpp>\n",
    "adapt/torch/loop/a.hpp": "#include <cairn/door/detail/refused.hpp>\n#include <cairn/adapt/torch/state/a.hpp>\n",
    "adapt/torch/state/a.hpp": "",
    "adapt/torch/compat/a.hpp": "#include <cairn/adapt/torch/loop/a.hpp>\n",
    "core/detail/text.hpp": "",
    "door/detail/refused.hpp": "",
    "detail/linkage.hpp": "#ifdef CAIRN_SEPARATE_COMPILATION\n#define CAIRN_DECL\n#endif\n",
    "impl/src.hpp": "#include <cairn/plan/impl/once.ipp>\n",
    "plan/impl/once.ipp": "#include <cairn/plan/once.hpp>\n#include <cairn/core/detail/text.hpp>\n",
    "plan/once.hpp": "#include <cairn/detail/linkage.hpp>\n#ifndef CAIRN_SEPARATE_COMPILATION\n"
                     "#include <cairn/plan/impl/once.ipp>\n#endif\n",
}
PLANTED = [  # header, text added to it, what is to be said
    ("core/a.hpp", "#include <cairn/store/a.hpp>\n", "core/a.hpp: may not include <cairn/store/a.hpp>"),
    ("plan/a.hpp", "#include <cairn/plan/text/a.hpp>\n", "plan/a.hpp: may not include <cairn/plan/text/a.hpp>"),
    ("adapt/two.hpp", "#include <cairn/adapt/one.hpp>\n", "adapt/two.hpp: may not include <cairn/adapt/one.hpp>"),
    ("adapt/two.hpp", "#include <cairn/plan/a.hpp>\n", "adapt/two.hpp: may not include <cairn/plan/a.hpp>"),
    ("plan/impl/once.ipp", "#include <cairn/cairn.hpp>\n", "plan/impl/once.ipp: may not include <cairn/cairn.hpp>"),
    ("adapt/two.hpp", "#include <cairn/door/detail/refused.hpp>\n", "refused.hpp>, which is private"),
    ("adapt/torch.hpp", "#include <cairn/adapt/torch/compat/a.hpp>\n", "compat/a.hpp>, which is of another room"),
    ("adapt/torch/b.hpp", "", "adapt/torch/b.hpp: belongs to no room of adapt/torch/"),
    ("adapt/three.hpp", "", "adapt/three: no cairn_component()"),
    ("misc/a.hpp", "", "misc/a.hpp: belongs to no layer"),
    ("core/a.hpp", "#include <string>\n", "core/a.hpp: <string> is not for this folder"),
    ("schedule/b.hpp", "#include <chrono>\n", "schedule/b.hpp: <chrono>"),
    ("core/a.hpp", '#include "b.hpp"\n', '"b.hpp" is to be written'),
    ("core/a.hpp", "#include <cairn/core/a.hpp>\n", "core/a.hpp: includes itself"),
    ("core/a.hpp", "#if 1 && defined(X)\n#endif\n", "core/a.hpp: core/ asks nothing"),
    ("core/a.hpp", "#define CAIRN_HAS_X 1\n", "macros are defined in one header"),
    ("version.hpp", "#define CAIRN_LIKELY 1\n", "#define CAIRN_LIKELY"),
    ("run/a.hpp", "#if 1\n#endif\n" * (MOST_IFS + 1), f"at most {MOST_IFS}"),
    ("cairn.hpp", "#include <cairn/plan/text/a.hpp>\n", "cairn.hpp: reaches plan/text/a.hpp"),
    ("../../tools/a.cpp", "#include <cairn/plan/impl/once.ipp>\n", "tools/a.cpp: includes a private header"),
    ("../../examples/a.cpp", "using namespace cairn::libtorch::detail;\n", "examples/a.cpp: uses a private name"),
]


def in_tree(path):
    return "include/cairn/" + path if path[0] != "." else path.removeprefix("../../")


TREE = {in_tree(path): "#pragma once\n" + text for path, text in SOUND.items()}
TREE["CMakeLists.txt"] = "".join(f"cairn_component({name} X::x)\n" for name in ("one", "two", "torch"))
FAULTS = [(in_tree(path), "", text if path in SOUND or path[0] == "." else "#pragma once\n" + text, said)
          for path, text, said in PLANTED]
sys.exit(planted.main(faults, TREE, FAULTS, "layers hold"))
