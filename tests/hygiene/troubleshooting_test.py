"""Each message that docs/troubleshooting.md explains stands in the sources.

Usage: troubleshooting_test.py ROOT

A heading of a message is `### ` and the message between backquotes, with … for what varies. Its constant parts must be found in
string literals of C++ (neighbouring ones are one, as for the compiler) or in CMake files.
"""

import pathlib
import re
import sys

LEAST = 8  # letters that the longest constant part has


def literals(text):
    """The string literals of a C++ source; neighbouring ones are joined."""
    joined = []
    end = None
    for found in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', text):
        value = re.sub(r"\\(.)", r"\1", found.group(1))
        if end is not None and not text[end : found.start()].strip():
            joined[-1] += value
        else:
            joined.append(value)
        end = found.end()
    return joined


def sources(root):
    """What levin says: all literals, and the lines of its CMake files with holes for variables."""
    said = []
    for folder in ("core", "data", "modules", "callbacks", "trainer", "program"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h"):
                said += literals(path.read_text())
    for path in sorted((root / "cmake").iterdir()):
        said += path.read_text().splitlines()
    return [text.replace("`", "") for text in said]


def messages(page):
    return re.findall(r"^### `(.*)`$", page, re.MULTILINE)


def missing_parts(message, said):
    parts = [part.strip(" ;:,.") for part in message.replace("'", "…").split("…")]
    parts = [part for part in parts if len(part) > 2]
    assert parts and max(map(len, parts)) >= LEAST, f"the message {message!r} has no part that does not vary"
    return [part for part in parts if not any(part in text for text in said)]


def main():
    root = pathlib.Path(sys.argv[1])
    said = sources(root)
    found = messages((root / "docs/troubleshooting.md").read_text())
    assert len(found) >= 40, f"the page has lost its messages: {len(found)} are left"
    assert len(found) == len(set(found)), "a message is explained twice"
    faults = [f"{message}: no source says {part!r}" for message in found for part in missing_parts(message, said)]
    assert not faults, "\n".join(["docs/troubleshooting.md explains what levin does not say:", *faults])
    # The check itself finds a message that nobody says.
    assert missing_parts("the moon is made of … cheese", said)
    assert literals('f("a \\"b\\" "\n   "c", "d")') == ['a "b" c', "d"]
    print(f"{len(found)} messages are in the sources")


if __name__ == "__main__":
    main()
