#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file begins with its licence: the line `SPDX-License-Identifier: Apache-2.0` as a comment.

    spdx.py ROOT           prints the files that do not, exits 1 if there is one
    spdx.py ROOT --write   puts it in where it is missing
    spdx.py --self         does both in a folder of known files

It is the first line, or the second behind a line that others read there: `#!` of a script, `// error:` of a file that
must be refused. Data, texts and files without a comment of their own, such as JSON, have none.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

LINE = "SPDX-License-Identifier: Apache-2.0"
OPENS = {".hpp": "//", ".ipp": "//", ".cpp": "//", ".cu": "//", ".cuh": "//", ".c": "/*", ".h": "/*", ".py": "#",
         ".sh": "#", ".cmake": "#", ".cmake.in": "#", "CMakeLists.txt": "#"}
CLOSES = {"/*": " */"}
READ_FIRST = re.compile(r"#!|// (late )?error: ")
BUILT = {"build", ".git", "__pycache__"}


def opens(file):
    """How a comment begins in this file; nothing where none is asked for."""
    known = next((OPENS[end] for end in sorted(OPENS, key=len, reverse=True) if file.name.endswith(end)), None)
    if known is None and not file.suffix:  # a script known by its first line
        with file.open("rb") as text:
            return "#" if text.read(2) == b"#!" else None
    return known


def sources(root):
    """The files that git keeps or would; without git, all that do not lie in a folder of builds."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True) if (root / ".git").exists() else None
    if listed and listed.returncode == 0:
        files = (root / name for name in listed.stdout.split("\0") if name)
    else:
        files = (file for file in root.rglob("*") if not BUILT & set(file.relative_to(root).parts))
    return sorted(file for file in files if file.is_file() and not file.is_symlink() and opens(file))


def wanted(file):
    comment = opens(file)
    return f"{comment} {LINE}{CLOSES.get(comment, '')}\n"


def place(lines):
    """The number of lines that come before it."""
    return int(bool(lines) and bool(READ_FIRST.match(lines[0])))


def lacks(file):
    with file.open(newline="") as text:
        lines = [text.readline(), text.readline()]
    return lines[place(lines)].rstrip("\r\n") != wanted(file).rstrip("\n")


def write(file):
    with file.open(newline="") as text:
        lines = text.readlines()
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    lines.insert(place(lines), wanted(file).replace("\n", ending))
    with file.open("w", newline="") as text:
        text.writelines(lines)


def self_test():
    known = {  # name -> text, and what becomes of it
        "a.hpp": ("#pragma once\n", "// @\n#pragma once\n"),
        "b.c": ("/* What it is. */\n", "/* @ */\n/* What it is. */\n"),
        "c.py": ('#!/usr/bin/env python3\n"""Words."""\n', '#!/usr/bin/env python3\n# @\n"""Words."""\n'),
        "d.py": ("import sys\n", "# @\nimport sys\n"),
        "run": ("#!/bin/sh\nset -eu\n", "#!/bin/sh\n# @\nset -eu\n"),
        "e.cpp": ("// error: cairn: no\nint x;\n", "// error: cairn: no\n// @\nint x;\n"),
        "f.cpp": ("// late error: cairn: no\r\nint x;\r\n", "// late error: cairn: no\r\n// @\r\nint x;\r\n"),
        "CMakeLists.txt": ("project(x)\n", "# @\nproject(x)\n"),
        "g.cmake.in": ("@PACKAGE_INIT@\n", "# @\n@PACKAGE_INIT@\n"),
        "empty.cpp": ("", "// @\n"),
        "there.hpp": ("// @\n#pragma once\n", None), "h.sh": ("#!/bin/sh\n# @\n", None),
        "data.json": ("{}\n", None), "words.md": ("# Title\n", None), "corpus": ("4GB\n", None),
        "notes.txt": ("a\n", None), "build/x.cpp": ("int x;\n", None),
    }
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        (root / "build").mkdir()
        for name, (before, _) in known.items():
            (root / name).write_bytes(before.replace("@", LINE if name != "g.cmake.in" else "@").encode())
        (root / "run").chmod(0o755)
        for times in (1, 2):  # once more changes nothing
            lacking = {file.relative_to(root).as_posix() for file in sources(root) if lacks(file)}
            if lacking != ({name for name, (_, after) in known.items() if after} if times == 1 else set()):
                wrong += 1
                print(f"lacking: {sorted(lacking)}")
            for name in lacking:
                write(root / name)
        for name, (before, after) in known.items():
            expected = (after or before)
            expected = (expected.replace("# @\n", f"# {LINE}\n") if name == "g.cmake.in"
                        else expected.replace("@", LINE))
            if (root / name).read_bytes() != expected.encode():
                wrong += 1
                print(f"{name}: {(root / name).read_bytes()}")
        if (root / "run").stat().st_mode & 0o777 != 0o755:
            wrong += 1
            print("run is no longer executable")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self"]:
        return self_test()
    root = pathlib.Path(sys.argv[1]).resolve()
    files = sources(root)
    lacking = [file for file in files if lacks(file)]
    if sys.argv[2:] == ["--write"]:
        for file in lacking:
            write(file)
        print(f"{len(files)} files, written into {len(lacking)}")
        return 0
    print("".join(f"{file.relative_to(root)}: does not begin with {LINE}\n" for file in lacking)
          + f"{len(files)} files, {len(lacking)} without it")
    return bool(lacking) or not files


if __name__ == "__main__":
    sys.exit(main())
