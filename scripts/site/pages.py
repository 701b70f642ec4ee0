"""The Markdown pages of the repository: their fenced blocks, headings and links."""

import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOP_PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
FENCE = re.compile(r"^( *)(```+)(.*)$")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^()\s]+)(\))")
CODE_SPAN = re.compile(r"(`+)(?:(?!\1)(?!\n *\n).)+?\1", re.DOTALL)
EXTERNAL = re.compile(r"^[a-z]+:")


@dataclasses.dataclass
class Block:
    """A fenced block: the number of its first line in the page, its language and its text without the fences."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def all_pages():
    """The paths of all pages that are for readers, below the checkout: the top ones, docs and those beside the code."""
    others = sorted(path.relative_to(ROOT).as_posix() for folder in ("docs", "benchmarks", "examples")
                    for path in (ROOT / folder).rglob("*.md"))
    return TOP_PAGES + others


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page):
    """The fenced blocks of a page; text that is indented with its fence loses the indent."""
    found, fence = [], None
    for number, line in enumerate(read(page).splitlines(), 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence = match
            found.append(Block(page, number + 1, match[3].strip(), ""))
        elif fence is not None and match and match[2].startswith(fence[2]) and not match[3].strip():
            fence = None
        elif fence is not None:
            found[-1].text += (line[len(fence[1]):] if line.startswith(fence[1]) else line) + "\n"
    assert fence is None, f"{page}: the block of line {found[-1].line} does not end"
    return found


def lines_of(text):
    """(line, whether it belongs to a fenced block) for each line; the fences belong to their blocks."""
    fence = None
    for line in text.split("\n"):
        match = FENCE.match(line)
        yield line, fence is not None or match is not None
        if fence is None and match:
            fence = match[2]
        elif fence is not None and match and match[2].startswith(fence) and not match[3].strip():
            fence = None


def without_code(text):
    """The text, letter by letter, with blanks in the place of code blocks and code spans: words, headings and links are left."""
    lines = [" " * len(line) if is_code else line for line, is_code in lines_of(text)]
    return CODE_SPAN.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), "\n".join(lines))


def links(text):
    """(line, target) of each link and image of a page's text."""
    code = without_code(text)
    return [(code.count("\n", 0, match.start()) + 1, match[2]) for match in LINK.finditer(code)]


def replace_links(text, change):
    """The text with `change(target)` in the place of each link's target; code is left as it is."""
    parts, done = [], 0
    for match in LINK.finditer(without_code(text)):
        parts += [text[done:match.start(2)], change(match[2])]
        done = match.end(2)
    return "".join(parts) + text[done:]


def slug(heading):
    """The anchor of a heading, as code hosts and the site's Markdown make it."""
    words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower())
    return words.replace(" ", "-")


def anchors(text):
    """The anchors of a page's headings; a heading that is there twice gets a number behind."""
    found = []
    for line, is_code in lines_of(text):
        heading = None if is_code else re.match(r"^#{1,6} +(.*?) *#*$", line)
        if heading:
            name = slug(heading[1])
            count = sum(1 for other in found if re.fullmatch(re.escape(name) + r"(-\d+)?", other))
            found.append(f"{name}-{count}" if count else name)
    return found


def git_files(folder=""):
    """The files below a folder that belong to the repository, or that could be added to it."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", folder or "."],
                            cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file())
