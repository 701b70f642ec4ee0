"""The commands of the pages' shell blocks."""

import dataclasses
import re
import shlex

import pages

# What starts another command.
STARTERS = {"exec", "srun", "mpirun", "torchrun", "valgrind"}
VARIABLE = re.compile(r"[A-Z_]+=")


@dataclasses.dataclass
class Command:
    """A command's words, without comments, redirections and what starts it."""

    place: str
    words: list


def without_starter(words):
    """A command's words without the variables and the launcher before it."""
    while words and (words[0] in STARTERS or VARIABLE.match(words[0])):
        if words[0] == "exec" or VARIABLE.match(words[0]):
            words = words[1:]
        else:
            words = words[next((i for i, word in enumerate(words) if word == "levin" or "/bin/" in word), 1) :]
    return ["levin", *words[1:]] if words and words[0].endswith("/bin/levin") else words


def words_of(line):
    """The words of each command of a line of shell. `>`, `|` and what is behind them are left out; `source <(x)` is x; a loop is its
    body."""
    line = re.sub(r"^source <\((.*?)\)", r"\1", line)
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        return [[line, f"({error})"]]
    for end in (">", "|"):
        if end in words:
            words = words[: words.index(end)]
    if "done;" in words or "done" in words:
        words = [word.rstrip(";") for word in words if word not in ("done", "done;")]
    found = [[]]
    for word in words:
        if word == "&&":
            found.append([])
        else:
            found[-1].append(word)
    return [command for command in map(without_starter, found) if command and command[0] != "for"]


def commands():
    """All commands: each line of a `sh` block, and the lines behind `$ ` of a `console` block."""
    found = []
    for page in pages.all_pages():
        for block in pages.blocks(page):
            if block.language not in ("sh", "console"):
                continue
            line_number = block.line
            for line in block.text.replace("\\\n", " \0").splitlines():
                place, joined = f"{page}:{line_number}", line.replace("\0", "")
                line_number += 1 + line.count("\0")
                if block.language == "console":
                    if not joined.startswith("$ "):
                        continue
                    joined = joined[2:]
                found += [Command(place, words) for words in words_of(joined)]
    return found
