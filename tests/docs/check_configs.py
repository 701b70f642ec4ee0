"""The JSON blocks of the pages are JSON, and those that are parts of a config are accepted by `levin config check`. The Python
blocks run.

Usage: check_configs.py LEVIN
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/site"))

import pages  # noqa: E402
import sandbox  # noqa: E402

# What the Python blocks take as given.
PYTHON = """import torch
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2))
example = torch.zeros(2, 3, 2, 2)
"""
SECTIONS = {"trainer", "model", "data", "seed", "name", "base"}


def value_of(text):
    """A block's value; one without braces around it stands inside of an object, and comments are allowed."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    return json.loads(text if text.lstrip().startswith("{") else "{" + text + "}")


def config_with(value):
    """A whole config that has the block's value; None if it is no part of one."""
    base = {"model": sandbox.CONFIG["model"], "data": sandbox.CONFIG["data"]}
    if SECTIONS.issuperset(value):
        return {**base, **value}
    if {"optimizer", "lr_scheduler"}.issuperset(value):
        return {**base, "model": {**base["model"], **value}}
    if "class" in value:
        return {**base, "model": {**base["model"], "lr_scheduler": value}}
    return None


def main():
    levin = sys.argv[1]
    blocks = [block for page in pages.all_pages() for block in pages.blocks(page)]
    problems, configs, values, programs = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as work:
        for block in (block for block in blocks if block.language == "json"):
            try:
                config = config_with(value_of(block.text))
            except ValueError as error:
                problems.append(f"{block.place}: {error}")
                continue
            if config is None:
                values += 1
                continue
            configs += 1
            file = pathlib.Path(work) / "block.json"
            file.write_text(json.dumps(config))
            done = subprocess.run([levin, "config", "check", "--config", file], capture_output=True, text=True)
            if done.returncode:
                problems.append(f"{block.place}: {done.stdout}{done.stderr}")
        python = [block for block in blocks if block.language == "python"]
        text = PYTHON + "".join(f"exec(compile({block.text!r}, {block.place!r}, 'exec'))\n" for block in python)
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=work)
        programs = len(python)
        if done.returncode:
            problems.append(done.stderr)
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{configs} blocks of configs checked, {values} of other JSON parsed, {programs} of Python run; {len(problems)} wrong")
    assert configs > 5 and programs > 0, "the pages have lost their JSON or Python, or this check no longer finds it"
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
