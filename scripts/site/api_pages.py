"""The pages of the C++ interface: one for each public header, out of its /// comments, and an index of them."""

import html
import pathlib
import posixpath
import re

import declarations
import doxygen_xml

FOLDER = "api"
TITLES = {
    "callbacks": "Callbacks", "data": "Data", "data/datasets": "Data sets", "data/download": "Downloads", "data/files": "Files",
    "data/transforms": "Transforms", "modules": "Modules", "modules/lr_schedulers": "Schedulers", "modules/metrics": "Metrics",
    "modules/nn": "Networks", "modules/optim": "Optimization", "modules/optim/optimizers": "Optimizers",
    "modules/parallel": "Several devices", "trainer": "Trainer", "program": "The program", "core": "Core",
    "trainer/launch": "Launching", "trainer/loggers": "Loggers", "program/profile": "Profile", "trainer/profilers": "Profilers",
    "trainer/session": "Session", "trainer/tuner": "Tuner", "program/sweep": "Sweep", "trainer/options": "Options",
}  # fmt: skip


def cell_code(text):
    """Code in a cell of a table; a column ends at a bar, even inside of code."""
    return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>" if text else ""


class Header:
    """A page: what one header declares."""

    def __init__(self, path):
        self.path = path
        self.source = f"{FOLDER}/{path.removesuffix('.h')}.md"
        self.classes, self.free = [], []

    @property
    def title(self):
        """The class that the file is named after, else the file's name."""
        stem = pathlib.PurePosixPath(self.path).stem
        names = [compound.name.split("::")[-1] for compound in self.classes]
        return next((name for name in names if name.lower() == stem.replace("_", "")), f"{stem}.h")

    @property
    def room(self):
        """The folder that it stands under in the navigation."""
        folder = str(pathlib.PurePosixPath(self.path).parent)
        while folder not in TITLES:
            folder = folder.rpartition("/")[0]
        return folder


def class_anchor(compound):
    return compound.short_name.replace("::", "-").lower()


def member_anchor(owner, member):
    name = f"{owner}-{member.findtext('name')}".strip("-").lower().replace("~", "destructor-")
    return re.sub(r"[^\w-]", lambda sign: f"{ord(sign[0]):x}", name)


