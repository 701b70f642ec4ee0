"""What Doxygen finds in the public headers: it parses C++, and its XML is read here and turned into Markdown."""

import dataclasses
import html
import re
import subprocess
import xml.etree.ElementTree as xml

from pages import ROOT

SETTINGS = """GENERATE_HTML=NO
GENERATE_LATEX=NO
GENERATE_XML=YES
XML_PROGRAMLISTING=NO
EXTRACT_ALL=YES
INHERIT_DOCS=NO
QUIET=YES
WARNINGS=NO
WARN_IF_DOC_ERROR=NO
MACRO_EXPANSION=YES
EXPAND_ONLY_PREDEF=YES
EXPAND_AS_DEFINED=LEVIN_FOR_EACH_HOOK LEVIN_LOADER_OPTIONS
PREDEFINED="X(hook, parameters)=virtual void hook parameters {}"
"""


@dataclasses.dataclass
class Compound:
    """A class or struct with what it declares."""

    name: str
    kind: str
    file: str
    line: int
    node: xml.Element

    @property
    def short_name(self):
        return self.name.removeprefix("levin::")


def public_headers():
    script = ROOT / "scripts/site/public_headers.cmake"
    printed = subprocess.run(["cmake", f"-DROOT={ROOT}", "-P", script], capture_output=True, text=True, check=True)
    return printed.stderr.split()


def run(folder, headers):
    """Has Doxygen write the XML of the headers into the folder."""
    includes = folder / "include"  # <levin/...> as the build has it
    includes.mkdir(parents=True, exist_ok=True)
    if not (includes / "levin").exists():
        (includes / "levin").symlink_to(ROOT)
    inputs = " ".join(f'"{ROOT / header}"' for header in headers)
    settings = f'{SETTINGS}OUTPUT_DIRECTORY="{folder}"\nSTRIP_FROM_PATH="{ROOT}"\nINCLUDE_PATH="{includes}"\nINPUT={inputs}\n'
    done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"doxygen failed: {done.stdout}{done.stderr}")


def is_detail(name):
    return "detail" in name.split("::")


def classes(folder):
    """The classes and structs of the XML; what is private, a specialization or an implementation's detail is left out."""
    found = []
    for path in sorted((folder / "xml").glob("*.xml")):
        if not path.name.startswith(("class", "struct")):
            continue
        node = xml.parse(path).getroot().find("compounddef")
        location = node.find("location")
        name = node.findtext("compoundname")
        if node.get("prot") == "public" and name.startswith("levin::") and "<" not in name and not is_detail(name):
            found.append(Compound(name, node.get("kind"), location.get("file"), int(location.get("line")), node))
    return found


def free_members(folder):
    """{header: its members} of functions, types, values and macros that stand outside of classes and have a comment, and of names of
    types, in their order."""
    found = {}
    for path in sorted((folder / "xml").glob("*.xml")):
        if not path.name.startswith("namespacelevin") and not path.name.endswith("_8h.xml"):
            continue
        for member in xml.parse(path).getroot().iter("memberdef"):
            documented = any("".join(member.find(name).itertext()).strip() for name in ("briefdescription", "detaileddescription"))
            name = member.findtext("qualifiedname") or member.findtext("name")
            if (documented or member.get("kind") == "typedef") and not is_detail(name):
                found.setdefault(member.find("location").get("file"), {})[member.get("id")] = member
    return {file: sorted(members.values(), key=lambda member: int(member.find("location").get("line")))
            for file, members in found.items()}


def escaped(text):
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", html.escape(text, quote=False))


class Markdown:
    """Turns descriptions into Markdown. `link(refid)` gives the address of what a comment names, or None."""

    def __init__(self, link):
        self._link = link

    def description(self, node):
        """All paragraphs of the brief and the detailed description of a compound or member."""
        parts = [self._blocks(node.find(name)) for name in ("briefdescription", "detaileddescription")]
        return "\n\n".join(part for part in parts if part)

    def line(self, node):
        """The description as one line, for a cell of a table."""
        return " ".join(self.description(node).split())

    def _blocks(self, node):
        """The paragraphs, lists and code of a node, apart by empty lines."""
        if node is None:
            return ""
        return "\n\n".join(filter(None, (self._paragraph(child) for child in node)))

    def _paragraph(self, node):
        if node.tag == "para":
            return self._inline(node).strip()
        if node.tag in ("itemizedlist", "orderedlist"):
            return self._list(node)
        if node.tag.startswith("sect"):
            title = node.findtext("title")
            body = self._blocks(node)
            return f"**{escaped(title)}**\n\n{body}" if title else body
        return ""

    def _list(self, node):
        mark = "- " if node.tag == "itemizedlist" else "1. "
        items = [self._blocks(item).replace("\n", "\n    ") for item in node.findall("listitem")]
        return "\n".join(mark + item for item in items)

    def _inline(self, node):
        parts = [escaped(node.text or "")]
        for child in node:
            parts += [self._element(child), escaped(child.tail or "")]
        return "".join(parts)

    def _element(self, node):
        code = "".join(node.itertext())
        if node.tag in ("verbatim", "programlisting", "preformatted"):
            return f"\n\n```cpp\n{code.rstrip()}\n```\n\n"
        if node.tag == "computeroutput":
            return f"`{code}`"
        if node.tag == "ref":
            address = self._link(node.get("refid"))
            return f"[{escaped(code)}]({address})" if address else escaped(code)
        if node.tag == "ulink":
            return f"[{escaped(code)}]({node.get('url')})"
        if node.tag in ("itemizedlist", "orderedlist"):
            return f"\n\n{self._list(node)}\n\n"
        if node.tag == "emphasis":
            return f"*{self._inline(node)}*"
        if node.tag == "bold":
            return f"**{self._inline(node)}**"
        if node.tag == "simplesect":
            return f"\n\n{self._blocks(node)}\n\n"
        symbol = {"ndash": "-", "mdash": "-", "lsquo": "'", "rsquo": "'", "linebreak": "\n", "nonbreakablespace": " "}
        return symbol.get(node.tag) or self._inline(node)
