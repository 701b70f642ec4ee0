"""Runs levin's benchmarks beside their peers, and prints tables; scripts/benchmark builds the programs and calls it.

usage: benchmark.py PROGRAMS_FOLDER [--rounds N] [--only SECTION ...] [--json FILE] [--picture FILE] [--data MNIST_FOLDER]

Peers run in turn, each in a process of its own, round after round, on one compute thread. A table gives medians, and the
ratio to the first row with its least and most over the rounds. PROGRAMS_FOLDER holds levin and the benchmark_ programs.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGS = os.path.join(HERE, "..", "configs")
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

BUSY = 0.05  # share of the processors that other programs take

PYTHON = ("pytorch", "lightning_barebones", "lightning")
BY_HAND = ("hand", "torch_data", "fit", "levin")
# Who trains each case, and for how many steps in a round.
CASES = {
    "scalar": (BY_HAND + PYTHON, {"hand": 20000, "torch_data": 20000, "fit": 20000, "levin": 20000, "": 2000}),
    "mlp": (BY_HAND + ("forward_backward",) + PYTHON, {"": 4000, "lightning": 2000}),
    "mlp_adam": (BY_HAND + ("forward_backward", "forward_backward_16", "accumulate_16") + PYTHON, {"": 4000, "lightning": 2000}),
    "lenet": (("hand", "fit", "levin", "levin_channels_last") + PYTHON, {"": 24}),
    "resnet18": (("hand", "levin", "levin_channels_last") + PYTHON, {"": 6}),
    "gpt": (("hand", "levin") + PYTHON, {"": 20}),
}


class Benchmark:
    def __init__(self, programs, rounds, mnist):
        self.programs, self.rounds, self.mnist = programs, rounds, mnist

    def output(self, *command):
        result = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"failed ({result.returncode}): {' '.join(command)}\n{result.stderr[-2000:]}")
        return result.stdout

    def rows_of(self, *command):
        return [json.loads(line) for line in self.output(*command).splitlines() if line.startswith("{")]

    def program(self, name):
        return os.path.join(self.programs, name)

    def python(self, script):
        return sys.executable, os.path.join(HERE, script)

    def step(self, case, who, steps):
        if who in PYTHON:
            command = self.python("training_peers.py") + (case, who, str(steps))
        else:
            command = self.program("benchmark_training_step"), case, "only", who, str(steps)
        return self.rows_of(*command)[-1]

    def in_turn(self, peers, measure):
        """Each round measures all peers; returns {peer: [figures of each round]}."""
        figures = {who: [] for who in peers}
        for _ in range(self.rounds):
            for who in peers:
                figures[who].append(measure(who))
        return figures

    def steps(self, case):
        peers, steps = CASES[case]
        floor = self.rows_of(self.program("benchmark_training_step"), case, "floor")[-1]
        figures = self.in_turn(peers, lambda who: self.step(case, who, steps.get(who, steps[""])))
        rows = compared({who: [f["us_per_step"] for f in each] for who, each in figures.items()}, "us_per_step")
        for row in rows:
            row["peak_memory_mb"] = statistics.median(f["peak_memory_mb"] for f in figures[row["who"]])
            row["of_floor"] = round(row["us_per_step"] / floor["floor_us"], 2)
        print(f"the floor of a step here: {floor['floor_us']:,.1f} us, matrix products {floor['products_us']:,.1f}, "
              f"the optimizer's memory {floor['memory_us']:,.1f}")
        return rows

    def phases(self):
        """Where the time of levin's step goes, in us."""
        rows = []
        for case, (_, steps) in CASES.items():
            rounds = [self.rows_of(self.program("benchmark_training_step"), case, "phases", str(steps[""]))[-1]
                      for _ in range(self.rounds)]
            rows.append({"case": case} | {
                phase: round(statistics.median(r[phase] for r in rounds), 2) for phase in rounds[0] if phase != "case"})
        return rows

    def memory(self):
        """Peak memory of 20 steps with 100 million parameters, Adam."""
        figures = self.in_turn(("hand", "levin", "pytorch"), lambda who: self.step("mlp_100m", who, 20)["peak_memory_mb"])
        return compared(figures, "peak_memory_mb")

    def optimizers(self):
        return self.rows_of(self.program("benchmark_optimizers"), str(self.rounds), "json")

    def metrics(self):
        rows = []
        ours, theirs = self.rows_of(self.program("benchmark_metrics")), self.rows_of(*self.python("metrics.py"))
        for a, b in zip(ours, theirs):
            rows.append({"metric": a["metric"]} | {
                f"{who}_{key}": row[key] for key in ("update_us", "compute_us") for who, row in (("levin", a), ("torchmetrics", b))})
        return rows

    def fit_command(self, config, folder, *flags):
        return (self.program("levin"), "fit", "--config", os.path.join(CONFIGS, config), "--default-root-dir", folder, *flags)

    def start_up(self):
        """Seconds of a whole process that trains one step of the quickstart's network."""
        def seconds(who):
            with tempfile.TemporaryDirectory() as folder:
                if who == "levin":
                    command = self.fit_command("quickstart.json", folder, "--max-steps", "1", "--limit-val-batches", "0")
                else:
                    command = self.python("training_peers.py") + ("lenet", who, "1")
                begin = time.perf_counter()
                self.output(*command)
                return time.perf_counter() - begin
        return compared(self.in_turn(("levin", "pytorch", "lightning"), seconds), "seconds")

    def accuracy(self):
        """Seconds of training until 98 % of MNIST's 10,000 validation images are right; configs/mnist_lenet.json."""
        def levin(_):
            with tempfile.TemporaryDirectory() as folder:
                self.output(*self.fit_command("mnist_lenet.json", folder, "--data.root", self.mnist, "--max-epochs", "5"))
                path = os.path.join(folder, "mnist_lenet", "version_0", "metrics.jsonl")
                return reached(((r["wall_seconds"], r["val_acc"]) for r in map(json.loads, open(path)) if "val_acc" in r))

        def lightning(_):
            config = os.path.join(CONFIGS, "mnist_lenet.json")
            rows = self.rows_of(*self.python("accuracy_peer.py"), config, self.mnist, "5")
            return reached((row["seconds"], row["val_acc"]) for row in rows)

        by = {"levin": levin, "lightning": lightning}
        return compared(self.in_turn(tuple(by), lambda who: by[who](who)), "seconds")


