"""Runs of a case, and what must hold between them.

Each relation runs the case's config in one or more ways and returns the differences as sentences; none means that it holds.
"""

import copy
import json
import math
import os
import random
import re
import select
import signal
import subprocess
from pathlib import Path

import torch

from draw import LOOKERS, MODES, RANKS, STARTS
from schema import BEYOND, NEEDED

SAMPLES, VAL_SAMPLES, EPOCHS = 24, 13, 3
# Values of times and machines.
_OF_THE_MACHINE = re.compile(r"wall_seconds|throughput|[dD]evice|_per_sec|time|flops|memory|cpu_|mfu|(train|validate)[/.](batches|samples)")
# Of a checkpoint: times, the session and its files, what the rows of metrics show.
_OF_THE_SESSION = {"elapsed_seconds", "validated_seconds", "saved_at", "config", "loggers", "run", "logged", "time_elapsed",
                   "last_saved_seconds", "save"}


class Refused(Exception):
    pass


class Ended(Exception):
    """A run of 16 bit, or of ascending steps, reached NaN, and a part that looks for it ended the run."""


# What such a part says.
_ENDED = ("SpikeDetection: the loss of batch", "TerminateOnNaN: the loss was", "TerminateOnNaN: the gradient of", "returned nan values")


def config_of(case, folder):
    """The config of a case."""
    value = {slot: json.loads(item.value) for slot, item in case.items()}
    trainer = {"max_epochs": EPOCHS, "accelerator": "cpu", "num_threads": 1, "log_every_n_steps": 1, "name": "run",
               "enable_progress_bar": False, "enable_model_summary": False, "precision": value["precision"],
               "timeout_seconds": 60}
    if value["strategy"] != "one":
        options = {slot.split(".")[2]: v for slot, v in value.items() if slot.startswith("strategy.")}
        trainer.update(strategy={"class": value["strategy"], **options}, devices=2)
    model = {"class": "OddLearner", "steps": value.get("steps", "automatic"), "parts": sorted(v for s, v in value.items() if s.startswith("part.")),
             "rate_of_head": value.get("rate_of_head", 0)}
    if model["steps"] == "adversarial":
        model["rate_of_head"] = 0
    if value["strategy"] == "dp" and "dropout" in model["parts"] and not value.get("trainer.benchmark"):
        trainer["deterministic"] = True  # else replicas draw from one generator as they come
    if value["strategy"] in RANKS and (model["steps"] == "adversarial" or {"unused", "empty", "in_turn"} & set(model["parts"])):
        trainer["strategy"]["find_unused_parameters"] = True
    data = {"class": "OddData", "kind": value["data.kind"], "samples": SAMPLES, "val_samples": VAL_SAMPLES, "batch_size": 4}
    callbacks = {}

    def options_of(slot, name):
        chosen = copy.deepcopy(NEEDED.get(f"{slot}.{name}", {}))
        chosen.update({s.split(".")[2]: v for s, v in value.items()
                       if s.startswith(f"{slot}.{name}.") and not s.endswith(".again")})
        return {"class": name, **chosen}

    for slot in ("optimizer", "lr_scheduler"):
        if slot in value:
            model[slot] = options_of(slot, value[slot])
    if model.get("optimizer") is None:
        model["optimizer"] = {"class": "SGD", "lr": 0.1}
    for slot in value:
        parts = slot.split(".")
        if parts[0] == "callback" and len(parts) == 2:
            callbacks[parts[1]] = [options_of("callback", parts[1])]
        if parts[0] == "trainer":
            trainer[parts[1]] = value[slot]
        if parts[0] == "data" and slot != "data.kind":
            data[parts[1]] = value[slot]
    for slot in value:
        if slot.endswith(".again"):
            name = slot.split(".")[1]
            # The second of two has default options beside those that its class needs.
            callbacks[name].append({"class": name, **NEEDED.get(f"callback.{name}", {})})
    if "trainer.min_epochs" in value and "trainer.max_epochs" not in value:
        trainer["max_epochs"] = trainer["min_epochs"] + 2  # a minimum has a meaning below the end alone
    trainer["callbacks"] = [one for name in callbacks for one in callbacks[name]]
    return {"seed": 5, "model": model, "data": data, "trainer": trainer}


