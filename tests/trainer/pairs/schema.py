"""The options of a program's config as items to draw: each is one value of one slot.

Values come from the schema that the program prints: the other choices, a number beside the default, the limits, and a number
beyond what a short run reaches. VALUES has those that no type tells. An option that gives no item fails the test by name,
unless SKIPPED says why nothing is drawn.
"""

import json
import subprocess
from typing import Any, NamedTuple


class Item(NamedTuple):
    slot: str  # a case has one item of a slot
    value: Any  # JSON text of a value; for a class, its name
    group: str = ""  # the slot of the class that the option belongs to; empty: a case needs nothing else for it
    coarse: bool = True  # pairs with all other items; else with the modes, and with the options of its class

    def __str__(self):
        return f"{self.slot}={self.value}"


# Those that a case has; their options belong to the mode.
STRATEGIES = ("dp", "ddp", "zero1", "fsdp")

# Numbers that a run of three epochs of six batches never reaches.
BEYOND = 1000

# Where types do not tell which values make sense. A list of values; of a class: by option.
VALUES = {
    "trainer.max_epochs": [1, 2, 5],
    "trainer.max_steps": [5],
    "trainer.min_epochs": [2, 4],
    "trainer.min_steps": [4],
    "trainer.max_time": ["00:01:00:00"],
    "trainer.val_check_interval": [2, 0.5],
    "trainer.limit_train_batches": [3, 0.5],
    "trainer.limit_val_batches": [1, 0, 0.5],
    "trainer.limit_test_batches": [1],
    "trainer.limit_predict_batches": [1],
    "trainer.overfit_batches": [2],
    "trainer.check_val_every_n_epoch": [2, None],
    "trainer.num_sanity_val_steps": [0, -1],
    "trainer.accumulate_grad_batches": [2, 4],
    "trainer.gradient_clip_val": [0.05],
    "trainer.logger": [False, ["TensorBoardLogger"]],
    "trainer.profiler": ["simple", "advanced", "trace", "memory"],
    "trainer.deterministic": [True, "warn"],
    "trainer.num_threads": [2],
    "trainer.wall_margin": [0],
    "trainer.mesh": [{"tensor": 2}, {"shard": 2}],
    "strategy.*.bucket_cap_mb": [0.001],
    "callback.GradientAccumulationScheduler.scheduling": [{"0": 1, "1": 2}, {"1": 4}],
    "callback.StochasticWeightAveraging.swa_lrs": [0.05, [0.03]],
    "callback.StochasticWeightAveraging.swa_epoch_start": [1, 0.5, BEYOND],
    "callback.StochasticWeightAveraging.annealing_epochs": [0, 1, 2],
    "callback.BackboneFinetuning.unfreeze_backbone_at_epoch": [0, 1, BEYOND],
    "callback.ModelCheckpoint.monitor": ["val_loss", "train_loss"],
    "callback.ModelCheckpoint.filename": ["{epoch}", "{step}-{val_loss:.2f}", "folder/{epoch}"],
    "callback.ModelCheckpoint.train_time_interval": ["00:00:00:01"],
    "callback.ModelCheckpoint.save_top_k": [0, 2, -1],
    "callback.ModelCheckpoint.every_n_train_steps": [2, 5],
    "callback.ModelCheckpoint.every_n_epochs": [0, 2],
    "callback.EarlyStopping.monitor": ["train_loss", "val_loss"],
    "callback.EarlyStopping.patience": [0, 2],
    "callback.EarlyStopping.min_delta": [0.5],
    "callback.EarlyStopping.stopping_threshold": [0.9],
    "callback.EarlyStopping.divergence_threshold": [0.5],
    "callback.ModelPruning.pruning_fn": ["random_unstructured", "ln_structured"],
    "callback.ModelPruning.parameters_to_prune": [["head.weight"]],
    "callback.ModelPruning.parameter_names": [["weight"]],
    "callback.ModelPruning.amount": [0, 0.2, 3],
    "callback.ModelPruning.pruning_dim": [0],
    "callback.ModelPruning.pruning_norm": [1, 2],
    "callback.ClassificationReport.class_names": [["a", "b", "c"]],
    "callback.SpikeDetection.rtol": [5],
    "callback.SpikeDetection.atol": [5],
    "callback.Timer.duration": ["00:01:00:00"],
    "callback.ThroughputMonitor.separator": ["."],
    "callback.LearningRateFinder.max_lr": [0.1],
    "callback.LearningRateFinder.min_lr": [1e-4],
    "lr_scheduler.MultiStepLR.milestones": [[2], [1, 3]],
    "lr_scheduler.MultiStepLR.gamma": [0.5, 0],
    "lr_scheduler.StepLR.gamma": [0.5, 0],
    "lr_scheduler.CyclicLR.max_momentum": [0.95],
    "lr_scheduler.CyclicLR.base_momentum": [0.7],
    "lr_scheduler.CyclicLR.step_size_up": [1, 3],
    "lr_scheduler.OneCycleLR.max_momentum": [0.99],
    "lr_scheduler.OneCycleLR.base_momentum": [0.7],
    "lr_scheduler.OneCycleLR.total_steps": [30],
    "lr_scheduler.WarmupCosine.total_steps": [30],
    "lr_scheduler.ReduceLROnPlateau.min_lr": [0.01, [0.02]],
    "lr_scheduler.ReduceLROnPlateau.patience": [0, 1],
    "lr_scheduler.ReduceLROnPlateau.cooldown": [1],
    "lr_scheduler.CosineAnnealingLR.eta_min": [0.01, 0.5],
    "lr_scheduler.CosineAnnealingWarmRestarts.eta_min": [0.01],
    "lr_scheduler.WarmupCosine.eta_min": [0.01],
    "lr_scheduler.SequentialLR.schedulers": [["LinearLR", {"class": "ExponentialLR", "gamma": 0.5}]],
    "lr_scheduler.SequentialLR.milestones": [[2]],
    "lr_scheduler.ChainedScheduler.schedulers": [[{"class": "LinearLR", "end_factor": 0}, {"class": "StepLR", "step_size": 1}]],
    "data.num_workers": [2],
    "data.prefetch_factor": [1],
    "data.seed": [1],
    "optimizer.*.betas": [[0.8, 0.95]],
    "optimizer.Rprop.etas": [[0.4, 1.3]],
    "optimizer.Rprop.step_sizes": [[1e-5, 1]],
    "optimizer.ASGD.t0": [3],
    "optimizer.Adafactor.d": [2],
    "lr_scheduler.OneCycleLR.final_div_factor": [10],
    "optimizer.LBFGS.max_iter": [2],
    "optimizer.Muon.ns_coefficients": [[3.0, -4.0, 1.5]],
    "optimizer.Muon.others": [{"lr": 0.01}],
    "optimizer.SGD.momentum": [0.9],
    "optimizer.SGD.weight_decay": [0.01],
}

