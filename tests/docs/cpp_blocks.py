"""The C++ blocks of the pages as files that a compiler can check.

A block is a program, the members of a class, or statements. What it takes as given (`trainer`, `module`, `session`) is declared
in page_names.h, in a namespace for each page.
"""

import pathlib
import re

INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)
# What can only stand outside of functions.
OUTSIDE = re.compile(r"^(?:struct|class|namespace|template|inline|LEVIN_|int main\()", re.MULTILINE)
MEMBER = re.compile(r"^\S.*\) (?:const )?override \{", re.MULTILINE)
NAMES = pathlib.Path(__file__).with_name("page_names.h")


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def page_namespace(page):
    """page_data for docs/data.md."""
    return "page_" + re.sub(r"\W", "_", pathlib.PurePosixPath(page).stem.lower())


def chunks(text):
    """The declarations and statements of a block, one after the other: each begins in column 0 and goes on to the next one that
    does, or that closes it."""
    found = []
    for line in text.splitlines(keepends=True):
        continues = not found or line[:1] in " }\n" or line.startswith("//")
        if not found or not continues:
            found.append(line)
        else:
            found[-1] += line
    return found


def translated(block):
    """(kind, code) of a block: "program", "members" or "statements", and what the compiler sees of it."""
    text = INCLUDE.sub("\n", block.text)
    head = f'#line {block.line} "{block.page}"\n'
    namespace = f"block_{block.line}"
    if "int main(" in text:
        return "program", f"namespace {namespace} {{\n{head}{text}}}\n"
    if MEMBER.search(text):
        return "members", f"namespace {namespace} {{\nstruct Block : MemberBase {{\n{head}{text}}};\n}}\n"
    outside, inside, line = "", "", block.line
    for chunk in chunks(text):
        place = f'#line {line} "{block.page}"\n'
        if OUTSIDE.match(chunk):
            outside += place + chunk
        else:
            inside += place + chunk
        line += chunk.count("\n")
    return "statements", f"namespace {namespace} {{\n{outside}auto block() {{\n{inside}}}\n}}\n"


def source(blocks):
    """A source file with all of these blocks."""
    names = NAMES.read_text(encoding="utf-8")
    includes = sorted({line for block in blocks for line in INCLUDE.findall(block.text)})
    parts = ["#include <levin/levin.h>\n", *includes, f'#include "{NAMES}"\n']
    for block in blocks:
        page = page_namespace(block.page)
        known = "" if f"namespace {page} {{" in names else "using namespace names;\n"
        parts.append(f"namespace {page} {{\n{known}{translated(block)[1]}}}\n")
    return "".join(parts)