def has_ranks(config):
    return config["trainer"].get("strategy", {}).get("class") in RANKS


class Program:
    """The program: commands run as forks of one process that has the libraries loaded, or, with several ranks, as processes."""

    def __init__(self, path):
        self.path, self.forks, self.can_fork = path, None, True
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}

    def run(self, words, folder, alone, timeout=300):
        """Returns the exit code and the output."""
        if not alone and self.forks is None and self.can_fork:
            self._start_forks()
        if not alone and self.can_fork:
            self.forks.stdin.write(json.dumps({"folder": str(folder), "output": str(folder / "output"),
                                               "words": [self.path, *words]}) + "\n")
            self.forks.stdin.flush()
            if not select.select([self.forks.stdout], [], [], timeout)[0]:
                self.forks.kill()
                self.forks = None
                raise subprocess.TimeoutExpired(words, timeout)
            return int(self.forks.stdout.readline()), (folder / "output").read_text(errors="replace")
        done = subprocess.run([self.path, *words], cwd=folder, capture_output=True, text=True, errors="replace", timeout=timeout,
                              env=self.environment)
        return done.returncode, done.stdout + done.stderr

    def _start_forks(self):
        self.forks = subprocess.Popen([self.path, "forks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                      env=self.environment)
        self.can_fork = self.forks.stdout.readline() == "ready\n"


class Runs:
    """The runs of one case, each in a folder of its own."""

    def __init__(self, program, folder, dice):
        self.program, self.folder, self.dice = program, Path(folder), dice
        self.commands = []

    def start(self, name, config, words=("fit",), more=()):
        """Runs a command with a config, in the folder `name`; returns the exit code and the output."""
        where = self.folder / name
        where.mkdir(parents=True, exist_ok=True)
        file = where / f"{len(self.commands)}.json"
        file.write_text(json.dumps(config, indent=1))
        by_flag = words[0] in ("fit", "config")
        command = [*words, *(["--config"] if by_flag else []), str(file), *more]
        self.commands.append(" ".join([self.program.path, *command]))
        return self.program.run(command, where, alone=has_ranks(config))

    def fit(self, name, config, words=("fit",), more=()):
        """The same for a run that must end well; throws Refused for exit code 2."""
        code, output = self.start(name, config, words, more)
        if code == 2:
            raise Refused(output)
        if code != 0 and any(text in output for text in _ENDED):
            raise Ended
        if code != 0:
            raise AssertionError(f"{name}: exit code {code}: {tail(output)}")
        return output

    def run_folder(self, name, run="run"):
        folder = self.folder / name / run
        if not folder.exists():  # neither loggers nor checkpoints
            raise Ended
        ended = [f for f in sorted(folder.iterdir()) if (f / "weights.pt").exists()]
        if not ended:
            raise AssertionError(f"{name}: no run has written weights.pt")
        return ended[-1]

    def weights(self, name, run="run"):
        return torch.load(self.run_folder(name, run) / "weights.pt", weights_only=False)

    def rows(self, name):
        rows = []
        for line in (self.run_folder(name) / "metrics.jsonl").read_text().splitlines():
            row = {k: v for k, v in json.loads(line).items() if not _OF_THE_MACHINE.search(k)}
            rows.append(row)
        return rows

    def checkpoint(self, file):
        return torch.load(file, weights_only=False)


def tail(output):
    lines = [line for line in output.splitlines() if line.strip()]
    return " | ".join(lines[-4:])[:900]


# ---- comparisons ----

def difference(a, b, tolerance=0.0, path=""):
    """The first difference between two trees as a path of keys; empty if there is none."""
    if torch.is_tensor(a) and torch.is_tensor(b):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{path}: {a.dtype} {tuple(a.shape)}, {b.dtype} {tuple(b.shape)}"
        if tolerance == 0 or not (a.is_floating_point() or a.is_complex()):
            same = torch.equal(a, b) or bool(torch.equal(torch.isnan(a), torch.isnan(b)) and torch.equal(
                torch.nan_to_num(a), torch.nan_to_num(b)))
            return "" if same else f"{path}: differs by {largest(a, b):.3g}"
        return "" if largest(a, b) <= tolerance else f"{path}: differs by {largest(a, b):.3g}"
    if isinstance(a, dict) and isinstance(b, dict):
        for k in a:
            if k in _OF_THE_SESSION or str(k).startswith(("ModelCheckpoint", "DieAt", "Timer")):
                continue
            if k not in b:
                return f"{path}/{k}: missing"
            if found := difference(a[k], b[k], tolerance, f"{path}/{k}"):
                return found
        more = [k for k in b if k not in a and not str(k).startswith(("ModelCheckpoint", "DieAt", "Timer"))]
        return f"{path}/{more[0]}: only in the second" if more else ""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"{path}: {len(a)} and {len(b)} entries"
        return next((f for i, (x, y) in enumerate(zip(a, b)) if (f := difference(x, y, tolerance, f"{path}/{i}"))), "")
    if isinstance(a, float) and isinstance(b, float):
        close = a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * max(1, abs(a))
        return "" if close else f"{path}: {a} and {b}"
    return "" if a == b else f"{path}: {str(a)[:80]} and {str(b)[:80]}"


def largest(a, b):
    a, b = a.detach().to(torch.complex128), b.detach().to(torch.complex128)
    return (a - b).abs().max().item() if a.numel() else 0.0


def compare(runs, one, other, tolerance=0.0, rows=True):
    """The differences between the ends of two runs."""
    found = []
    if d := difference(runs.weights(one), runs.weights(other), tolerance):
        found.append(f"weights of {one} and {other}: {d}")
    if rows and has_rows(runs, one) and has_rows(runs, other):
        a, b = runs.rows(one), runs.rows(other)
        if d := difference(a, b, tolerance and 1e-6):
            found.append(f"rows of {one} and {other}: {d}")
    return found


def has_rows(runs, name):
    return (runs.run_folder(name) / "metrics.jsonl").exists()


# ---- what holds in every run ----

def check_run(runs, name, config):
    """The differences between what a run has written and what it says."""
    found = []
    folder = runs.run_folder(name)
    summary = json.loads((folder / "summary.json").read_text())
    best = summary.get("best_checkpoint")
    if best and not Path(best).exists():
        found.append(f"{name}: best_checkpoint {Path(best).name} of summary.json is missing")
    limit = config["trainer"].get("max_epochs", EPOCHS)
    if summary["epochs"] > limit >= 0:
        found.append(f"{name}: {summary['epochs']} epochs, at most {limit} were asked for")
    weights = runs.weights(name)
    for key, value in weights.items():
        if key.endswith(("count", "num_batches_tracked")) and value.dtype != torch.int64:
            found.append(f"{name}: the integer buffer {key} has become {value.dtype}")
        if key.endswith("mask") and value.dtype != torch.bool:
            found.append(f"{name}: the bool buffer {key} has become {value.dtype}")
    found += check_checkpoints(runs, name, folder)
    found += check_early_stopping(runs, name, config, summary)
    return found


def saved_states(runs, folder):
    """Each checkpoint of a run that is one file."""
    for file in sorted(folder.rglob("*.ckpt")):
        if file.is_file() and not file.is_symlink():
            yield file, runs.checkpoint(file)


def check_checkpoints(runs, name, folder):
    """Every file that a newest ModelCheckpoint's state names is there, and the best one holds its best score."""
    found, states = [], dict(saved_states(runs, folder))
    newest = max(states, key=lambda file: file.stat().st_mtime_ns, default=None)
    if newest is None or "callbacks" not in states[newest]:  # weights alone: what they replaced is not in any state
        return found
    for key, state in states[newest]["callbacks"].items():
        if not str(key).startswith("ModelCheckpoint"):
            continue
        for what in ("best_model_path", "kth_best_model_path", "last_model_path"):
            if state.get(what) and not Path(state[what]).exists():
                found.append(f"{name}: {what} {Path(state[what]).name} of {key} is missing")
        for path in state.get("best_k_models", {}):
            if not Path(path).exists():
                found.append(f"{name}: {Path(path).name} of best_k_models is missing")
        path, score = state.get("best_model_path"), state.get("best_model_score")
        if path and score is not None and Path(path).is_file():
            own = runs.checkpoint(path).get("callbacks", {}).get(key)
            if own and own.get("current_score") is not None and not torch.equal(
                    torch.as_tensor(own["current_score"]), torch.as_tensor(score)):
                found.append(f"{name}: {Path(path).name} holds the score {float(own['current_score'])}, the best is {float(score)}")
    return found


def check_early_stopping(runs, name, config, summary):
    """A run that EarlyStopping may have ended early ends with a bad verdict."""
    stops = [c for c in config["trainer"]["callbacks"] if c["class"] == "EarlyStopping"]
    others = {c["class"] for c in config["trainer"]["callbacks"]} & {"SpikeDetection", "Timer", "TerminateOnNaN"}
    trainer = config["trainer"]
    plain = not any(k in trainer for k in ("val_check_interval", "max_steps", "min_steps", "check_val_every_n_epoch",
                                           "limit_val_batches", "overfit_batches", "num_sanity_val_steps"))
    simple = len(stops) == 1 and not set(stops[0]) - {"class", "monitor", "patience", "min_delta", "mode"}
    if not simple or others or not plain or not has_rows(runs, name) or stops[0]["monitor"] == "train_loss":
        return []
    monitor = stops[0]["monitor"]
    values = [row[monitor] for row in runs.rows(name) if isinstance(row.get(monitor), (int, float))]
    limit, least = trainer.get("max_epochs", EPOCHS), trainer.get("min_epochs", 0)
    if len(values) != summary["epochs"] or any(math.isnan(v) for v in values):
        return []
    sign = 1 if stops[0].get("mode", "min") == "min" else -1
    best, waited, expected = math.inf, 0, limit
    for epoch, value in enumerate(values, 1):
        if sign * value < best - stops[0].get("min_delta", 0):
            best, waited = sign * value, 0
            continue
        waited += 1
        if waited >= stops[0].get("patience", 3) and epoch >= least:
            expected = epoch
            break
    if summary["epochs"] != min(expected, limit):
        return [f"{name}: EarlyStopping ended it after {summary['epochs']} epochs; its values {values} say {expected}"]
    return []


# ---- relations ----

def resume(runs, config):
    """A run that is killed and resumed ends as the unbroken one."""
    config = copy.deepcopy(config)
    trainer = config["trainer"]
    if trainer.get("enable_checkpointing") is False:
        return []
    if config["model"].get("lr_scheduler", {}).get("class") == "ReduceLROnPlateau":
        trainer.pop("resume_optimizer_options", None)  # with "present" it starts from the beginning, as documented
    every = runs.dice.randint(1, 3)
    trainer["callbacks"] += [
        {"class": "ModelCheckpoint", "filename": "resume-{step}", "every_n_train_steps": every, "save_last": True},
        {"class": "DieAt", "count_file": "events"}]
    runs.fit("unbroken", config)
    found = check_run(runs, "unbroken", config)
    events = int((runs.folder / "unbroken" / "events").read_text())
    for _ in range(runs.dice.randint(1, 2)):
        dying = copy.deepcopy(config)
        rank = runs.dice.randint(0, 1) if has_ranks(config) else 0
        event = runs.dice.randint(1, events)
        dying["trainer"]["callbacks"][-1] = {"class": "DieAt", "event": event, "rank": rank}
        code, output = runs.start("resumed", dying, more=("--ckpt-path", "last"))
        if code == 0:
            break
        if code not in (137, -signal.SIGKILL, 1):
            return found + [f"killed at event {event}: exit code {code}: {tail(output)}"]
    else:
        code, output = runs.start("resumed", config, more=("--ckpt-path", "last"))
        if code != 0:
            return found + [f"resumed after event {event}: exit code {code}: {tail(output)}"]
    found += check_run(runs, "resumed", config)
    found += compare(runs, "unbroken", "resumed")
    last = Path("checkpoints") / "last.ckpt"
    files = [runs.run_folder(name) / last for name in ("unbroken", "resumed")]
    # A killed run may not have linked its newest checkpoint as last.ckpt, which the resumed one then saves at its end.
    if not found and all(f.is_file() for f in files) and files[0].stat().st_nlink == files[1].stat().st_nlink:
        if d := difference(*(runs.checkpoint(f) for f in files)):
            found.append(f"last.ckpt of unbroken and resumed: {d}")
    return found


# What only several ranks have.
_OF_RANKS = ("strategy", "devices", "mesh", "keep_global_batch")


def ranks(runs, config):
    """Two ranks end as one process with the batches of both."""
    one, two = copy.deepcopy(config), copy.deepcopy(config)
    for option in _OF_RANKS:
        one["trainer"].pop(option, None)
    tensor = config["trainer"].get("mesh", {}).get("tensor", 1)
    two["data"]["batch_size"] = 2
    one["data"]["batch_size"] = 4 if tensor == 1 else 2
    runs.fit("ranks", two)
    runs.fit("one", one)
    return check_run(runs, "ranks", two) + compare(runs, "one", "ranks", tolerance=1e-9)


def session(runs, config):
    """Steps of a session end as the fit."""
    config = copy.deepcopy(config)
    config["trainer"]["num_sanity_val_steps"] = 0
    runs.fit("fit", config)
    runs.fit("session", config, words=("session",))
    return check_run(runs, "fit", config) + compare(runs, "fit", "session")


def host(runs, config):
    """Steps on a loss that the host computes end as the fit."""
    config = copy.deepcopy(config)
    config["trainer"]["num_sanity_val_steps"] = 0
    if any(c.get("monitor") == "train_loss" for c in config["trainer"]["callbacks"]) or "integer" in config["model"]["parts"]:
        return []
    runs.fit("fit", config)
    runs.fit("host", config, words=("host",))
    return compare(runs, "fit", "host", rows=False)


_HOOKS = ("on_train_epoch_start", "on_train_batch_start", "on_before_backward", "on_after_backward", "on_before_optimizer_step",
          "on_train_batch_end", "on_validation_start", "on_validation_batch_start", "on_validation_batch_end", "on_validation_end",
          "on_train_epoch_end", "on_save_checkpoint")


def again(runs, config):
    """After an exception in a hook, a second fit of the module is that of a new module with its weights."""
    config = copy.deepcopy(config)
    hook = runs.dice.choice(_HOOKS)
    config["trainer"]["callbacks"].append({"class": "ThrowAt", "hook": hook, "call": runs.dice.randint(1, 3)})
    code, output = runs.start("again", config, words=("again",))
    if code == 2:
        raise Refused(output)
    if code in (1, 3) and any(text in output for text in _ENDED):  # of the second fit, or the first
        raise Ended
    return [] if code == 0 else [f"an exception in {hook}: exit code {code}: {tail(output)}"]


def never(runs, config):
    """A callback whose beginning never comes changes nothing."""
    without, with_it = copy.deepcopy(config), copy.deepcopy(config)
    name = runs.dice.choice(sorted(STARTS))
    for one in (without, with_it):
        one["trainer"]["callbacks"] = [c for c in one["trainer"]["callbacks"] if c["class"] not in STARTS]
    with_it["trainer"]["callbacks"].append(
        {"class": name, **NEEDED.get(f"callback.{name}", {}), **dict.fromkeys(runs.dice.choice(STARTS[name]), BEYOND)})
    runs.fit("without", without)
    runs.fit("never", with_it)
    found = check_run(runs, "never", with_it) + compare(runs, "without", "never")
    return [f"{name} that never begins: {sentence}" for sentence in found]


def manual(runs, config):
    """A module that does the steps itself trains as the automatic steps do."""
    by_hand, automatic = copy.deepcopy(config), copy.deepcopy(config)
    automatic["model"]["steps"], by_hand["model"]["steps"] = "automatic", "manual"
    runs.fit("automatic", automatic)
    runs.fit("manual", by_hand)
    return check_run(runs, "manual", by_hand) + compare(runs, "automatic", "manual")


def pairs(runs, config):
    """Complex parameters train as pairs of real ones."""
    as_complex, as_pairs = copy.deepcopy(config), copy.deepcopy(config)
    others = [p for p in config["model"]["parts"] if p != "complex"]
    as_complex["model"]["parts"], as_pairs["model"]["parts"] = others + ["complex"], others + ["complex_as_pairs"]
    runs.fit("complex", as_complex)
    runs.fit("pairs", as_pairs)
    one, other = runs.weights("complex"), runs.weights("pairs")
    one["turn"] = torch.view_as_real(one["turn"])
    d = difference(one, other, 1e-4)
    return [f"weights of complex and pairs: {d}"] if d else []


# Callbacks that write weights: of two, the second sees what the first has written.
_WRITERS = ("EMAWeightAveraging", "StochasticWeightAveraging", "ModelPruning")


def neutral(runs, config):
    """What only looks on, or says what is so anyway, changes no weight."""
    changed = copy.deepcopy(config)
    trainer, dice = changed["trainer"], runs.dice
    kinds = ["looker", "logger", "profiler", "order", "loud", "default", "folder"]
    if len([c for c in trainer["callbacks"] if c["class"] in _WRITERS]) > 1:
        kinds.remove("order")
    if trainer.get("quiet"):
        kinds.remove("loud")
    kind = dice.choice(kinds)
    if kind == "looker":
        name = dice.choice(LOOKERS)
        trainer["callbacks"].append({"class": name, **NEEDED.get(f"callback.{name}", {})})
    elif kind == "logger":
        trainer["logger"] = dice.choice(["CSVLogger", ["TensorBoardLogger", "JSONLinesLogger"], False])
    elif kind == "profiler":
        trainer["profiler"] = dice.choice(["simple", "advanced", "trace", "memory"])
    elif kind == "order":
        trainer["callbacks"].reverse()
    elif kind == "loud":
        trainer.update(enable_progress_bar=True, enable_model_summary=True)
    elif kind == "default":
        trainer.update(inference_mode=trainer.get("inference_mode", True), benchmark=trainer.get("benchmark", False),
                       detect_anomaly=trainer.get("detect_anomaly", False), max_steps=trainer.get("max_steps", -1))
    else:
        trainer["default_root_dir"] = "elsewhere"
    runs.fit("plain", config)
    runs.fit("changed", changed)
    if kind == "folder":
        (runs.folder / "changed" / "elsewhere" / "run").rename(runs.folder / "changed" / "run")
    d = difference(runs.weights("plain"), runs.weights("changed"))
    return check_run(runs, "plain", config) + ([f"{kind} changes the weights: {d}"] if d else [])


RELATION = {"resume": resume, "ranks": ranks, "session": session, "host": host, "again": again, "never": never, "manual": manual,
            "pairs": pairs, "neutral": neutral}


def reason(output):
    """The sentence of a refusal."""
    lines = output.strip().splitlines()
    for i, line in enumerate(lines):
        if line.startswith(("error:", "levin: error")) and line.endswith("mistakes:"):
            return lines[i + 1].strip()
    errors = [line for line in lines if line.startswith(("error:", "levin: error")) and "did not come" not in line]
    return (errors or lines or [""])[-1]


def option_in(text, case):
    """The slot that a refusal names most exactly; of none, the last one."""
    words = set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", text))

    def exactness(slot):
        parts = slot.split(".")
        of_class = parts[1] if len(parts) > 1 and parts[0] != "trainer" else str(json.loads(case[slot].value))
        if parts[-1] in words and (of_class in words or f"trainer.{parts[-1]}" in text):
            return 3
        return 2 if of_class in words else parts[-1] in words

    return max([slot for slot in reversed(case) if slot not in MODES], key=exactness, default=None)


# What levin refuses in a run and cannot refuse in `config check`, by words of the message: why not.
ONLY_IN_A_RUN = {
    "manual optimization": "whether a module steps its optimizers itself is in its code",
    "configure_optimizers returned": "how many optimizers there are is in the module's code",
    "the module has no part": "what a module is made of is in its code",
    "complex parameters": "which parameters a module has is in its code",
    "has the strides": "which parameters a module has is in its code",
    "sparse gradients": "which gradients a module makes is in its code",
    "evaluates its closure more than once": "the number of batches in a window is a callback's, and changes",
    "static_graph: this step used": "which parameters a step uses is in the module's code",
    "frozen or unfrozen": "a callback unfreezes in an epoch that the run may not reach",
    "of which each tensor-parallel rank has a part": "callbacks of the module count too",
    "was logged": "what a module logs is in its code",
    "was called before with other": "what two callbacks log is known when they do",
    "needs a loader that knows its size": "the size of data is in the data",
    "needs a run of known length": "the number of steps is in the data",
    "would never come in an epoch": "the number of batches is in the data",
    "steps one parameter group": "a module or a callback may add a group",
    "is complex": "which parameters a module has is in its code",
    "needs a train loader that knows its size": "the size of data is in the data",
    "is beyond total_steps": "the number of steps is in the data",
    "has no length": "the number of steps is in the data",
    "cannot be split": "the sizes of combined batches are in the data",
    "Muon steps matrices": "which parameters a module has is in its code",
    "has no kernel": "which operations a module uses is in its code",
}


def words_of(message):
    """A message without who says it and the places in files, which differ from run to run."""
    return re.sub(r" ?\(/\S+\.json:\d+\)|/\S+\.json:\d+: ", "", message).removeprefix("levin: ").removeprefix("error: ")


def is_known_late(sentence):
    return any(words in sentence for words in ONLY_IN_A_RUN)


def tried(program, folder, case, number):
    """Tries a case; options that levin refuses are left out, one at a time.

    Returns the outcome, sentences about what differs, refusals, the config that was tried last, its commands, and what is left
    of the case.
    """
    case, refusals = dict(case), []
    relation = json.loads(case["relation"].value)
    for attempt in range(6):
        config = config_of(case, folder)
        runs = Runs(program, Path(folder) / str(attempt), random.Random(number))
        try:
            found = RELATION[relation](runs, config)
            return ("equal" if not found else "differs"), found, refusals, config, runs.commands, case
        except Ended:
            return "ended", [], refusals, config, runs.commands, case
        except AssertionError as error:
            return "differs", [str(error)], refusals, config, runs.commands, case
        except subprocess.TimeoutExpired:
            return "differs", ["it did not end in 300 s"], refusals, config, runs.commands, case
        except Refused as refused:
            text = str(refused)
            sentence = reason(text)
            code, checked = runs.start("check", config, words=("config", "check"))
            if code != 0 and words_of(sentence) not in words_of(checked):
                sentence = reason(checked)  # another mistake, which goes first: the next attempt asks for the run's
            refusals.append((sentence, code != 0))
            gone = option_in(sentence, case)
            if gone is None:
                break
            for slot in [s for s in case if s == gone or s.startswith(gone + ".") or case[s].group == gone or (
                    gone in ("optimizer", "lr_scheduler") and case[s].group.startswith(gone + "."))]:
                del case[slot]
    return "refused", [], refusals, config, runs.commands, case