def reached(values, least=0.98):
    return next((seconds for seconds, accuracy in values if accuracy >= least), float("inf"))


def compared(figures, unit):
    """Medians, and ratios to the first peer, round by round."""
    first = next(iter(figures.values()))
    rows = []
    for who, values in figures.items():
        ratios = [v / f for v, f in zip(values, first)]
        rows.append({"who": who, unit: round(statistics.median(values), 3), "ratio": round(statistics.median(ratios), 3),
                     "least": round(min(ratios), 3), "most": round(max(ratios), 3)})
    return rows


def picture(rows):
    """The phases of each case's step as an SVG: bars of one length, parts by their share of the time."""
    phases = [name for name in rows[0] if name != "case"]
    colours = dict(zip(phases, ("#8da0cb", "#66c2a5", "#e5c494", "#fc8d62", "#a6d854")))
    left, width, bar, gap = 150, 600, 26, 14
    lines = []
    for i, phase in enumerate(phases):
        x = left + i * 125
        lines.append(f'<rect x="{x}" y="10" width="12" height="12" fill="{colours[phase]}"/>'
                     f'<text x="{x + 17}" y="21">{phase}</text>')
    for i, row in enumerate(rows):
        y, x, total = 40 + i * (bar + gap), left, sum(row[phase] for phase in phases)
        lines.append(f'<text x="{left - 10}" y="{y + 18}" text-anchor="end">{row["case"]}, {total:,.0f} us</text>')
        for phase in phases:
            share = row[phase] / total
            lines.append(f'<rect x="{x:.1f}" y="{y}" width="{share * width:.1f}" height="{bar}" fill="{colours[phase]}"/>')
            if share > 0.06:
                lines.append(f'<text x="{x + share * width / 2:.1f}" y="{y + 18}" text-anchor="middle">{share:.0%}</text>')
            x += share * width
    height = 40 + len(rows) * (bar + gap)
    body = "\n".join(lines)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" font-family="sans-serif" '
            f'font-size="13">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