# What a class needs to be valid at all.
NEEDED = {
    "callback.EarlyStopping": {"monitor": "val_wave", "patience": 1},
    "callback.StochasticWeightAveraging": {"swa_lrs": 0.05},
    "callback.GradientAccumulationScheduler": {"scheduling": {"0": 1, "1": 2}},
    "callback.ModelPruning": {"pruning_fn": "l1_unstructured"},
    "callback.BackboneFinetuning": {"unfreeze_backbone_at_epoch": 1},
    "callback.PredictionWriter": {"output_dir": "predictions"},
    "callback.Timer": {"duration": "00:01:00:00"},
    "lr_scheduler.StepLR": {"step_size": 1},
    "lr_scheduler.MultiStepLR": {"milestones": [2]},
    "lr_scheduler.ExponentialLR": {"gamma": 0.5},
    "lr_scheduler.CosineAnnealingLR": {"T_max": 4},
    "lr_scheduler.CosineAnnealingWarmRestarts": {"T_0": 2},
    "lr_scheduler.CyclicLR": {"base_lr": 0.01, "max_lr": 0.1, "cycle_momentum": False, "step_size_up": 3},
    "lr_scheduler.OneCycleLR": {"max_lr": 0.1, "cycle_momentum": False},
    "lr_scheduler.SWALR": {"swa_lr": 0.02},
    "lr_scheduler.WarmupCosine": {"warmup_steps": 2},
    "lr_scheduler.SequentialLR": {"schedulers": ["LinearLR", {"class": "ExponentialLR", "gamma": 0.5}], "milestones": [2]},
    "lr_scheduler.ChainedScheduler": {"schedulers": ["LinearLR", {"class": "StepLR", "step_size": 1}]},
    "optimizer.LBFGS": {"lr": 0.1, "max_iter": 4},
    "optimizer.SGD": {"lr": 0.1},
}

