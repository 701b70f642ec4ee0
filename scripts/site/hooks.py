"""Hooks of MkDocs: the pages beside docs/, the C++ interface, and a page for each file or folder that a page links to.

So a link that works in a checkout works in the site too, without a network.
"""

import os
import pathlib
import posixpath
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import api_pages  # noqa: E402
import pages  # noqa: E402
from mkdocs.exceptions import PluginError  # noqa: E402
from mkdocs.structure.files import File  # noqa: E402

TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
SOURCE = "source"
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".py": "python", ".json": "json", ".sh": "sh", ".cmake": "cmake", ".txt": "text"}

CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
CODE = re.compile(r"(<code>)([^<]*)(</code>)")

state = {}


def site_path(path):
    """The Markdown page in the site that stands for a file or folder of the repository."""
    if path in TOP:
        return TOP[path]
    if path.startswith("docs/") and path.endswith((".md", ".svg")):
        return path.removeprefix("docs/")
    if (pages.ROOT / path).is_dir():
        return f"{SOURCE}/{path}/index.md"
    return f"{SOURCE}/{path}" if path.endswith(".md") else f"{SOURCE}/{path}.md"


def target_of(page, link):
    """(path in the repository, "#anchor" or "") of a link; (None, "") for one to elsewhere."""
    path, sharp, anchor = link.partition("#")
    if pages.EXTERNAL.match(link) or not path:
        return None, ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), sharp + anchor


def with_site_links(page, text):
    """A page's text with the links that lead to files of the repository leading to their pages in the site."""
    here = posixpath.dirname(site_path(page)) or "."

    def change(link):
        path, anchor = target_of(page, link)
        if path is None or not (pages.ROOT / path).exists():
            return link
        return posixpath.relpath(site_path(path), here) + anchor

    return pages.replace_links(text, change)


def source_page(path):
    """The page of a source file: its text as code."""
    language = LANGUAGES.get(pathlib.PurePosixPath(path).suffix, "text")
    text = pages.read(path).rstrip("\n")
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n````{language}\n{text}\n````\n"


def folder_page(path, files):
    """The page of a folder: a list of its files."""
    links = [f"- [{file.removeprefix(path + '/')}]({posixpath.relpath(site_path(file), f'{SOURCE}/{path}')})" for file in files]
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n" + "\n".join(links) + "\n"


def is_text(path):
    return b"\0" not in (pages.ROOT / path).read_bytes()[:4096]


def generated_pages():
    """{path in the site: text} of all pages that do not lie in docs/."""
    found = {TOP[page]: with_site_links(page, pages.read(page)) for page in TOP}
    open_pages, seen = pages.all_pages(), set()
    while open_pages:
        page = open_pages.pop()
        if page not in TOP and not page.startswith("docs/"):
            found[site_path(page)] = with_site_links(page, pages.read(page))
        for _, link in pages.links(pages.read(page)):
            path, _ = target_of(page, link)
            if path is None or path in seen or not (pages.ROOT / path).exists():
                continue
            seen.add(path)
            if (pages.ROOT / path).is_dir():
                files = [file for file in pages.git_files(path) if is_text(file)]
                found[site_path(path)] = folder_page(path, files)
                found.update((site_path(file), source_page(file)) for file in files if not file.endswith(".md"))
            elif site_path(path).startswith(SOURCE) and not path.endswith(".md"):
                found[site_path(path)] = source_page(path)
    return found


def docs_pages():
    """The pages that lie in docs/ itself; one that the navigation does not name stands at its end."""
    return sorted(path.name for path in (pages.ROOT / "docs").glob("*.md"))


def on_config(config):
    if not shutil.which("doxygen"):
        raise PluginError("There is no doxygen, which reads the headers' comments: install it (apt-get install doxygen).")
    folder = pages.ROOT / "build/site_api"
    shutil.rmtree(folder, ignore_errors=True)
    reference = api_pages.Reference(folder)
    state["pages"] = {**generated_pages(), **reference.pages}
    for section in config.nav:
        for title, content in section.items():
            if isinstance(content, list):
                section[title] = [{"C++ interface": reference.navigation} if item == api_pages.FOLDER else item for item in content]
    last = next(iter(config.nav[-1].values()))
    last += [page for page in docs_pages() if f"'{page}'" not in repr(config.nav)]
    return config


def on_files(files, config):
    for path, text in state["pages"].items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    path = f"docs/{page.file.src_uri}"
    if page.file.src_uri in state["pages"] or not os.path.exists(pages.ROOT / path):
        return markdown
    return with_site_links(path, markdown)


def on_page_content(html, page, config, files):
    """Long names in tables may break behind their parts, so that a table fits a phone."""

    def breakable(cell):
        return CODE.sub(lambda code: code[1] + re.sub(r"(::|&lt;|[_/.,=(]|-(?=\w))(?=[^<])", r"\1<wbr>", code[2]) + code[3], cell[0])

    return CELL.sub(breakable, html)


def on_post_page(output, page, config):
    """The theme takes a part of its search from another host; ours lies beside it."""
    own = posixpath.relpath("file_worker.js", posixpath.dirname(page.file.dest_uri) or ".")
    return re.sub(r'https://[^"]*/iframe-worker/shim', own, output)
