"""Planted faults for `levin profile`: is each named first, and is the promised gain the gain after the change?

Usage: faults.py PROFILE_FAULTS [--only NAME...] [--clean] [--pairs N]

PROFILE_FAULTS is the program of tests/program/profile (faults_program.cpp). For each fault it profiles a config, takes the
first advice (or trap) as what is named, changes the config as the advice says (or, where no option does it, as `fixed`
says), and measures the gain of that with `compare`, which knows nothing of the profile. It prints a table in Markdown.
With --clean it profiles configs without a fault, for which there must be no advice.
"""

import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def merged(base, over):
    result = copy.deepcopy(base)
    for key, value in over.items():
        result[key] = merged(result[key], value) if isinstance(value, dict) and isinstance(result.get(key), dict) else value
    return result


BASE = {
    "seed": 1,
    "trainer": {"accelerator": "cpu", "num_threads": 1, "enable_progress_bar": False, "logger": False,
                "enable_checkpointing": False},
    "model": {"class": "Net"},
    "data": {"class": "Data"},
}


class Fault:
    def __init__(self, name, expected, trainer=None, model=None, data=None, fixed=None):
        self.name, self.expected, self.fixed = name, expected, fixed
        self.config = merged(BASE, {"trainer": trainer or {}, "model": model or {}, "data": data or {}})


LOGS = {"logger": True, "enable_checkpointing": None}
PARTS = {"class": "HookData"}
WIDE = {"width": 256, "layers": 3}
ALL_CORES = {"num_threads": None}
RANKS = {"strategy": "ddp", "devices": 2}

FAULTS = [
    Fault("loader that waits", r"data\.num_workers 0 -> ", model={"sleep": 4}, data={"sleep": 0.5, "batch_size": 32}),
    Fault("too few workers", r"data\.num_workers 1 -> ", model={"sleep": 4},
          data={"sleep": 1, "batch_size": 32, "num_workers": 1}),
    Fault("decoding without a cache", r"data\.(cache false -> true|num_workers 0)", model={"sleep": 4},
          data={"decode": 0.3, "batch_size": 32}),
    Fault("transforms on the training thread", "batch hooks", model={"sleep": 4}, data={**PARTS, "hook_sleep": 12},
          fixed={"data": {"hook_sleep": 0}}),
    Fault("loaders made anew in each epoch", "reload_dataloaders_every_n_epochs",
          trainer={"reload_dataloaders_every_n_epochs": 1}, model={"sleep": 4},
          data={"samples": 256, "loader_sleep": 40}),
    Fault("values read on the host in the step", r"reads values on the host.*faulty_parts\.cpp:\d+, faults::Net::training_step",
          model={"items": 8000, "sleep": 4}, fixed={"model": {"items": 0}}),
    Fault("values read on the host in a callback", "SlowCallback",
          trainer={"callbacks": [{"class": "SlowCallback", "items": 8000}]}, model={"sleep": 4}, fixed={"trainer": {"callbacks": []}}),
    Fault("the batch copied in the step", r"copies the batch.*faulty_parts\.cpp:\d+, faults::Net::training_step",
          model={"copies": 16, "sleep": 4}, data={"shape": [4096]}, fixed={"model": {"copies": 0}}),
    Fault("double precision in the step", "double precision.*training_step", model={"doubles": 40, "sleep": 4},
          fixed={"model": {"in_float32": True}}),
    Fault("graphs kept from step to step", "memory grows", model={"keep_losses": True, **WIDE}, data={"shape": [256]},
          fixed={"model": {"keep_losses": False, "keep_detached": True}}),
    Fault("too few threads", r"trainer\.num_threads 1 -> ", model={"width": 1024, "layers": 4},
          data={"shape": [1024], "batch_size": 256, "samples": 20000}),
    Fault("too many threads", r"trainer\.num_threads 32 -> ", trainer={"num_threads": 32}, model=WIDE,
          data={"shape": [256]}),
    Fault("logging at each step", "logging|logger SlowLogger",
          trainer={"log_every_n_steps": 1, "logger": [{"class": "SlowLogger", "sleep": 8}]}, model={"sleep": 4},
          fixed={"trainer": {"logger": False}}),
    Fault("gradient norms of each layer", "callback GradNormMonitor",
          trainer={"callbacks": [{"class": "GradNormMonitor", "per_layer": True}], "logger": True},
          model={"small_parameters": 400}, fixed={"trainer": {"callbacks": []}}),
    Fault("slow callback", "callback SlowCallback", trainer={"callbacks": [{"class": "SlowCallback", "sleep": 8}]},
          model={"sleep": 4}, fixed={"trainer": {"callbacks": []}}),
    Fault("tiny batches", r"data\.batch_size 2 -> ", model={"sleep": 6}, data={"batch_size": 2}),
    Fault("a checkpoint at each step", "checkpoints",
          trainer={"enable_checkpointing": True, "callbacks": [{"class": "ModelCheckpoint", "every_n_train_steps": 1}]},
          model={"width": 512, "layers": 4}, data={"shape": [512], "batch_size": 8}),
    Fault("validation too often", "validation", trainer={"val_check_interval": 2}, model={"sleep": 4, "val_sleep": 8},
          data={"val_samples": 256}),
    Fault("denormal numbers", "flush_denormal", model={"denormals": 30}),
    Fault("inputs that are not contiguous", "non-contiguous inputs", trainer=ALL_CORES,
          model={"width": 64, "layout_reads": 20},
          data={**PARTS, "shape": [512, 128], "transposed": True, "batch_size": 8, "samples": 1024},
          fixed={"data": {"transposed": False}}),
    Fault("convolutions without channels_last", "channels_last", trainer=ALL_CORES, model={"channels": 32, "layers": 3},
          data={"shape": [3, 32, 32], "batch_size": 32}),
    Fault("slow optimizer", "the optimizer", model={"small_parameters": 600, "torch_optimizer": True, "sleep": 4},
          fixed={"model": {"torch_optimizer": False}}),
    Fault("anomaly detection", "detect_anomaly", trainer={"detect_anomaly": True},
          model={"chain": 6}),
    Fault("deterministic algorithms", "deterministic", trainer={"deterministic": True, **ALL_CORES}, model={"scratch": 60}),
    Fault("64-bit arithmetic", r"precision \"64-true\" -> ", trainer={"precision": "64-true", **ALL_CORES},
          model={"width": 1024, "layers": 3}, data={"shape": [1024], "batch_size": 128, "samples": 20000}),
    Fault("reductions after each batch (ddp)", r"trainer\.(accumulate_grad_batches|strategy\.gradient_compression)", trainer=RANKS,
          model={"layers": 2, "optimizer_sleep": 1e-6}, data={"class": "FixedData"}),
    Fault("small buckets (ddp)", "bucket_cap_mb", trainer={**RANKS, "strategy": {"class": "ddp", "bucket_cap_mb": 0.001}},
          model={"width": 64, "layers": 100}, data={"batch_size": 4}),
]