_WHERE = "says where files go; the test moves whole runs"
_MACHINE = "is about machines, GPUs or processes, which tests of their own have"
_TIME = "depends on the time"
# Options that are not drawn, and why.
SKIPPED = {
    "trainer.accelerator": _MACHINE,
    "trainer.strategy": "is a mode of a case",
    "trainer.devices": "is a mode of a case",
    "trainer.precision": "is a mode of a case",
    "trainer.callbacks": "are drawn one by one",
    "trainer.num_nodes": _MACHINE,
    "trainer.gpus": _MACHINE,
    "trainer.nb_gpu_nodes": _MACHINE,
    "trainer.distributed_backend": "is an early spelling, which cli tests have",
    "trainer.use_amp": "is an early spelling, which cli tests have",
    "trainer.amp_level": "is an early spelling, which cli tests have",
    "trainer.replace_sampler_ddp": "is an early spelling, which cli tests have",
    "strategy.dp.output_device": _MACHINE,
    "trainer.launcher": _MACHINE,
    "trainer.process_group_backend": _MACHINE,
    "trainer.timeout_seconds": _TIME,
    "trainer.on_sigusr1": _MACHINE,
    "trainer.on_sigusr2": _MACHINE,
    "trainer.max_restarts": "is what launch tests kill ranks for",
    "trainer.default_root_dir": _WHERE,
    "trainer.name": _WHERE,
    "trainer.seed": "is given twice: the config's own seed",
    "trainer.auto_lr_find": "needs an attribute of the module, which tuner tests have",
    "trainer.auto_scale_batch_size": "needs an attribute of the module, which tuner tests have",
    "trainer.scale_lr": "belongs to auto_scale_batch_size",
    "trainer.compiled_step": "names a package, which compiled tests make",
    "trainer.fast_dev_run": "writes nothing that could be compared",
    "trainer.barebones": "writes nothing that could be compared",
    "trainer.cuda_graphs": _MACHINE,
    "callback.BatchSizeFinder": "needs an attribute of the module, which tuner tests have",
    "callback.LearningRateFinder": "needs an attribute of the module, which tuner tests have",
    "callback.DieAt": "is the test's own",
    "callback.ThrowAt": "is the test's own",
    "callback.SampleImages": "needs images",
    "callback.SampleText": "needs a language model",
    "optimizer.SparseAdam": "needs sparse gradients",
    "callback.ClassificationReport.output_dir": _WHERE,
    "callback.ModelCheckpoint.dirpath": _WHERE,
    "callback.OnExceptionCheckpoint.dirpath": _WHERE,
    "callback.PredictionWriter.output_dir": _WHERE,
    "callback.SpikeDetection.exclude_batches_path": _WHERE,
    "callback.StochasticWeightAveraging.device": _MACHINE,
    "callback.ThroughputMonitor.available_flops": _TIME,
    "callback.ThroughputMonitor.items_of": "names a field of batches with that name",
    "lr_scheduler.LambdaLR": "needs a function of C++",
    "lr_scheduler.MultiplicativeLR": "needs a function of C++",
    "lr_scheduler.CyclicLR.base_lr": "has the value that its class needs",
    "lr_scheduler.CyclicLR.max_lr": "has the value that its class needs",
    "lr_scheduler.OneCycleLR.max_lr": "has the value that its class needs",
    "lr_scheduler.SWALR.swa_lr": "has the value that its class needs",
}


