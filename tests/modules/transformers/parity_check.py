"""What the comparisons of networks with Python's share: how far values are off, and the run of a program over folders.

Each network has a folder with its inputs; the program gets the folders and writes results.safetensors into each.
"""

import subprocess
import sys

from safetensors.torch import load_file

MOST_OFF = 1e-5  # of the largest value


def off(got, expected, least=1e-12):
    return float((got.double() - expected.double()).abs().max() / expected.double().abs().max().clamp_min(least))


class Check:
    """What is compared of one network: its failures, and the largest difference of each kind."""

    def __init__(self, name, folder):
        self.name, self.folder, self.failures, self.worst = name, folder, [], {}

    def close(self, what, got, expected, least=1e-12):
        if got.shape != expected.shape:
            self.failures.append(f"{self.name}: {what} is {list(got.shape)} in place of {list(expected.shape)}")
            return
        value = off(got, expected, least)
        kind = what.split(".")[0]
        self.worst[kind] = max(self.worst.get(kind, 0), value)
        self.holds(f"{what} is off by {value:.2g}", value <= MOST_OFF)

    def holds(self, what, condition):
        if not condition:
            self.failures.append(f"{self.name}: {what}")


def compare_all(program, checks, data, parts_of, is_failure):
    """Runs the program over the checks' folders, compares its results, prints what it found, and exits.

    `parts_of(check)`: functions of a check, its inputs and its results; `is_failure(line)`: whether a line of stderr is one. `data`: inputs by name.
    """
    run = subprocess.run([program, *(str(check.folder) for check in checks)], capture_output=True, text=True)
    failures = [line for line in run.stderr.splitlines() if is_failure(line)]
    if run.returncode < 0:
        failures.append(f"the program ended by signal {-run.returncode}")
    for check in checks:
        results = check.folder / "results.safetensors"
        if not results.exists():
            failures.append(f"{check.name}: no results")
            continue
        got = load_file(results)
        for part in parts_of(check):
            part(check, data.get(check.name), got)
        failures += check.failures
        print(check.name, " ".join(f"{kind} {value:.1e}" for kind, value in check.worst.items()), flush=True)
    for failure in failures:
        print(failure)
    print(f"{len(checks)} networks, {len(failures)} failures")
    sys.exit(1 if failures else 0)