class OtherWork:
    """What other programs take of the processor while a section runs."""

    TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

    def __init__(self):
        self.begin = self.now()

    def now(self):
        """Seconds of all processors that were busy, and those of this program and the ones that it has run."""
        if not os.path.exists("/proc/stat"):
            return 0, 0, time.time()
        user, nice, system, _, _, irq, soft, steal = map(int, open("/proc/stat").readline().split()[1:9])
        return (user + nice + system + irq + soft + steal) / self.TICKS, sum(os.times()[:4]), time.time()

    def share(self):
        busy, own, clock = (b - a for a, b in zip(self.begin, self.now()))
        return max(0.0, busy - own) / max(clock * (os.cpu_count() or 1), 1e-9)


def machine(levin):
    processor = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        processor = re.search(r"model name\s*:\s*(.*)", open("/proc/cpuinfo").read()).group(1)
    versions = subprocess.run([levin, "--version"], capture_output=True, text=True).stdout.split("\n")
    return {"date": datetime.date.today().isoformat(), "processor": processor, "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2),
            "compute_threads": 1, "levin": [line for line in versions if line],
            "python": platform.python_version(), **{name: importlib.metadata.version(name) for name in ("torch", "lightning")}}


def table(rows):
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join(lines + ["| " + " | ".join(str(row.get(name, "")) for name in names) + " |" for row in rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--json", default="build/benchmark.json")
    parser.add_argument("--picture", default="", help="an SVG file that shows the phases of a step")
    parser.add_argument("--data", default="", help="folder of MNIST's files, for the time to an accuracy")
    options = parser.parse_args()
    benchmark = Benchmark(options.programs, options.rounds, options.data)
    sections = {f"steps of {case}": (lambda case=case: benchmark.steps(case)) for case in CASES}
    sections |= {"phases": benchmark.phases, "memory": benchmark.memory, "optimizers": benchmark.optimizers, "metrics": benchmark.metrics,
                 "start_up": benchmark.start_up}
    if options.data:
        sections["accuracy"] = benchmark.accuracy
    chosen = [s for s in sections if not options.only or s in options.only or s.split()[-1] in options.only]
    unknown = [o for o in options.only if not any(o in (s, s.split()[-1]) for s in sections)]
    if unknown or not chosen:
        sys.exit(f"no section {', '.join(unknown)}; there are: {', '.join(s.split()[-1] for s in sections)}"
                 + ("" if options.data else " (and accuracy, with --data)"))
    report = {"machine": machine(os.path.join(options.programs, "levin")), "rounds": options.rounds, "tables": {}}
    print(json.dumps(report["machine"], indent=2), flush=True)
    report["other_work"] = {}
    for section in chosen:
        others = OtherWork()
        report["tables"][section] = sections[section]()
        report["other_work"][section] = round(others.share(), 3)
        print(f"\n## {section}\n\n{table(report['tables'][section])}", flush=True)
        if report["other_work"][section] > BUSY:
            print(f"the machine was busy: other programs took {report['other_work'][section]:.0%} of its processors meanwhile", flush=True)
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)
        if section == "phases" and options.picture:
            with open(options.picture, "w") as file:
                file.write(picture(report["tables"][section]))
    print(f"\nwritten to {options.json}")


if __name__ == "__main__":
    main()
