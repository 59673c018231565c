#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public name is documented in a sentence, no reference is broken, and each name of a namespace is shown where
users look: by a page, an example or the tool. Doxygen has nothing to say about docs/Doxyfile's input.

    public_names.py DOXYGEN ROOT          prints doxygen's warnings and names without a sentence, exits 1 if there is
                                          one and 77 without doxygen
    public_names.py DOXYGEN ROOT --self   plants one fault of each kind in a header and checks that it is found
"""
import functools
import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree as xml_tree

import planted
from running import needed, told

SOUND = """/// \\file planted.hpp  A header.
/// All of it.
namespace cairn {
/// A concept.
template <class T> concept small = sizeof(T) < 9;
/// Does it.   \\param much  how much
template <small T> requires(sizeof(T) > 1) constexpr auto documented(T much) { return much; }
/// Holds it.
class holder {
 public:
  int k = 0;  ///< where it is
 private:
  int untold_ = 0;
};
namespace detail { inline int untold() { return 1; } }
// more
}
"""
FAULTS = {  # what takes the place of "// more" -> a part of the warning
    "inline int planted() { return 1; }": "Member planted()",
    "template <class T> concept planted = true;": "concept cairn::planted has no sentence",
    "struct planted { int k; };": "Compound cairn::planted is not documented",
    "/// A type.\nstruct planted { struct inner {}; };": "struct cairn::planted::inner has no sentence",
    "/// A type.\ntemplate <class T> struct planted {};\ntemplate <> struct planted<int> {};":
        "struct cairn::planted< int > has no sentence",
    "/// \\throws holder\ninline int planted() { return 1; }": "function cairn::planted has no sentence",
    "/// A type.\nstruct planted { int member = 1; };": "Member member",
    "/// A function.\ninline int unseen_anywhere() { return 1; }": "no page shows cairn::unseen_anywhere",
    "/// See \\ref nowhere_at_all.\ninline int planted() { return 1; }": "nowhere_at_all",
}


def faults(doxygen, root, checked):
    """What doxygen says of the headers in `checked`, or of docs/Doxyfile's input where that is the root. It reads the
    comments of functions only where it writes something: XML."""
    with tempfile.TemporaryDirectory() as scratch:
        settings = (root / "docs" / "Doxyfile").read_text()
        settings += f'OUTPUT_DIRECTORY = "{scratch}"\nGENERATE_XML = YES\n'
        if checked != root:
            settings += f'INPUT = "{checked}"\n'
        status, text = told(doxygen, "-", input=settings, cwd=root)
        said = set(text.splitlines()) | untold(pathlib.Path(scratch, "xml"), words_of(root))
    return sorted(said) or [f"doxygen ended with {status}"] * (status != 0)


def prose(element):
    """The text of a comment without its parameters, errors and other sections."""
    if element.tag in ("parameterlist", "simplesect"):
        return ""
    return (element.text or "") + "".join(prose(part) + (part.tail or "") for part in element)


def is_told(entry):
    return any(prose(entry.find(part)).strip() for part in ("briefdescription", "detaileddescription"))


def words_of(root):
    """The words that a user may meet."""
    pages = [root / "README.md", *(path for room in ("docs", "examples", "tools") for path in (root / room).rglob("*")
                                   if path.suffix in (".md", ".cpp", ".cu", ".hpp", ".c", ".h", ".py"))]
    return {word for page in pages for word in re.findall(r"\w+", page.read_text())}


def untold(xml, shown):
    """What doxygen says nothing about: classes without members that have a comment, specialisations, concepts, names of
    a namespace whose comment has no sentence, and those that are not among the words that are shown."""
    namespaces = {page.findtext("compounddef/compoundname") for page in map(xml_tree.parse, xml.glob("namespace*.xml"))}
    said = set()
    for page in xml.glob("*.xml"):
        for compound in xml_tree.parse(page).getroot().findall("compounddef"):
            name, kind = compound.findtext("compoundname"), compound.get("kind")
            entries = []
            if kind in ("class", "struct", "union", "concept") and compound.get("prot") in (None, "public"):
                entries.append((compound, kind, name))
            if kind == "namespace":
                entries += [(member, member.get("kind"), f"{name}::{member.findtext('name')}")
                            for member in compound.iter("memberdef")]
            for entry, kind, name in entries:
                at, own = entry.find("location"), name.split("<")[0].strip().rpartition("::")
                if own[0] in namespaces and own[2] not in shown and not own[2].startswith("operator"):
                    said.add(f"{at.get('file')}:{at.get('line')}: no page shows {name}")
                if not is_told(entry):
                    said.add(f"{at.get('file')}:{at.get('line')}: the comment of {kind} {name} has no sentence")
    return said


doxygen, root = needed(sys.argv[1], package="doxygen"), pathlib.Path(sys.argv[2]).resolve()
PLANTED = [("planted.hpp", "// more", fault, said) for fault, said in FAULTS.items()]
sys.exit(planted.main(functools.partial(faults, doxygen, root), {"planted.hpp": SOUND}, PLANTED,
                      "every public name is documented"))
