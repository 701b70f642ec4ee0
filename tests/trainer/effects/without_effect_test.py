"""Options that others leave without effect: `levin config check` says so for each, and only where it is so.

Usage: without_effect_test.py LEVIN
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

import bases

RESNET = {"net": "resnet18"}
RANKS = {"trainer": {"devices": 2}}
ONE_RANK = {"trainer": {"strategy": {"class": "ddp"}, "devices": 1}}
SEED = {"trainer": {"seed": 1}}
LINEAR = {"model": {"class": "MLPClassifier", "hidden": []}}
PROGRAM = {"class": "ProgramModule", "program": "a.pt2"}


def callback(name, option, **options):
    return f"trainer.callbacks[0].{option}", {"trainer": {"callbacks": [{"class": name, **options}]}}


def transform(name, option, **options):
    data = {"class": "CIFAR10", "root": "images", "transforms": [{"class": name, **options}]}
    return f"data.transforms[0].{option}", {"data": data}


def optimizer(name, option, **options):
    return f"model.optimizer.{option}", {"model": {"optimizer": {"class": name, **options}}}


def scheduler(name, option, **options):
    return f"model.lr_scheduler.{option}", {"model": {"lr_scheduler": {"class": name, **options}}}


def table(option, **options):
    return f"data.{option}", {"data": {"class": "Csv", "file": "train.csv", **options}}


def logger(name, option, **options):
    return f"trainer.logger[0].{option}", {"trainer": {"logger": [{"class": name, **options}]}}


def data(name, option, **options):
    return f"data.{option}", {"data": {"class": name, **options}}


def images(option, **options):
    return f"data.{option}", {"data": {"class": "ImageFolder", "root": "FOLDER/divided", **options}}


# The option's path and the config around it; a value of the option; what must change so that the option has an effect.
CASES = [
    (("trainer.gradient_clip_algorithm", {}), "value", {"trainer": {"gradient_clip_val": 1}}),
    (("trainer.timeout_seconds", {}), 60, RANKS),
    (("trainer.process_group_backend", {}), "mpi", RANKS),
    (("trainer.sync_batchnorm", {}), True, RANKS),
    (("trainer.use_distributed_sampler", {}), False, RANKS),
    (("trainer.replace_sampler_ddp", {}), False, RANKS),
    (("trainer.max_restarts", {}), 2, RANKS),
    (("trainer.sync_batchnorm", ONE_RANK), True, RANKS),
    (("trainer.use_distributed_sampler", ONE_RANK), False, RANKS),
    (("trainer.replace_sampler_ddp", ONE_RANK), False, RANKS),
    (("trainer.strategy.bucket_cap_mb", ONE_RANK), 1, RANKS),
    (("trainer.num_sanity_val_steps", {"trainer": {"limit_val_batches": 0}}), 3, {"trainer": {"limit_val_batches": 2}}),
    (("trainer.val_check_interval", {"trainer": {"limit_val_batches": 0}}), 2, {"trainer": {"limit_val_batches": 2}}),
    (("trainer.random_generator", {}), "own", SEED),
    (("trainer.on_sigusr1", {"trainer": {"handle_signals": False}}), "stop", {"trainer": {"handle_signals": True}}),
    (("trainer.on_sigusr2", {"trainer": {"handle_signals": False}}), "stop", {"trainer": {"handle_signals": True}}),
    (("trainer.benchmark", {}), True, {"trainer": {"accelerator": "auto"}}),
    (("model.category_sizes", {"model": {"class": "MLPClassifier"}}), [3], {"model": {"features": 2, "num_classes": 2}}),
    (("model.embedding", {"model": {"class": "MLPRegressor", "features": 3}}), 2, {"model": {"category_sizes": [5]}}),
    (("model.batch_norm", LINEAR), True, {"model": {"hidden": [8]}}),
    (("model.dropout", LINEAR), 0.5, {"model": {"hidden": [8]}}),
    (("model.weights_strict", {}), False, {"model": {"weights": "a.pt"}}),
    (("model.weights_prefix", {}), "model.", {"model": {"weights": "a.pt"}}),
    (("model.hidden", {"model": {"net": "lenet"}}), 8, {"model": {"net": "mlp"}}),
    (("model.small_input", {}), True, {"model": RESNET}),
    (("data.prefetch_factor", {}), 4, {"data": {"num_workers": 2}}),
    (("data.timeout_seconds", {}), 4, {"data": {"num_workers": 2}}),
    (table("ignore", features=["left"]), ["right"], {"data": {"features": []}}),
    (table("split_seed"), 3, {"data": {"val_fraction": 0.5}}),
    (table("unknown"), "code", {"data": {"categories": ["color"]}}),
    (table("target_type"), "number", {"data": {"target": "amount"}}),
    (data("MNIST", "url", root="images"), "http://127.0.0.1/", {"data": {"download": True}}),
    (data("Npy", "divide_by", input="a.npy"), 2, {"data": {"dtype": "float32"}}),
    (data("Npy", "input_key", input="a.npy"), "x", {"data": {"input": "a.npz"}}),
    (data("Tar", "val_transforms", shards=["a.tar"]), ["ConvertImage"], {"data": {"test_shards": ["b.tar"]}}),
    (images("val_fraction"), 0.5, {"data": {"root": "FOLDER/whole"}}),
    (images("split_seed"), 3, {"data": {"root": "FOLDER/whole"}}),
    (images("resize_size", resize="exact"), 9, {"data": {"resize": "center_crop"}}),
    *((images(option, preprocessor="FOLDER/resnet"), value, {"data": {"preprocessor": ""}}) for option, value in
      (("image_size", 9), ("resize", "exact_crop"), ("resize_size", 300), ("interpolation", "bicubic"), ("mean", [0.1]),
       ("std", [0.1]))),
    (data("Tar", "cache_bytes", shards=["a.tar"]), 9, {"data": {"shards": ["http://127.0.0.1:9/a.tar"]}}),
    (("data.shuffle_buffer", {"data": {"class": "Tar", "shards": ["a.tar"], "shuffle": False}}), 9, {"data": {"shuffle": True}}),
    (optimizer("SGD", "dampening"), 0.5, {"model": {"optimizer": {"momentum": 0.9}}}),
    (optimizer("LARS", "nesterov", momentum=0), True, {"model": {"optimizer": {"momentum": 0.9}}}),
    (optimizer("Adam", "decoupled_weight_decay"), True, {"model": {"optimizer": {"weight_decay": 0.1}}}),
    (optimizer("NAdam", "decoupled_weight_decay"), True, {"model": {"optimizer": {"weight_decay": 0.1}}}),
    (optimizer("RAdam", "decoupled_weight_decay"), True, {"model": {"optimizer": {"weight_decay": 0.1}}}),
    (scheduler("CyclicLR", "gamma", base_lr=0.1, max_lr=1), 0.5, {"model": {"lr_scheduler": {"mode": "exp_range"}}}),
    (scheduler("OneCycleLR", "base_momentum", max_lr=1, cycle_momentum=False, interval="step"), 0.5,
     {"model": {"lr_scheduler": {"cycle_momentum": True}}}),
    (scheduler("OneCycleLR", "epochs", max_lr=1, total_steps=9, interval="step"), 3, {"model": {"lr_scheduler": {"total_steps": "auto"}}}),
    (scheduler("CyclicLR", "scale_mode", base_lr=0.1, max_lr=1), "iterations", None),
    (scheduler("WarmupCosine", "warmup_start_factor", warmup_steps=0, interval="step"), 0.5,
     {"model": {"lr_scheduler": {"warmup_steps": 2}}}),
    (scheduler("ReduceLROnPlateau", "threshold_mode", threshold=0), "abs", {"model": {"lr_scheduler": {"threshold": 0.1}}}),
    (scheduler("SWALR", "anneal_strategy", swa_lr=0.1, anneal_epochs=0), "linear", {"model": {"lr_scheduler": {"anneal_epochs": 2}}}),
    (callback("BackboneFinetuning", "initial_denom_lr"), 5, None),
    (("trainer.callbacks[0].train_bn", {"model": PROGRAM, "trainer": {"callbacks": [{"class": "BackboneFinetuning"}]}}), False,
     {"model": {"class": "ImageClassifier"}}),
    (callback("BatchSizeFinder", "margin", memory_limit_bytes=9999), 0.5, None),
    (callback("EMAWeightAveraging", "update_starting_at_step", update_every_n_steps=0, update_starting_at_epoch=0), 2, None),
    (callback("ModelCheckpoint", "save_on_train_epoch_end", every_n_train_steps=2), True, None),
    (callback("ModelCheckpoint", "save_on_train_epoch_end", train_time_interval={"hours": 1}), True, None),
    (callback("ModelPruning", "pruning_dim", pruning_fn="l1_unstructured"), 1, None),
    (callback("ModelPruning", "pruning_norm", pruning_fn="random_structured", pruning_dim=0, use_global_unstructured=False,
              parameter_names=["weight"]), 1, None),
    (callback("ModelPruning", "parameter_names", pruning_fn="l1_unstructured", parameters_to_prune=["net.1.weight"]), ["bias"], None),
    (callback("ModelPruning", "amount", pruning_fn="l1_unstructured", apply_pruning=False), 0.1, None),
    (callback("ThroughputMonitor", "available_flops", count_flops=False), 1e9, None),
    (callback("Timer", "interval"), "epoch", callback("Timer", "", interval="epoch", duration=5)[1]),
    (logger("MLflowLogger", "artifact_location", tracking_uri="http://127.0.0.1/", run_id="r"), "s3://b", None),
    (logger("WebhookLogger", "monitor", url="http://127.0.0.1/", events=["end"]), "val_loss", None),
    (callback("ModelCheckpoint", "mode"), "max", callback("ModelCheckpoint", "", mode="max", monitor="val_loss")[1]),
    (callback("ModelPruning", "resample_parameters", pruning_fn="l1_unstructured", use_lottery_ticket_hypothesis=False), True, None),
    (callback("StochasticWeightAveraging", "annealing_strategy", swa_lrs=0.1, annealing_epochs=0), "linear", None),
    (transform("RandomErasing", "value", random_value=True), 0.5, None),
    (transform("RandomCrop", "fill", size=4, padding_mode="edge"), 3, None),
    (transform("RandomCrop", "fill", size=4), 3, None),
    (transform("RandomCrop", "padding_mode", size=4), "edge", transform("RandomCrop", "", size=4, padding_mode="edge", padding=1)[1]),
    (transform("Resize", "antialias", size=4, interpolation="nearest"), False, None),
]


def with_option(config, path, value):
    keys = path.replace("[0]", ".0").split(".")
    place = config
    for key in keys[:-1]:
        place = place[0] if key == "0" else place.setdefault(key, {})
    place[keys[-1]] = value
    return config


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("divided/train", "divided/val", "whole/ants"):
            (pathlib.Path(folder) / name).mkdir(parents=True)

        def says(number, config, path):
            file = pathlib.Path(folder) / f"{number}.json"
            file.write_text(json.dumps(config).replace("FOLDER", folder))
            done = subprocess.run([program, "config", "check", "--config", file], capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                return f"refused: {done.stderr}"
            return any(line.startswith(f"levin: warning: {path} (") and " has no effect: " in line for line in done.stderr.splitlines())

        def check(numbered):
            number, ((path, around), value, remedy) = numbered
            config = with_option(bases.merged({"model": {"class": "ImageClassifier"}, "data": {"class": "SyntheticDigits"},
                                               "trainer": {"accelerator": "cpu"}}, around), path, value)
            found = says(f"{number}a", config, path)
            if found is not True:
                return f"{path} = {json.dumps(value)}: expected a warning, got {found}"
            if remedy is not None:
                found = says(f"{number}b", bases.merged(config, remedy), path)
                if found is not False:
                    return f"{path} = {json.dumps(value)} with {json.dumps(remedy)}: expected no warning, got {found}"
            return None

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failed = [error for error in pool.map(check, enumerate(CASES)) if error]
    print(f"{len(CASES)} options that others leave without effect, {len(failed)} failed", *failed, sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