def fastest_precision():
    """Few processors compute in 16 bit; the others take many times as long as in 32."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return "bf16-mixed" if re.search(r"\b(amx_bf16|avx512_bf16)\b", flags) else "32-true"


def clean_configs():
    image = {"shape": [3, 32, 32], "batch_size": 128, "samples": 8192}
    big = {"shape": [512], "batch_size": 512, "samples": 8192}
    mlp = {"width": 512, "layers": 3}
    layout = {"memory_format": "channels_last"}
    options = [
        ("MLP", {}, mlp, big),
        ("MLP with workers", {}, mlp, {**big, "num_workers": 2}),
        ("MLP with logs and checkpoints", LOGS, mlp, big),
        ("MLP with validation", LOGS, mlp, {**big, "val_samples": 512}),
        ("MLP that accumulates", {"accumulate_grad_batches": 4}, mlp, big),
        ("MLP with EarlyStopping and a monitor", {**LOGS, "callbacks": ["LearningRateMonitor", "Timer"]},
         mlp, big),
        ("MLP with clipping", {"gradient_clip_val": 1.0}, mlp, big),
        ("convolutions", layout, {"channels": 16, "layers": 3}, image),
        ("convolutions with workers", layout, {"channels": 16, "layers": 3}, {**image, "num_workers": 2}),
        ("steps that wait for another machine", {}, {"sample_sleep": 0.2}, {}),
    ]
    return [(name, merged(BASE, {"trainer": {"precision": fastest_precision(), "num_threads": None, **trainer}, "model": model, "data": data}))
            for name, trainer, model, data in options]


def set_path(config, path, value):
    keys = re.findall(r"[^.\[\]]+", path)
    place = config
    for key in keys[:-1]:
        place = place[int(key)] if isinstance(place, list) else place.setdefault(key, {})
    last = keys[-1]
    if isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value


class Bench:
    def __init__(self, program, folder, pairs):
        self.program, self.folder, self.pairs = program, pathlib.Path(folder), pairs

    def write(self, name, config):
        config = copy.deepcopy(config)
        config["trainer"]["default_root_dir"] = str(self.folder)
        path = self.folder / name
        path.write_text(json.dumps(config))
        return path

    def run(self, *words, timeout=1500):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=timeout)

    def profile(self, config):
        done = self.run("profile", "--config", self.write("run.json", config), "--json", "--max-pairs", self.pairs)
        if done.returncode != 0:
            raise SystemExit(f"profile ended with {done.returncode}: {done.stderr}")
        report = json.loads(done.stdout[done.stdout.index("{"):])
        left = [path.name for path in self.folder.iterdir() if path.name not in ("run.json", "fixed.json")]
        assert not left, f"profile left {left}"
        return report

    def gain(self, config, fixed, batches, is_of_threads):
        done = self.run("compare", self.write("run.json", config), self.write("fixed.json", fixed), batches, 7)
        for path in self.folder.iterdir():
            if path.is_dir():
                subprocess.run(["rm", "-r", str(path)], check=True)
        clock, own = map(float, done.stdout.strip().splitlines()[-1].split())
        return clock if is_of_threads else own


def named_first(report):
    """Advice that leaves learning as it is, traps in the code, and the rest, each with the gain."""
    found = [(advice["change"] if advice["changes"] else f"{advice['cause']}: {advice['change']}", advice["gain"], advice)
             for advice in report["advice"] if advice["effect"] != "learning"]
    traps = [(f"{trap['name']}{' at ' + trap['where'] if trap['where'] else ''}", trap["gain"], None) for trap in report["traps"]]
    found = sorted(found + [trap for trap in traps if trap[1] > 1],
                   key=lambda one: (one[2] is not None and one[2]["is_limit"], -one[1]))
    found += [trap for trap in traps if trap[1] == 1]
    found += [(advice["change"], advice["gain"], advice) for advice in report["advice"] if advice["effect"] == "learning"]
    return found


def check_faults(bench, faults):
    print("| fault | named first | promised | after the change | |")
    print("|---|---|---|---|---|")
    named = close = 0
    for fault in faults:
        report = bench.profile(fault.config)
        found = named_first(report)
        text, promised, advice = found[0] if found else ("nothing", 1, None)
        cause = advice["cause"] + ": " if advice else ""
        is_named = re.search(fault.expected, cause + text) is not None
        fixed = copy.deepcopy(fault.config)
        if advice and advice["changes"]:
            for change in advice["changes"]:
                set_path(fixed, change["path"], change["after"])
        elif fault.fixed:
            fixed = merged(fixed, fault.fixed)
        is_of_threads = re.search("num_workers|num_threads|cache|prefetch", text) is not None
        after = bench.gain(fault.config, fixed, report["steps"], is_of_threads) if is_named else float("nan")
        is_close = abs(promised / after - 1) <= 0.15
        named += is_named
        close += is_close
        print(f"| {fault.name} | {text if len(text) < 110 else text[:107] + '...'} | {promised:.2f} | {after:.2f} | "
              f"{'named' if is_named else 'NOT NAMED'}{', within 15 %' if is_close else ''} |", flush=True)
        if not is_named:
            print(json.dumps({"found": [(one[0], one[1]) for one in found], "without": report["without_gain"],
                              "failed": report["failed"]}), file=sys.stderr, flush=True)
    print(f"\n{named} of {len(faults)} named first; {close} within 15 % of the gain after the change")


def check_clean(bench, only):
    print("| config | advice |")
    print("|---|---|")
    for name, config in clean_configs():
        if only and name not in only:
            continue
        report = bench.profile(config)
        found = [f"{text} ({gain:.2f})" for text, gain, _ in named_first(report)]
        print(f"| {name} | {'; '.join(found) or 'none'} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--clean", action="store_true")
    parser.add_argument("--pairs", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given.program, folder, given.pairs)
        if given.clean:
            check_clean(bench, given.only)
        else:
            check_faults(bench, [fault for fault in FAULTS if not given.only or fault.name in given.only])


if __name__ == "__main__":
    main()
