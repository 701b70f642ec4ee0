"""The commands of the pages' shell blocks are right: those of levin run or are parsed, for others the files, targets and flags exist.

Usage: check_commands.py LEVIN BUILD
"""

import concurrent.futures
import glob
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/site"))

import sandbox  # noqa: E402
import shell_blocks  # noqa: E402

RUNS = {"fit", "validate", "test", "predict"}
# Commands that take a run's flags and would take long: their own flags, with the number of values.
LONG = {"compile": {"--out": 1}, "profile": {}, "data": {"inspect": 0}, "export": {"--out": 1, "--dynamic": 1, "--inference": 0, "--adapter": 0}}
# Of these, what runs by itself.
SHORT = {("data", "guess")}
# Programs of others, which are not run here.
FOREIGN = {"apt-get", "cd", "conan", "docker", "export", "g++", "pip", "python3", "sudo", "tar", "vcpkg", "wandb"}


def with_real_names(words):
    """The words with the pages' placeholders replaced: `--config ...`, levin_logs/.../version_0, RUN; a last ... is left out."""
    config = "photos.json" if words[0] == "predict" else "run.json"
    words = [config if words[i - 1 : i] == ["--config"] and word == "..." else word for i, word in enumerate(words)]
    words = ["levin_logs/version_0/weights.pt" if re.fullmatch(r"levin_logs/\.\.\./weights\.pt", word)
             else word.replace("levin_logs/.../", "levin_logs/") for word in words]
    words = ["levin_logs/version_0" if word in ("RUN", "RUN...") else word for word in words]
    return words[:-1] if words[-1] == "..." else words


def parsed(words, own_flags):
    """The words of a `fit` that only prints its config, with the same flags of a run."""
    kept, i = ["fit"], 1
    while i < len(words):
        if words[i] in own_flags:
            i += 1 + own_flags[words[i]]
            continue
        kept.append(words[i])
        i += 1
    return [*kept, "--print-config"]


def levin_problem(box, words):
    """(how it was checked, what is wrong or "") of a command of levin."""
    while words[:1] == ["--plugin"]:
        words = words[2:]
    words = with_real_names(words)
    words = [name for word in words for name in (sorted(glob.glob(word, root_dir=box.folder)) if "*" in word else [word])]
    if tuple(words[:2]) in SHORT:
        words = [*words, "--force"]  # a guess.json is there for the commands that train on it
    name = words[0]
    if name in RUNS:
        how, (code, output) = "parsed", box.run([*words, "--print-config"])
    elif name in LONG and tuple(words[:2]) not in SHORT and not (name == "export" and "program.json" not in words):
        how, (code, output) = "parsed", box.run(parsed(words, LONG[name]))
        help_text = box.run([name, "--help"])[1]
        missing = [flag for flag in LONG[name] if flag in words and flag not in help_text]
        output += "".join(f"\nlevin {name} --help does not know {flag}" for flag in missing)
        code = code or len(missing)
    elif name == "serve":
        how, (code, output) = "run", box.run([*words, "--port", "0"], until="serves ")
    elif name == "sweep":
        trials = words.index("--trials")
        how, (code, output) = "run", box.run([*words[:trials], "--trials", "2", *words[trials + 2 :]])
    else:
        how, (code, output) = "run", box.run([word for word in words if word != "--run"])
    # What asks before it removes gets no answer; files that differ are an answer.
    allowed = {"gc": (0, 1), "ckpt": (0, 1) if words[1:2] == ["diff"] else (0,)}.get(name, (0,))
    return how, "" if code in allowed else output


def script_problem(script, words):
    """What is wrong with the call of a script of the repository."""
    path = ROOT / script
    if not path.is_file():
        return f"there is no {script}"
    text = path.read_text()
    if path.parent.name == "benchmarks" or path.name == "benchmark":
        text += "".join(file.read_text() for file in (ROOT / "benchmarks").rglob("*.py"))
    unknown = [word for word in words if word.startswith("--") and word not in text]
    return f"{script} does not know {' '.join(unknown)}" if unknown else ""


def other_problem(words, targets, presets, projects):
    """What is wrong with a command that is not levin's; None if it is none that is known. `projects`: what `levin new` has made."""
    name = words[0]
    if name == "cmake" and words[1:2] == ["--preset"]:
        return "" if words[2] in presets else f"there is no preset {words[2]}"
    if name.startswith("build/release/") and name.removeprefix("build/release/") in projects:
        return ""
    if pathlib.PurePosixPath(name).name in FOREIGN or (name == "cmake" and words[1:2] in (["-B"], ["--install"])):
        return ""
    if name == "cmake" and words[1] == "--build":
        wanted = words[words.index("--target") + 1 :] if "--target" in words else []
        missing = [target for target in wanted if target not in targets]
        if words[2:3] == ["--preset"]:
            missing += [preset for preset in words[3:4] if preset not in presets]
        return f"there is no {' '.join(missing)}" if missing else ""
    if name.endswith("/bin/python"):
        return script_problem(words[1], words[2:])
    if name.startswith("build/release/bin/"):
        return "" if pathlib.PurePosixPath(name).name in targets else f"no target builds {name}"
    if name == "levin-export":
        return script_problem("scripts/levin-export", words[1:])
    if name == "./run.sh":
        return script_problem("scripts/gpu_bundle/run.sh", words[1:])
    if "/" in name:
        return script_problem(name, words[1:])
    return None


def main():
    levin, build = sys.argv[1:3]
    ninja = (pathlib.Path(build) / "build.ninja").read_text()
    targets = set(re.findall(r"^build (?:bin/)?([\w]+):", ninja, re.MULTILINE))
    presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["buildPresets"]}
    commands, problems, counts = shell_blocks.commands(), [], {"run": 0, "parsed": 0, "other": 0}
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        (pathlib.Path(work) / "given").mkdir()
        box = sandbox.Sandbox(levin, pathlib.Path(work) / "given")
        own = [command for command in commands if command.words[0] == "levin"]
        different = {tuple(command.words): command.words for command in own}
        answers = dict(zip(different, pool.map(lambda words: levin_problem(box, words[1:]), different.values())))
        for command in own:
            how, problem = answers[tuple(command.words)]
            counts[how] += 1
            if problem:
                problems.append(f"{command.place}: {' '.join(command.words)}: {problem.strip()}")
    projects = {command.words[2] for command in own if command.words[1:2] == ["new"]}
    for command in commands:
        if command.words[0] != "levin":
            counts["other"] += 1
            problem = other_problem(command.words, targets, presets, projects)
            if problem != "":
                problems.append(f"{command.place}: {' '.join(command.words)}: {problem or 'a command that this check does not know'}")
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(commands)} commands: {counts['run']} of levin run, {counts['parsed']} of levin parsed, {counts['other']} others; "
          f"{len(problems)} wrong")
    assert counts["run"] > 15 and counts["parsed"] > 15 and counts["other"] > 15, "the pages have lost their commands"
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