class Reference:
    """All pages of the interface. `pages` maps their paths in the site to their text, `navigation` is the tree of them."""

    def __init__(self, folder):
        paths = doxygen_xml.public_headers()
        doxygen_xml.run(folder, paths)
        self._headers = {path: Header(path) for path in paths}
        for compound in doxygen_xml.classes(folder):
            if compound.file in self._headers:
                self._headers[compound.file].classes.append(compound)
        for file, members in doxygen_xml.free_members(folder).items():
            if file in self._headers:
                self._headers[file].free = members
        self._addresses = {}
        for header in self._headers.values():
            header.classes.sort(key=lambda compound: compound.line)
            self._note_addresses(header)
        for header in self._headers.values():
            if not header.classes and not header.free:
                raise RuntimeError(f"{header.path} is public and declares nothing that has a comment with ///")
        self.pages = {header.source: self._page(header) for header in self._headers.values()}
        self.pages[f"{FOLDER}/index.md"] = self._index()

    @property
    def navigation(self):
        rooms = [{title: [{header.title: header.source} for header in sorted(self._in_room(room), key=lambda h: h.title.lower())]}
                 for room, title in TITLES.items() if self._in_room(room)]
        return [f"{FOLDER}/index.md", *rooms]

    def _in_room(self, room):
        return [header for header in self._headers.values() if header.room == room]

    def _note_addresses(self, header):
        for compound in header.classes:
            self._addresses[compound.node.get("id")] = (header.source, class_anchor(compound))
            for member in compound.node.iter("memberdef"):
                has_heading = member.get("kind") != "variable" and self._markdown(header).description(member)
                anchor = member_anchor(class_anchor(compound), member) if has_heading else class_anchor(compound)
                self._addresses[member.get("id")] = (header.source, anchor)
        for member in header.free:
            self._addresses[member.get("id")] = (header.source, member_anchor("", member))

    def _markdown(self, header):
        def link(refid):
            source, anchor = self._addresses.get(refid, (None, None))
            if source is None:
                return None
            path = "" if source == header.source else posixpath.relpath(source, posixpath.dirname(header.source))
            return f"{path}#{anchor}"

        return doxygen_xml.Markdown(link)

    def _page(self, header):
        markdown = self._markdown(header)
        parts = [f"# {header.title}", f"```cpp\n#include <levin/{header.path}>\n```"]
        for compound in header.classes:
            parts += self._class(compound, markdown)
        if header.free:
            parts += ["## Functions and types"] if header.classes else []
            parts += self._members(header.free, markdown, "##" if not header.classes else "###")
        return "\n\n".join(part for part in parts if part) + "\n"

    def _class(self, compound, markdown):
        anchor = class_anchor(compound)
        bases = ", ".join(f"{base.get('prot')} {declarations.text_of(base)}" for base in compound.node.findall("basecompoundref"))
        head = f"{declarations.template(compound.node)}{compound.kind} {compound.name}{' : ' + bases if bases else ''};"
        parts = [f"## {doxygen_xml.escaped(compound.short_name)} {{ #{anchor} }}", f"```cpp\n{head}\n```",
                 markdown.description(compound.node)]  # fmt: skip
        members = [member for section in compound.node.findall("sectiondef") for member in section.findall("memberdef")
                   if member.get("prot") in ("public", "protected") and member.get("kind") != "friend"]  # fmt: skip
        members.sort(key=lambda member: int(member.find("location").get("line")))
        fields = [member for member in members if member.get("kind") == "variable" and member.get("static") == "no"]
        if fields:
            parts.append(self._fields(fields, markdown))
        parts += self._members([member for member in members if member not in fields], markdown, "###", anchor)
        return parts

    def _fields(self, fields, markdown):
        rows = ["| field | type | default | meaning |", "|---|---|---|---|"]
        for field in fields:
            initializer = field.find("initializer")
            default, meaning = declarations.option_arguments("" if initializer is None else "".join(initializer.itertext()))
            meaning = doxygen_xml.escaped(meaning) or markdown.line(field)
            rows.append(f"| `{field.findtext('name')}` | {cell_code(declarations.text_of(field.find('type')))} "
                        f"| {cell_code(default)} | {meaning} |")  # fmt: skip
        return "\n".join(rows)

    def _members(self, members, markdown, level, owner=""):
        """Each name with its overloads and their comments; declarations without a comment follow those that have one."""
        groups, bare, members_by_name = {}, [], {}
        for member in members:
            name = member.findtext("name")
            members_by_name[name] = member
            text = self._enum(member, markdown) if member.get("kind") == "enum" else markdown.description(member)
            if text:
                groups.setdefault(name, []).append([[declarations.signature(member)] if member.get("kind") != "enum" else [], text])
            elif name in groups:
                groups[name][-1][0].append(declarations.signature(member))
            elif member.get("kind") != "enum":
                bare.append(declarations.signature(member))
        parts = []
        for name, overloads in groups.items():
            anchor = member_anchor(owner, members_by_name[name])
            parts.append(f"{level} {doxygen_xml.escaped(name)} {{ #{anchor} }}")
            for declared, text in overloads:
                code = "\n".join(declared)
                parts += [f"```cpp\n{code}\n```"] if declared else []
                parts.append(text)
        if bare:
            code = "\n".join(bare)
            parts += ["Also declared:", f"```cpp\n{code}\n```"]
        return parts

    def _enum(self, member, markdown):
        values = [f"| `{value.findtext('name')}` | {markdown.line(value)} |" for value in member.findall("enumvalue")]
        return "\n".join(["\n\n".join(filter(None, [markdown.description(member), "| value | meaning |\n|---|---|"])), *values])

    def _index(self):
        parts = ["# C++ interface", "Out of the comments of the headers that users include. `<levin/lightning.h>` has what most "
                 "programs need, `<levin/levin.h>` all of it. The [options of a config](../config.md) have a page of their own."]
        for room, title in TITLES.items():
            headers = sorted(self._in_room(room), key=lambda header: header.path)
            if not headers:
                continue
            rows = ["| header | declares |", "|---|---|"]
            for header in headers:
                up = header.source.removeprefix(f"{FOLDER}/")
                names = [f"[{doxygen_xml.escaped(c.short_name)}]({up}#{class_anchor(c)})"
                         for c in header.classes if c.short_name.count("::") <= c.short_name.count("optim::") + 1]
                free = dict.fromkeys(member.findtext("name") for member in header.free)
                rows.append(f"| [`{header.path}`]({up}) | {', '.join([*names, *(f'`{name}`' for name in free)])} |")
            parts += [f"## {title}", "\n".join(rows)]
        return "\n\n".join(parts) + "\n"
