# SPDX-License-Identifier: Apache-2.0
"""enzyme.py CLANG INCLUDE [FOLDER]: compiles glue.cpp by the Enzyme of PyPI (enzyme-ad), runs it here, and compares the
two gradients that it gives.

The package is an extension of Python with a clang, an LLVM and a compiler for running programs in it. JAX, which it is
made for, is not needed: the extension is loaded by itself. CLANG tells where the headers of the system lie; FOLDER is
where packages are that Python does not find by itself.
"""
import ctypes
import importlib.util
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
from running import needed, skip, told  # noqa: E402


def load(folders):
    """The extension, without the package around it, which would import JAX."""
    files = [pathlib.Path(place, "enzyme_ad", "jax", "enzyme_call.so") for place in [*folders, *filter(None, sys.path)]]
    file = next((file for file in files if file.exists()), None) or skip("no Enzyme (PyPI: enzyme-ad)")
    spec = importlib.util.spec_from_file_location("enzyme_call", file)
    try:
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    except ImportError as error:
        skip(f"Enzyme's extension cannot be loaded: {error}")
    return found


def flags_of(clang, include):
    """Options of clang's compiler proper: those folders in which CLANG looks for headers."""
    clang = needed(clang, package="clang")
    said = told(clang, "-std=c++20", "-E", "-v", "-x", "c++", "/dev/null")[1]
    lines = said.split("#include <...> search starts here:")[1].split("End of search list.")[0].split()
    flags = ["-resource-dir", told(clang, "-print-resource-dir")[1].strip(), "-std=c++20", "-O1", "-fgnuc-version=4.2.1", "-fcxx-exceptions",
             "-fexceptions", f"-I{include}"]
    for folder in lines:
        c_alone = folder.startswith("/usr/include") and "c++" not in folder
        flags += ["-internal-externc-isystem" if c_alone else "-internal-isystem", folder]
    return tuple(flags)


def run(enzyme, number, inputs, results):
    """What a compiled function makes of inputs, called as XLA calls it."""
    capsule, api, pointer = ctypes.py_object(enzyme.get_callback()), ctypes.pythonapi, ctypes.c_void_p
    api.PyCapsule_GetName.restype, api.PyCapsule_GetPointer.restype = ctypes.c_char_p, pointer
    address = api.PyCapsule_GetPointer(capsule, ctypes.c_char_p(api.PyCapsule_GetName(capsule)))
    call = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_size_t, pointer)(address)
    which = ctypes.c_int64(number)
    given, out = (ctypes.c_double * len(inputs))(*inputs), (ctypes.c_double * results)()
    arguments = (pointer * 2)(ctypes.addressof(which), ctypes.addressof(given))
    call(ctypes.addressof(out), ctypes.addressof(arguments), None, 0, None)
    return list(out)


def main():
    clang, include, *folders = sys.argv[1:]
    enzyme = load(folders)
    flags = flags_of(clang, include)
    for library in ("libstdc++.so.6", "libgcc_s.so.1"):  # what compiled code calls is looked up in this process
        ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    source = pathlib.Path(__file__).with_name("glue.cpp").read_text(encoding="utf-8")
    number, _ = enzyme.create_enzyme_kernel(source, "both", [("double", [12])], [("double", [3])], flags,
                                            enzyme.ABI.Primal, enzyme.Language.CPP, False, "", "cpu")
    found = run(enzyme, number, [1, 1, 1], 12)
    by_enzyme, by_hand = found[:6], found[6:]
    scale, apart = max(map(abs, by_hand)), max(abs(a - b) for a, b in zip(by_enzyme, by_hand))
    print("by Enzyme", *by_enzyme, "by hand", *by_hand, "they differ by", apart)
    return not 0 < scale < 100 or not apart <= 1e-13 * scale


sys.exit(main())
