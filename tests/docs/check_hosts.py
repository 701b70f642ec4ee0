"""Whole programs in C and Fortran in the pages compile; parts of programs are for readers: check_hosts.py C_COMPILER FORTRAN_COMPILER MODULE_FOLDER.

Without a Fortran compiler (an empty word) only those in C are checked.
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/site"))

import pages  # noqa: E402


def main():
    c, fortran, modules = sys.argv[1:4]
    commands = {
        "c": ("c", [c, "-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", "-fsyntax-only"]),
    }
    if fortran and (pathlib.Path(modules) / "levin.mod").exists():
        commands["fortran"] = ("f90", [fortran, "-std=f2018", "-Wall", "-Werror", f"-I{modules}", "-fsyntax-only"])
    problems = checked = 0
    for page in pages.all_pages():
        for block in pages.blocks(page):
            if block.language not in commands or not ("int main(" in block.text or block.text.startswith("program ")):
                continue
            end, command = commands[block.language]
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / f"block.{end}"
                file.write_text(block.text)
                done = subprocess.run([*command, file], capture_output=True, text=True, cwd=folder)
            checked += 1
            if done.returncode:
                problems += 1
                print(f"{block.place}:\n{done.stderr}")
    print(f"{checked} programs of {', '.join(commands)}, {problems} problems")
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
