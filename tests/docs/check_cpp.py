"""Compiles the C++ blocks of the pages against the headers that are installed, without making code of them.

Usage: check_cpp.py BUILD
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/site"))

import cpp_blocks  # noqa: E402
import pages  # noqa: E402

FILES = 1  # more of them would each read levin.h again, which takes longer than the blocks


def compile_command(build):
    """The compiler and the flags, with the precompiled torch/torch.h, of a source that has them; without levin's folders."""
    entries = json.loads((build / "compile_commands.json").read_text())
    entry = next(entry for entry in entries if re.search(r"-include \S*/levin_quick_torch_headers\.dir/cmake_pch\.hxx ", entry["command"])
                 and "cmake_pch" not in entry["file"])
    words = shlex.split(entry["command"])
    compiler = next(i for i, word in enumerate(words) if os.path.basename(word).rstrip("-0123456789.").endswith(("g++", "clang++", "c++")))
    words = words[compiler:]
    for flag in ("-o", "-c"):
        at = words.index(flag)
        del words[at : at + 2]
    return [word for word in words if not word.startswith("-I")] + ["-fsyntax-only", "-w"], entry["directory"]


def example_sources():
    """The text of all sources that the build compiles as examples, without differences of spaces."""
    return [cpp_blocks.squeezed(path.read_text()) for path in sorted((ROOT / "examples").rglob("*.[ch]*")) if path.suffix in (".cpp", ".h")]


def main():
    blocks = [block for page in pages.all_pages() for block in pages.blocks(page) if block.language == "cpp"]
    examples = example_sources()
    excerpts = [block for block in blocks if any(cpp_blocks.squeezed(block.text) in text for text in examples)]
    compiled = [block for block in blocks if block not in excerpts]
    kinds = [cpp_blocks.translated(block)[0] for block in compiled]
    build = pathlib.Path(sys.argv[1])
    flags, folder = compile_command(build)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["cmake", "--install", build, "--component", "headers", "--prefix", work], check=True, stdout=subprocess.DEVNULL)
        flags.append(f"-I{work}/include")
        running = []
        for i in range(FILES):
            file = pathlib.Path(work) / f"blocks_{i}.cpp"
            file.write_text(cpp_blocks.source(compiled[i::FILES]))
            running.append(subprocess.Popen([*flags, str(file)], cwd=folder, stderr=subprocess.PIPE, text=True))
        failed = [process.communicate()[1] for process in running]
        failed = [text for text, process in zip(failed, running) if process.returncode]
    print(*failed, sep="\n", end="")
    print(f"{len(blocks)} blocks of C++: {len(excerpts)} stand in a program of examples/, {len(compiled)} compiled "
          f"({', '.join(f'{kinds.count(kind)} {kind}' for kind in sorted(set(kinds)))})")
    assert len(blocks) > 50, "the pages have lost their code, or this check no longer finds it"
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