def printed_schema(program):
    return json.loads(subprocess.run([program, "config", "schema"], check=True, capture_output=True, text=True).stdout)


def alternatives(option):
    """The types that an option accepts, references left out."""
    for one in option.get("anyOf", [option]):
        if "anyOf" in one:
            yield from alternatives(one)
        elif "$ref" not in one:
            yield one


def drawn_values(path, option):
    """Values to draw for an option, none of them its default; an empty list if no type tells any."""
    kind, _, key = path.split(".", 2) if path.count(".") > 1 else (path, "", "")
    for known in (path, f"{kind}.*.{key}"):
        if known in VALUES:
            return VALUES[known]
    default = option.get("default")
    values = []
    for one in alternatives(option):
        types = one.get("type", [])
        types = [types] if isinstance(types, str) else types
        if "enum" in one:
            values += one["enum"]
        if "boolean" in types:
            values += [True, False]
        if "integer" in types or "number" in types:
            base = default if isinstance(default, (int, float)) and not isinstance(default, bool) else 0
            whole = "integer" in types
            values += [base + 1, one.get("minimum", 0), BEYOND] if whole else [base / 2 or 0.1, one.get("minimum", base or 0.5)]
            if "maximum" in one:
                values.append(one["maximum"])
            low, high = one.get("minimum", -BEYOND), one.get("maximum", BEYOND)
            values = [v for v in values if isinstance(v, (bool, str)) or v is None or low <= v <= high]
    unique = []
    for value in values:
        if value != default and value is not None and json.dumps(value) not in [json.dumps(u) for u in unique]:
            unique.append(value)
    return unique


class Schema:
    """The items of a program's options. `unknown`: options that give no item, and that nobody has skipped."""

    def __init__(self, printed):
        self.unknown, self.help = [], {}
        self.items = []
        trainer = next(alternatives(printed["properties"]["trainer"]))["properties"]
        self._add("trainer", trainer, group="", coarse=True)
        for name, definition in printed["definitions"].items():
            kind, _, class_name = name.partition(".")
            if kind not in ("callback", "optimizer", "lr_scheduler") or not class_name or name in SKIPPED:
                continue
            slot = name if kind == "callback" else kind
            self.items.append(Item(slot, json.dumps(class_name)))
            if kind == "callback":
                self.items.append(Item(name + ".again", json.dumps(class_name), group=name))
            self._add(name, definition.get("properties", {}), group=name, coarse=False)
        for name in STRATEGIES:
            self._add(f"strategy.{name}", printed["definitions"][f"strategy.{name}"]["properties"], group="", coarse=True)
        loader = printed["definitions"]["data_module.OddData"]["properties"]
        self._add("data", {k: v for k, v in loader.items() if k not in OWN_DATA}, group="", coarse=True)

    def _add(self, path, properties, group, coarse):
        for key, option in properties.items():
            name = f"{path}.{key}"
            if key == "class" or key.endswith("+=") or name in SKIPPED:
                continue
            values = drawn_values(name, option)
            if not values and not is_text(option):
                self.unknown.append(name)
            self.help[name] = option.get("description", "")
            self.items += [Item(name, json.dumps(value), group=group, coarse=coarse) for value in values]


# Options of the test's own data: their values are modes, or fixed.
OWN_DATA = {"kind", "samples", "val_samples", "batch_size", "timeout_seconds", "class"}


def is_text(option):
    """Names and texts change no number; VALUES has those that do."""
    return any(one.get("type") in ("string", ["string", "null"]) and "enum" not in one for one in alternatives(option)) or any(
        one.get("type") == "array" and one.get("items", {}).get("type") == "string" for one in alternatives(option))
