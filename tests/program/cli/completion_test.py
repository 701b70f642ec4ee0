"""Completes words of levin as shells do: completion_test.py LEVIN. bash is asked itself, zsh and fish where they are."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

LEVIN = str(pathlib.Path(sys.argv[1]).resolve())


def candidates(*words, cwd=None):
    """What `levin complete` offers for the last word."""
    run = subprocess.run([LEVIN, "complete", *words], capture_output=True, text=True, cwd=cwd)
    assert run.returncode == 0 and not run.stderr, (words, run.stderr)
    return [line.split("\t")[0] for line in run.stdout.splitlines()]


def bash(line, cwd):
    """What bash offers behind the words of a line, of which the last is typed in part."""
    script = f"""
source <({LEVIN} completion bash)
read -ra COMP_WORDS <<< "{line}"
[[ "{line}" == *" " ]] && COMP_WORDS+=("")
words=()
for word in "${{COMP_WORDS[@]}}"; do
  if [[ $word == --*=* ]]; then words+=("${{word%%=*}}" = "${{word#*=}}"); else words+=("$word"); fi
done
COMP_WORDS=("{LEVIN}" "${{words[@]:1}}")
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
compopt() {{ :; }}
_levin
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=cwd)
    assert run.returncode == 0 and not run.stderr, run.stderr
    return run.stdout.split()


def check_words(folder):
    commands = candidates("")
    assert "fit" in commands and "report" in commands and "complete" not in commands
    assert candidates("ver") == ["verify-resume"]
    assert candidates("list", "lo") == ["loggers"]
    assert candidates("config", "s") == ["show", "schema"]
    assert candidates("fit", "--max-ep") == ["--max-epochs"]
    assert candidates("fit", "--precision", "bf") == ["bf16-mixed", "bf16-true"]
    assert candidates("fit", "--strategy", "dd") == ["ddp", "ddp_spawn"]
    assert candidates("fit", "--strategy=z") == ["--strategy=zero1"]
    assert candidates("fit", "--deterministic", "") == [] or "true" in candidates("fit", "--barebones", "")
    assert "--model.optimizer.class" not in candidates("fit", "--model.")
    assert "ImageClassifier" in candidates("fit", "--model.class", "")
    # Flags are those of the classes that the line or a config chooses.
    chosen = ["fit", "--model.class", "ImageClassifier", "--model.optimizer.class", "SGD"]
    assert candidates(*chosen, "--model.optimizer.mom") == ["--model.optimizer.momentum"]
    (folder / "x.json").write_text('{"model": {"class": "ImageClassifier"}, "data": "SyntheticDigits"}')
    assert candidates("fit", "--config", "x.json", "--data.train", cwd=folder) == ["--data.train_size"]
    assert candidates("--plugin", "x.so", "config", "check", "--config", "x.json", "--model.n", cwd=folder) == ["--model.net", "--model.num_classes"]
    # What is wrong so far completes nothing, and says nothing.
    assert candidates("fit", "--config", "none.json", "--max-ep") == ["--max-epochs"]
    assert candidates("nonsense", "") == [] and candidates("fit", "--none", "") == []


def check_shells(folder):
    assert bash("levin fi", folder) == ["fit"]
    assert bash("levin fit --strategy dd", folder) == ["ddp", "ddp_spawn"]
    assert bash("levin fit --strategy=dd", folder) == ["ddp", "ddp_spawn"]
    assert "--max-epochs" in bash("levin fit --config x.json --max", folder)
    for shell, syntax in (("zsh", ["-n"]), ("fish", ["--no-execute"])):
        script = subprocess.run([LEVIN, "completion", shell], capture_output=True, text=True, check=True).stdout
        assert "complete" in script
        if shutil.which(shell):
            (folder / shell).write_text(script)
            subprocess.run([shell, *syntax, str(folder / shell)], check=True)
    if shutil.which("fish"):
        offered = subprocess.run(["fish", "-c", f"{LEVIN} completion fish | source; set -x PATH {pathlib.Path(LEVIN).parent} $PATH; complete -C 'levin fit --strategy dd'"],
                                 capture_output=True, text=True, check=True).stdout  # fmt: skip
        assert [line.split("\t")[0] for line in offered.splitlines()] == ["ddp", "ddp_spawn"], offered
    wrong = subprocess.run([LEVIN, "completion", "tcsh"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "expected bash, zsh or fish" in wrong.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        check_words(pathlib.Path(name))
        check_shells(pathlib.Path(name))
    print("words are completed")


if __name__ == "__main__":
    main()
