#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file begins with its licence: the line `SPDX-License-Identifier: Apache-2.0` as a comment.

    spdx.py ROOT     prints the files that do not, exits 1 if there is one
    spdx.py --self   plants files that do not and checks that they are found

It is the first line, or the second behind a line that others read there: `#!` of a script, `// error:` of a file that
must be refused. Data, texts and files without a comment of their own, such as JSON, have none.
"""
import re
import shutil
import subprocess
import sys

import planted

LINE = "SPDX-License-Identifier: Apache-2.0"
OPENS = {".hpp": "//", ".ipp": "//", ".cpp": "//", ".cu": "//", ".cuh": "//", ".c": "/*", ".h": "/*", ".py": "#",
         ".sh": "#", ".cmake": "#", ".cmake.in": "#", "CMakeLists.txt": "#"}
READ_FIRST = re.compile(r"#!|// (late )?error: ")
BUILT = {"build", ".git", "__pycache__"}


def opens(file):
    """How a comment begins in this file; nothing where none is asked for."""
    known = next((opening for end, opening in OPENS.items() if file.name.endswith(end)), None)
    if known is None and not file.suffix:  # a script known by its first line
        with file.open("rb") as text:
            return "#" if text.read(2) == b"#!" else None
    return known


def sources(root):
    """The files that git keeps or would; without git, all that do not lie in a folder of builds."""
    git = shutil.which("git") if (root / ".git").exists() else None
    listed = subprocess.run([git, "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True) if git else None
    if listed and listed.returncode == 0:
        files = (root / name for name in listed.stdout.split("\0") if name)
    else:
        files = (file for file in root.rglob("*") if not BUILT & set(file.relative_to(root).parts))
    return sorted(file for file in files if file.is_file() and not file.is_symlink() and opens(file))


def faults(root):
    files = sources(root)
    if not files:
        yield "there are no files"
    for file in files:
        with file.open() as text:
            first, second = text.readline(), text.readline()
        wanted = f"{opens(file)} {LINE}{' */' if opens(file) == '/*' else ''}\n"
        if (second if READ_FIRST.match(first) else first) != wanted:
            yield f"{file.relative_to(root)}: does not begin with {LINE}"


SOUND = {"a.hpp": f"// {LINE}\n#pragma once\n", "b.c": f"/* {LINE} */\n", "c.py": f"#!/usr/bin/env python3\n# {LINE}\n",
         "run": f"#!/bin/sh\n# {LINE}\n", "e.cpp": f"// error: cairn: no\n// {LINE}\n", "g.cmake.in": f"# {LINE}\n",
         "CMakeLists.txt": f"# {LINE}\n", "data.json": "{}\n", "words.md": "# Title\n", "build/x.cpp": "int x;\n"}
PLANTED = [(name, text[text.index(LINE):], "", f"{name}: ") for name, text in SOUND.items() if LINE in text]
PLANTED += [("c.py", "#!/usr/bin/env python3\n", '"""Words."""\n', "c.py: "), ("empty.cpp", "", "", "empty.cpp: ")]

sys.exit(planted.main(faults, SOUND, PLANTED, "every source says its licence"))
