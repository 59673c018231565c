# SPDX-License-Identifier: Apache-2.0
"""What checks of a checkout share. A check is a function that takes the root of a tree and says a sentence of each
fault. To know that it can fail, faults are planted in a small tree that is sound."""
import pathlib
import sys
import tempfile


def found_in(faults, files):
    """What a check says about a tree of these files, path -> text."""
    with tempfile.TemporaryDirectory() as scratch:
        for path, text in files.items():
            file = pathlib.Path(scratch, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return list(faults(pathlib.Path(scratch)))


def changed(files, path, old, new):
    """The files, one of them with `new` in the place of `old`. Where `old` is nothing, `new` is added, to a new file if
    there is none; where `new` is None, the file is gone."""
    text = files.get(path, "")
    assert old in text, (path, old)
    if new is None:
        return {name: text for name, text in files.items() if name != path}
    return {**files, path: text.replace(old, new, 1) if old else text + new}


def self_test(faults, sound, planted):
    """Whether the check finds nothing in the sound tree, and what is to be said in each (path, old, new, said)."""
    wrong = [f"the sound tree is refused: {fault}" for fault in found_in(faults, sound)]
    for path, old, new, said in planted:
        found = found_in(faults, changed(sound, path, old, new))
        if not any(said in fault for fault in found):
            wrong.append(f"planted in {path}: {str(new)[:80]!r}; not found: {said}; found: {found}")
    print("\n".join(wrong) or f"{len(planted)} planted faults found")
    return bool(wrong)


def main(faults, sound, planted, fine):
    """The exit status of a script whose last word is ROOT or --self."""
    if sys.argv[-1] == "--self":
        return self_test(faults, sound, planted)
    found = list(faults(pathlib.Path(sys.argv[-1]).resolve()))
    print("\n".join(found) or fine)
    return bool(found)
