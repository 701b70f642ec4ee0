"""Options whose effect a value alone, on the base of their class, does not show. By name, or by a pattern of names.

  value     what the option is set to; FOLDER is the folder of small_data.py. Without one the class itself is refused
  base      what the config has besides, with and without the option
  sees      the kind of effect that there must be (run_signature.KINDS)
  says      a regular expression that the output with the value has, and that without it has not
  refused   in place of sees: the value is refused by this message
  command   of the program; otherwise by the option's name
  exit      the exit code without the value, if it is not 0; exits: with and without it
  first     a fit goes before, whose config has this besides; the run goes on from its last checkpoint
  flags     of the command line
  shown_by  in place of all: the test that shows it, because the effect is on a GPU, on a server, in memory, time or
            threads, or in C++ alone; that test must name the option
"""

import os

RANKS = {"trainer": {"devices": 2}}
FSDP = {"trainer": {"devices": 2, "strategy": "fsdp"}}
STOPS = {"trainer": {"max_epochs": 6, "callbacks": [{"class": "EarlyStopping", "monitor": "val_loss", "mode": "max", "patience": 0}]}}
OPTIONS_IN_FIT = {"shown_by": "tests/trainer/loops/options_in_fit_test.cpp"}
SIGNALS = {"shown_by": "tests/trainer/checkpoint/signals_test.cpp"}
WORKERS = {"shown_by": "tests/data/loader_workers_test.cpp"}
MLFLOW = {"shown_by": "tests/trainer/loggers/mlflow_test.py"}
WANDB = {"shown_by": "tests/trainer/loggers/wandb_test.py"}
WEBHOOK = {"shown_by": "tests/trainer/loggers/webhook_test.py"}
TABLES = "FOLDER/tables/"
# A model of whose parameters some get no gradient, on two ranks.
UNUSED = {**RANKS, "model": {"class": "ProgramModule", "program": "FOLDER/programs/unused.pt2"},
          "data": {"class": "Npy", "input": "FOLDER/arrays/train_input.npy", "target": "FOLDER/arrays/train_target.npy",
                   "batch_size": 16}}
WEIGHTS = "FOLDER/weights.safetensors"
PAIRS = {"data": {"files": ["FOLDER/lines/train_pairs.jsonl"], "val_files": ["FOLDER/lines/val_pairs.jsonl"]}}
CHATS = {"data": {"files": ["FOLDER/lines/train_chats.jsonl"], "val_files": ["FOLDER/lines/val_chats.jsonl"], "chat_template": "chatml"}}
PICTURES = {"input": "png", "transforms": ["ConvertImage"], "val_transforms": ["ConvertImage"]}


def callback(name, **options):
    return {"trainer": {"callbacks": [{"class": name, **options}]}}


def optimizer(**options):
    return {"model": {"optimizer": options}}


def scheduler(**options):
    return {"model": {"lr_scheduler": options}}


def other_table(suffix, **options):
    files = {"file": f"{TABLES}train_{suffix}.csv", "val_file": f"{TABLES}val_{suffix}.csv", "test_file": ""}
    return {"data": {**files, **options}}


def pruned_slices():
    return callback("ModelPruning", pruning_fn="ln_structured", pruning_dim=0, pruning_norm=2, parameter_names=["weight"],
                    use_global_unstructured=False)


def diverging(*callbacks):
    """The loss is not finite from the second step on."""
    return {**optimizer(**{"class": "SGD", "lr": 1e30}), "trainer": {"callbacks": list(callbacks)}}


ROWS = {
    "trainer.accelerator": {"value": "mps", "refused": "mps is not supported"},
    "trainer.strategy": {"base": RANKS, "value": "zero1", "sees": "output", "says": "strategy zero1"},
    "trainer.devices": {"value": 2, "sees": "weights"},
    "trainer.num_nodes": {"shown_by": "tests/trainer/launch/launchers_test.cpp"},
    "trainer.logger": {"value": False, "sees": "metrics"},
    "trainer.callbacks": {"value": ["GradNormMonitor"], "sees": "metrics"},
    "trainer.min_epochs": {"base": STOPS, "value": 5, "sees": "metrics"},
    "trainer.min_steps": {"base": STOPS, "value": 14, "sees": "metrics"},
    "trainer.max_time": {"value": {"seconds": 0}, "sees": "metrics"},
    "trainer.num_sanity_val_steps": {"base": {"trainer": {"profiler": "simple"}}, "value": 2, "sees": "files"},
    "trainer.enable_progress_bar": {"value": True, "sees": "output", "says": "Epoch 1/2"},
    "trainer.gradient_clip_algorithm": {"base": {"trainer": {"gradient_clip_val": 0.01}}, "value": "value", "sees": "weights"},
    "trainer.deterministic": OPTIONS_IN_FIT,
    "trainer.benchmark": OPTIONS_IN_FIT,
    "trainer.inference_mode": {"shown_by": "tests/trainer/strategies/step_errors_test.cpp"},
    "trainer.use_distributed_sampler": {"base": RANKS, "value": False, "sees": "weights"},
    "trainer.profiler": {"value": "simple", "sees": "files"},
    "trainer.detect_anomaly": OPTIONS_IN_FIT,
    "trainer.barebones": {"base": {"trainer": {"log_every_n_steps": 50}}, "value": True, "sees": "files"},
    "trainer.sync_batchnorm": {"base": {**RANKS, "model": {"net": "mlp_bn"}}, "value": True, "sees": "weights"},
    "trainer.reload_dataloaders_every_n_epochs": OPTIONS_IN_FIT,
    "trainer.default_root_dir": {"value": "elsewhere", "sees": "files"},
    "trainer.gpus": {"value": 0, "base": {"trainer": {"devices": 2, "accelerator": "auto"}}, "refused": "trainer.gpus .*contradict"},
    "trainer.nb_gpu_nodes": {"value": 2, "base": {"trainer": {"strategy": "single_device"}}, "refused": "2 machines"},
    "trainer.distributed_backend": {"base": RANKS, "value": "zero1", "sees": "output", "says": "strategy zero1"},
    "trainer.use_amp": {"base": {"trainer": {"precision": "bf16-mixed"}}, "value": False, "refused": "use_amp.*contradict"},
    "trainer.amp_level": {"value": "O1", "sees": "output", "says": "amp_level"},
    "trainer.replace_sampler_ddp": {"base": RANKS, "value": False, "sees": "weights"},
    "trainer.auto_lr_find": {"base": {"data": {"train_size": 480}}, "value": True, "sees": "weights"},
    "trainer.auto_scale_batch_size": {"value": "power", "sees": "weights"},
    "trainer.name": {"value": "other", "sees": "files"},
    "trainer.seed": {"value": 2, "refused": "seed and trainer.seed contradict each other"},
    "trainer.launcher": {"base": RANKS, "value": "none", "refused": "trainer.launcher: none"},
    "trainer.memory_format": OPTIONS_IN_FIT,
    "trainer.flush_denormal": OPTIONS_IN_FIT,
    "trainer.num_threads": {"value": 2, "sees": "output", "says": "2 compute threads"},
    "trainer.checkpoint_errors": {"shown_by": "tests/trainer/checkpoint/checkpoints_in_fit_test.cpp"},
    "trainer.cuda_graphs": {"value": True, "refused": "cuda_graphs"},
    "trainer.auto_microbatch": {"shown_by": "tests/trainer/strategies/auto_microbatch_test.cpp"},
    "trainer.activation_checkpointing": OPTIONS_IN_FIT,
    "trainer.float32_matmul_precision": {"shown_by": "tests/trainer/precision/precision_test.cpp"},
    "trainer.scale_lr": {"base": {"trainer": {"auto_scale_batch_size": "power"}}, "value": "linear", "sees": "weights"},
    "trainer.timeout_seconds": {"shown_by": "tests/trainer/launch/failures_test.cpp"},
    "trainer.on_sigusr1": SIGNALS,
    "trainer.on_sigusr2": SIGNALS,
    "trainer.handle_signals": SIGNALS,
    "trainer.wall_margin": SIGNALS,
    "trainer.keep_freed_memory": OPTIONS_IN_FIT,
    "trainer.max_restarts": {"shown_by": "tests/trainer/launch/failures_test.cpp"},
    "trainer.keep_global_batch": {"shown_by": "tests/trainer/strategies/zero1_test.cpp"},
    "trainer.process_group_backend": {"shown_by": "tests/trainer/launch/launchers_test.cpp"},
    "trainer.keep_torch_settings": {"value": True, "refused": "keep_torch_settings .*num_threads.* contradict"},
    "trainer.random_generator": {"shown_by": "tests/trainer/loops/threads_test.cpp"},
    "trainer.resume_optimizer_options": {"first": {**optimizer(lr=0.1), "trainer": {"max_epochs": 1}}, "value": "present",
                                         "sees": "weights", "base": {"trainer": {"max_epochs": 3}}},
    "trainer.compiled_step": {"value": "missing.pt2", "refused": "missing.pt2"},
    "strategy.dp.output_device": {"value": 5, "refused": "output_device"},
    "strategy.*.find_unused_parameters": {"base": UNUSED, "exit": 2, "value": True, "sees": "weights"},
    "strategy.*.static_graph": {"base": UNUSED, "exit": 2, "value": True, "sees": "weights"},
    "strategy.*.bucket_cap_mb": {"base": {"model": {"hidden": 64}}, "flags": ["--dry-run"], "value": 0.001, "sees": "output"},
    "strategy.fsdp.gradient_compression": {"shown_by": "tests/trainer/strategies/fsdp_test.cpp"},
    "strategy.*.gradient_compression": {"value": "bf16", "sees": "weights"},
    "strategy.fsdp.parameter_compression": {"value": "bf16", "sees": "weights"},
    "strategy.fsdp.shard": {"shown_by": "tests/trainer/strategies/bytes_sent_test.py"},
    "strategy.fsdp.reduce_each_batch": {"base": {"trainer": {"accumulate_grad_batches": 2}}, "value": True, "sees": "weights"},
    "strategy.fsdp.state_dict_type": {"value": "sharded", "sees": "files"},
    "trainer.mesh": {"shown_by": "tests/trainer/strategies/tensor_parallel_test.cpp"},
    "trainer.print_warnings": {"base": {"trainer": {"amp_level": "O1"}}, "value": False, "sees": "output"},

    "logger.MLflowLogger.*": MLFLOW,
    "logger.WandbLogger.*": WANDB,
    "logger.WebhookLogger.*": WEBHOOK,

    "profiler.trace.active": {"value": 1, "sees": "files",
                              "base": {"trainer": {"max_epochs": 4, "profiler": {"class": "trace", "repeat": 0}}}},
    "profiler.trace.repeat": {"value": 2, "sees": "files", "base": {"trainer": {"max_epochs": 4}}},
    "profiler.*.dirpath": {"value": "elsewhere", "sees": "files"},
    "profiler.*.filename": {"value": "other", "sees": "files"},

    "callback.BackboneFinetuning.train_bn": {"value": False, "sees": "warning"},
    "callback.BackboneFinetuning.should_align": {"value": False, "sees": "weights",
                                                 "base": callback("BackboneFinetuning", unfreeze_backbone_at_epoch=1,
                                                                  backbone_initial_lr=0.08)},
    "callback.BackboneFinetuning.initial_denom_lr": {"value": 5.0, "sees": "warning"},
    "callback.BackboneFinetuning.rounding": {"value": 3, "base": callback("BackboneFinetuning", verbose=True,
                                             unfreeze_backbone_at_epoch=1, backbone_initial_lr=0.0123456), "sees": "output"},
    "callback.ClassificationReport.class_names": {"value": list("abcdefghij"), "sees": "files"},
    "callback.*.output_dir": {"value": "elsewhere", "sees": "files"},
    "callback.ClassificationReport.name": {"value": "nothing", "refused": "nothing"},
    "callback.SampleImages.source": {"value": "predict_step", "refused": "as 'input' of the predict_step"},
    "callback.SampleImages.name": {"value": "nothing", "refused": "nothing"},
    "callback.EarlyStopping.monitor": {"value": "absent", "refused": "absent"},
    "callback.EarlyStopping.strict": {"value": False, "sees": "weights", "exit": 2,
                                      "base": callback("EarlyStopping", monitor="absent")},
    "callback.EarlyStopping.min_delta": {"value": 5.0, "sees": "weights",
                                         "base": {**optimizer(**{"class": "SGD", "lr": 0.01}),
                                                  **callback("EarlyStopping", monitor="val_loss", patience=0)}},
    "callback.EarlyStopping.check_finite": {"value": False, "sees": "metrics",
                                            "base": diverging({"class": "EarlyStopping", "monitor": "val_loss", "patience": 9})},
    "callback.EarlyStopping.divergence_threshold": {"value": 0.1, "sees": "weights",
                                                    "base": callback("EarlyStopping", monitor="val_loss", patience=9)},
    "callback.EarlyStopping.check_on_train_epoch_end": {
        "value": True, "sees": "weights",
        "base": {"trainer": {"check_val_every_n_epoch": 3,
                             "callbacks": [{"class": "EarlyStopping", "monitor": "train_loss", "mode": "max", "patience": 0}]}}},
    "callback.ModelCheckpoint.dirpath": {"value": "elsewhere", "sees": "checkpoints"},
    "callback.ModelCheckpoint.filename": {"value": "{step}", "sees": "checkpoints"},
    "callback.ModelCheckpoint.monitor": {"value": "val_loss", "sees": "checkpoints"},
    "callback.ModelCheckpoint.mode": {"value": "max", "sees": "checkpoints",
                                      "base": callback("ModelCheckpoint", monitor="val_loss")},
    "callback.ModelCheckpoint.save_on_exception": {
        "value": True, "sees": "checkpoints", "exits": 1, "base": diverging({"class": "ModelCheckpoint"}, "TerminateOnNaN")},
    "callback.ModelCheckpoint.train_time_interval": {"value": {"days": 1}, "sees": "checkpoints"},
    "callback.ModelCheckpoint.enable_version_counter": {
        "value": False, "sees": "checkpoints",
        "base": {"trainer": {"callbacks": [{"class": "ModelCheckpoint", "filename": "same", "monitor": "train_loss"},
                                           {"class": "ModelCheckpoint", "filename": "same", "enable_version_counter": False}]}}},
    "callback.ModelCheckpoint.save_on_train_epoch_end": {
        "value": True, "sees": "checkpoints",
        "base": {"trainer": {"check_val_every_n_epoch": 2, "callbacks": [{"class": "ModelCheckpoint", "save_top_k": -1}]}}},
    "callback.ModelPruning.parameters_to_prune": {"value": ["net.1.weight"], "sees": "weights"},
    "callback.ModelPruning.parameter_names": {"value": ["bias"], "sees": "weights"},
    "callback.ModelPruning.pruning_dim": {"value": 1, "sees": "weights", "base": pruned_slices()},
    "callback.ModelPruning.pruning_norm": {"value": 1, "sees": "weights", "base": pruned_slices()},
    "callback.ModelPruning.prune_on_train_epoch_end": {"value": False, "sees": "weights",
                                                       "base": {"trainer": {"max_epochs": 3, "check_val_every_n_epoch": 2}}},
    "callback.OnExceptionCheckpoint.dirpath": {"value": "elsewhere", "sees": "checkpoints", "exits": 1,
                                               "base": diverging({"class": "OnExceptionCheckpoint"}, "TerminateOnNaN")},
    "callback.OnExceptionCheckpoint.filename": {"value": "other", "sees": "checkpoints", "exits": 1,
                                                "base": diverging({"class": "OnExceptionCheckpoint"}, "TerminateOnNaN")},
    "callback.PredictionWriter.write_interval": {"command": "predict", "value": "epoch", "sees": "files"},
    "callback.PredictionWriter.output_dir": {"command": "predict", "value": "elsewhere", "sees": "files"},
    "callback.StochasticWeightAveraging.swa_lrs": {"value": 0.05, "sees": "weights"},
    "callback.ThroughputMonitor.separator": {"value": "-", "sees": "metrics"},
    "callback.ThroughputMonitor.items_of": {"value": "input", "sees": "metrics"},
    "callback.ThroughputMonitor.available_flops": {"shown_by": "tests/callbacks/monitors_test.cpp"},
    "callback.GradientAccumulationScheduler.scheduling": {"value": {"0": 3}, "sees": "weights"},
    "callback.SpikeDetection.mode": {"base": callback("SpikeDetection", rtol=0.1), "exit": 1, "value": "max", "sees": "weights"},
    "callback.SpikeDetection.window": {"base": callback("SpikeDetection", rtol=0.13), "exit": 1, "value": 1, "sees": "weights"},
    "callback.SpikeDetection.warmup": {"base": callback("SpikeDetection", rtol=0.1), "exit": 1, "value": 5, "sees": "weights"},
    "callback.SpikeDetection.atol": {"base": callback("SpikeDetection", rtol=0.1), "exit": 1, "value": 1.0, "sees": "weights"},
    "callback.SpikeDetection.rtol": {"base": callback("SpikeDetection", rtol=0.1), "exit": 1, "value": 0.5, "sees": "weights"},
    "callback.SpikeDetection.finite_only": {"base": diverging({"class": "SpikeDetection"}), "exit": 1, "value": False, "sees": "weights"},
    "callback.SpikeDetection.exclude_batches_path": {"base": callback("SpikeDetection", rtol=0.1), "exits": 1,
                                                     "value": "elsewhere", "sees": "files"},
    "callback.StochasticWeightAveraging.device": {"value": "mps", "refused": "mps"},
    "callback.TerminateOnNaN.check_gradients": {"shown_by": "tests/callbacks/terminate_on_nan_test.cpp"},
    "callback.Timer.interval": {"base": callback("Timer", duration=1e-4), "value": "epoch", "sees": "weights"},
    "callback.LearningRateFinder.early_stop_threshold": {
        "value": 2.0, "sees": "files",
        "base": callback("LearningRateFinder", max_lr=1e4, num_training_steps=20, early_stop_threshold=None)},
    "callback.BatchSizeFinder.mode": {"base": callback("BatchSizeFinder", max_val=256, memory_limit_bytes=800000), "value": "binsearch",
                                      "sees": "weights"},
    "callback.BatchSizeFinder.steps_per_trial": {
        "value": 3, "sees": "weights",  # Adam's state is there from the second step on
        "base": callback("BatchSizeFinder", mode="binsearch", margin=0, max_val=256, memory_limit_bytes=800000, steps_per_trial=1)},
    "callback.BatchSizeFinder.min_batches": {"base": callback("BatchSizeFinder", max_val=256), "value": 100, "sees": "weights"},
    "callback.BatchSizeFinder.memory_limit_bytes": {"base": callback("BatchSizeFinder", max_val=256), "value": 400000, "sees": "weights"},
    "callback.BatchSizeFinder.margin": {"base": callback("BatchSizeFinder", mode="binsearch", max_val=256, memory_limit_bytes=800000),
                                        "value": 0.5, "sees": "weights"},

    "optimizer.SGD.dampening": {"base": optimizer(momentum=0.9), "value": 0.5, "sees": "weights"},
    "optimizer.SGD.nesterov": {"base": optimizer(momentum=0.9), "value": True, "sees": "weights"},
    "optimizer.*.fused": {"shown_by": "tests/modules/optim/fused_test.cpp"},
    "optimizer.*.decoupled_weight_decay": {"base": optimizer(weight_decay=0.1), "value": True, "sees": "weights"},
    "optimizer.ASGD.t0": {"value": 1.0, "sees": "checkpoints"},
    "optimizer.Rprop.step_sizes": {"value": [1e-6, 0.01], "sees": "weights"},

    "lr_scheduler.LambdaLR.*": {"refused": "a config cannot hold a function"},
    "lr_scheduler.MultiplicativeLR.*": {"refused": "a config cannot hold a function"},
    "lr_scheduler.CyclicLR.gamma": {"base": scheduler(mode="exp_range"), "value": 0.5, "sees": "weights"},
    "lr_scheduler.CyclicLR.scale_mode": {"value": "iterations", "sees": "warning"},
    "lr_scheduler.OneCycleLR.total_steps": {"value": 24, "sees": "weights"},
    "lr_scheduler.OneCycleLR.epochs": {"base": scheduler(steps_per_epoch=3, epochs=4), "value": 8, "sees": "weights"},
    "lr_scheduler.OneCycleLR.steps_per_epoch": {"base": scheduler(steps_per_epoch=3, epochs=4), "value": 6, "sees": "weights"},
    "lr_scheduler.OneCycleLR.when_longer": {"base": scheduler(total_steps=6), "exit": 2, "value": "hold", "sees": "weights"},
    "lr_scheduler.WarmupCosine.when_longer": {"first": {"trainer": {"max_epochs": 2}}, "value": "stretch", "sees": "weights"},
    "lr_scheduler.OneCycleLR.interval": {"base": scheduler(total_steps=24), "value": "epoch", "sees": "weights"},
    "lr_scheduler.WarmupCosine.interval": {"base": scheduler(total_steps=24), "value": "epoch", "sees": "weights"},
    "lr_scheduler.SequentialLR.schedulers": {"value": ["ConstantLR", {"class": "ExponentialLR", "gamma": 0.9}], "sees": "weights"},
    "lr_scheduler.ReduceLROnPlateau.interval": {"base": scheduler(monitor="train_loss"), "value": "step", "sees": "weights"},
    "lr_scheduler.ReduceLROnPlateau.threshold": {"base": scheduler(mode="min"), "value": 0.5, "sees": "weights"},
    "lr_scheduler.ReduceLROnPlateau.threshold_mode": {"base": scheduler(mode="min", threshold=0.02), "value": "abs", "sees": "weights"},
    "lr_scheduler.ReduceLROnPlateau.monitor": {"base": scheduler(mode="min"), "value": "val_acc", "sees": "weights"},
    "lr_scheduler.ReduceLROnPlateau.strict": {"value": False, "sees": "weights", "exit": 2, "base": scheduler(monitor="absent")},
    "lr_scheduler.ReduceLROnPlateau.min_lr": {"value": 0.05, "sees": "weights"},
    "lr_scheduler.*.monitor": {"value": "other", "sees": "warning"},
    "lr_scheduler.*.strict": {"value": False, "sees": "warning"},

    "module.CausalLM.folder": {"value": "FOLDER/missing", "refused": "no folder .*missing"},
    "module.CausalLM.dtype": {"shown_by": "tests/modules/transformers/pretrained_folder_test.cpp"},
    "module.CausalLM.ignored_fields": {"base": {"model": {"folder": "FOLDER/odd_llama"}}, "exit": 2, "value": ["odd_field"],
                                       "sees": "weights"},
    "module.CausalLM.save_to": {"value": "out", "sees": "files"},
    "module.CausalLM.weights_prefix": {"base": {"model": {"weights": "FOLDER/llama/model.safetensors"}}, "value": "absent.",
                                       "refused": "absent"},
    "module.CausalLM.weights_strict": {"base": {"model": {"weights": "FOLDER/llama_part.safetensors"}}, "exit": 2, "value": False,
                                       "sees": "weights"},
    "module.CausalLM.frozen": {"value": ["lm_head"], "sees": "weights"},
    "module.CausalLM.parameter_groups": {"value": {"lm_head": {"lr_factor": 3}}, "sees": "weights"},
    "module.*.frozen": {"value": ["bias"], "sees": "weights"},
    "module.*.parameter_groups": {"value": {"bias": {"lr_factor": 3}}, "sees": "weights"},
    "module.[PS]*Module.adapter": {"value": {"class": "LoRA", "targets": ["layer"]}, "sees": "weights"},
    "adapter.LoRA.folder": {"value": "FOLDER/missing", "refused": "missing"},
    "adapter.LoRA.targets": {"value": ["q_proj"], "sees": "weights"},
    "adapter.LoRA.train": {"value": ["lm_head"], "sees": "weights"},
    "adapter.LoRA.fan_in_fan_out": {"value": True, "refused": "fan_in_fan_out"},
    "module.ImageClassifier.image_shape": {"value": [1, 14, 14], "refused": "image_shape"},
    "module.ImageClassifier.small_input": {
        "value": True, "sees": "weights",
        "base": {"model": {"net": "resnet18"}, "data": {"batch_size": 4},
                 "trainer": {"max_epochs": 1, "limit_train_batches": 1, "limit_val_batches": 0}}},
    "module.MLPRegressor.outputs": {"value": 2, "refused": "model.outputs"},
    "module.MLP*.features": {"value": 1, "refused": "model.features"},
    "module.MLP*.category_sizes": {"base": {"model": {"features": 2, "category_sizes": [3]}}, "value": [5], "sees": "weights"},
    "module.*.weights": {"value": "missing.pt", "refused": "missing.pt"},
    "module.*.weights_prefix": {"base": {"model": {"weights": WEIGHTS, "weights_strict": False}}, "value": "other.", "sees": "weights"},
    "module.*.weights_strict": {"base": {"model": {"weights": WEIGHTS}}, "exit": 2, "value": False, "sees": "weights"},
    "module.*.optimizer": {"value": "Adagrad", "sees": "weights"},
    "module.*.lr_scheduler": {"value": {"class": "ExponentialLR", "gamma": 0.5}, "sees": "weights"},
    "module.*Module.inputs": {"value": ["absent"], "refused": "absent"},
    "module.ProgramModule.output": {"base": {"model": {"program": "FOLDER/programs/two.pt2"}}, "value": "1", "sees": "weights"},
    "module.ProgramModule.operators": {"base": {"model": {"program": "FOLDER/programs/operator.pt2"}}, "value": ["effects"],
                                       "refused": "has no operator"},
    "module.ProgramModule.save_to": {"value": "out.pt2", "sees": "files"},
    "module.ScriptModule.save_to": {"value": "out.ts", "sees": "files"},
    "module.*.program": {"value": "FOLDER/programs/missing.pt2", "refused": "missing.pt2"},
    "module.*.file": {"value": "FOLDER/programs/missing.ts", "refused": "missing.ts"},

    "transform.RandomAffine.translate": {"value": [0.2, 0.2], "sees": "weights"},
    "transform.RandomAffine.scale": {"value": [0.5, 1.5], "sees": "weights"},
    "transform.RandomCrop.pad_if_needed": {
        "base": {"data": {"transforms": ["ConvertImage", {"class": "RandomCrop", "size": 40},
                                         {"class": "Resize", "size": [32, 32]}]}}, "exit": 1, "value": True, "sees": "weights"},

    "transform.ConvertImage.scale": {"value": False, "refused": r"scale: CIFAR10 normalises images after the transforms"},
    "transform.*.num_classes": {"value": 12, "refused": r"it is Float \[16, 12\]"},
    "data_module.*.num_workers": {"value": len(os.sched_getaffinity(0)) + 1, "sees": "output", "says": "data.num_workers: .* threads for"},
    "data_module.*.prefetch_factor": WORKERS,
    "data_module.*.timeout_seconds": WORKERS,
    "data_module.*.pin_memory": {"shown_by": "tests/gpu/copies_test.cpp"},
    "data_module.*.url": {"base": {"data": {"root": "FOLDER/missing", "download": True}}, "value": "http://127.0.0.1:9/x/",
                          "refused": "127.0.0.1:9/x"},
    "data_module.*.download": {"base": {"data": {"root": "FOLDER/missing", "url": "http://127.0.0.1:9/"}}, "value": True,
                               "refused": "127.0.0.1:9"},
    "data_module.*.drop_last": {"base": {"data": {"batch_size": 7}}, "value": True, "sees": "weights"},
    "data_module.CIFAR100.batch_transforms": {"value": [{"class": "Mixup", "num_classes": 100}], "sees": "weights"},
    "data_module.ImageFolder.batch_transforms": {"value": [{"class": "Mixup", "num_classes": 2}], "sees": "weights"},
    "data_module.*.batch_transforms": {"value": [{"class": "Mixup", "num_classes": 10}], "sees": "weights"},
    "data_module.*.root": {"value": "FOLDER/missing", "refused": "missing"},
    "data_module.*.transforms": {"value": ["RandomVerticalFlip"], "sees": "weights"},
    "data_module.*.val_transforms": {"value": ["RandomVerticalFlip"], "sees": "metrics"},
    "data_module.ImageFolder.scaled_decode": {"shown_by": "tests/data/datasets/image_folder_test.cpp"},
    "data_module.ImageFolder.on_error": {"base": {"data": {"root": "FOLDER/broken_images"}}, "exit": 2, "value": "skip",
                                         "sees": "weights"},
    "data_module.ImageFolder.image_size": {"value": 9, "refused": r"the batch has \[16, 3, 9, 9\]"},
    "data_module.ImageFolder.resize_size": {"value": 10, "sees": "weights"},
    "data_module.ImageFolder.train_resize": {"base": {"data": {"transforms": [{"class": "CenterCrop", "size": 8}]}}, "value": "none",
                                             "sees": "weights"},
    "data_module.ImageFolder.predict_root": {"exit": 2, "value": "FOLDER/others", "sees": "output"},
    "data_module.*.shuffle_buffer": {"value": 8, "sees": "weights"},
    "data_module.*.class_names": {"command": "predict", "flags": ["--output", "scores.csv"], "value": ["one", "two"],
                                  "sees": "files"},
    "data_module.*.shards": {"value": ["FOLDER/shards/0.tar"], "sees": "weights"},
    "data_module.*.val_shards": {"value": ["FOLDER/shards/5.tar"], "sees": "metrics"},
    "data_module.*.test_shards": {"value": ["FOLDER/shards/0.tar"], "sees": "output"},
    "data_module.Tar.input": {"value": "png", "base": {"data": {**PICTURES, "input": "npy"}}, "sees": "weights"},
    "data_module.Tar.target": {"value": "txt", "sees": "weights"},
    "data_module.Tar.channels": {"base": {"data": PICTURES}, "value": 1, "refused": r"the batch has \[\d+, 1, 8, 8\]"},
    "data_module.Csv.file": {"value": TABLES + "test.csv", "sees": "weights"},
    "data_module.Csv.val_file": {"value": TABLES + "test.csv", "sees": "metrics"},
    "data_module.Csv.test_file": {"value": TABLES + "val.csv", "sees": "output"},
    "data_module.Csv.features": {"value": ["left"], "sees": "weights"},
    "data_module.Csv.categories": {"value": [], "base": {"data": {"ignore": ["amount", "color"]}}, "sees": "weights"},
    "data_module.Csv.ignore": {"value": ["amount", "left"], "sees": "weights"},
    "data_module.Csv.target": {"value": "color", "base": {"data": {"categories": [], "ignore": ["amount", "color", "label"]}},
                               "sees": "weights"},
    "data_module.Csv.target_type": {
        "value": "number", "exit": 2, "sees": "weights",
        "base": {"model": {"class": "MLPRegressor", "hidden": [4]}, "data": {"target": "amount", "ignore": ["label"]}}},
    "data_module.Csv.missing": {"value": "zero", "base": {"data": {"file": TABLES + "gaps.csv", "missing_values": ["", "?"]}},
                                "exit": 2, "sees": "weights"},
    "data_module.Csv.missing_values": {"value": ["", "?"], "base": {"data": {"file": TABLES + "gaps.csv", "missing": "zero"}},
                                       "exit": 2, "sees": "weights"},
    "data_module.Csv.unknown": {"value": "code", "base": {"data": {"val_file": TABLES + "new_color.csv"}}, "exit": 2,
                                "sees": "weights"},
    "data_module.Csv.decimal": {"base": other_table("comma", delimiter=";"), "exit": 2, "value": ",", "sees": "weights"},
    "data_module.Csv.thousands": {"base": other_table("grouped", delimiter=";"), "exit": 2, "value": ",", "sees": "weights"},
    "data_module.Csv.delimiter": {"base": other_table("semicolon"), "exit": 2, "value": ";", "sees": "weights"},
    "data_module.Csv.header": {"base": other_table("bare", categories=["2"], target="3", ignore=["4"]), "exit": 2, "value": False,
                               "sees": "weights"},
    "data_module.Csv.val_fraction": {"value": 0.25, "base": {"data": {"val_file": ""}}, "sees": "weights"},
    "data_module.Csv.split_seed": {"value": 3, "base": {"data": {"val_file": "", "val_fraction": 0.25}}, "sees": "weights"},
    "data_module.Npy.input": {"value": "FOLDER/arrays/missing.npy", "refused": "missing.npy"},
    "data_module.Npy.target": {"value": "FOLDER/arrays/missing.npy", "refused": "missing.npy"},
    "data_module.Npy.val_input": {"value": "FOLDER/arrays/test_input.npy", "sees": "metrics"},
    "data_module.Npy.val_target": {"value": "FOLDER/arrays/test_target.npy", "sees": "metrics"},
    "data_module.Npy.test_input": {"value": "FOLDER/arrays/val_input.npy", "sees": "output"},
    "data_module.Npy.test_target": {"value": "FOLDER/arrays/val_target.npy", "sees": "output"},
    "data_module.Npy.input_key": {"value": "half", "sees": "weights",
                                  "base": {"data": {"input": "FOLDER/arrays/train.npz", "target": ""}}},
    "data_module.Npy.target_key": {"value": "opposite", "sees": "weights",
                                   "base": {"data": {"input": "FOLDER/arrays/train.npz", "target": ""}}},
    "data_module.Npy.dtype": {"value": "float32", "exit": 2, "sees": "weights",
                              "base": {"data": {"input": "FOLDER/arrays/double_input.npy"}}},
    "data_module.Npy.divide_by": {"base": {"data": {"dtype": "float32"}}, "value": 2.0, "sees": "weights"},
    "data_module.Npy.val_fraction": {"value": 0.25, "base": {"data": {"val_input": "", "val_target": ""}}, "sees": "weights"},
    "data_module.Npy.split_seed": {"value": 3, "sees": "weights",
                                   "base": {"data": {"val_input": "", "val_target": "", "val_fraction": 0.25}}},
    "data_module.Text*.files": {"value": ["FOLDER/lines/missing"], "refused": "missing"},
    "data_module.TokenFile.files": {"value": ["FOLDER/lines/missing"], "refused": "missing"},
    "data_module.TextJsonl.val_files": {"value": ["FOLDER/lines/test.jsonl"], "sees": "metrics"},
    "data_module.TextJsonl.test_files": {"value": ["FOLDER/lines/val.jsonl"], "sees": "output"},
    "data_module.TokenFile.val_files": {"value": ["FOLDER/lines/test.bin"], "sees": "metrics"},
    "data_module.TokenFile.test_files": {"value": ["FOLDER/lines/val.bin"], "sees": "output"},
    "data_module.T*.val_fraction": {"base": {"data": {"val_files": []}}, "value": 0.4, "sees": "weights"},
    "data_module.TextJsonl.tokenizer": {"value": "FOLDER/missing", "refused": "missing"},
    "data_module.TextJsonl.text_field": {"value": "body", "sees": "weights"},
    "data_module.TextJsonl.prompt_field": {"base": PAIRS, "value": "question", "sees": "weights"},
    "data_module.TextJsonl.completion_field": {"base": PAIRS, "value": "answer", "sees": "weights"},
    "data_module.TextJsonl.loss_on": {"base": PAIRS, "value": "all", "sees": "weights"},
    "data_module.TextJsonl.max_length": {"base": {"data": {"too_long": "truncate"}}, "value": 6, "sees": "weights"},
    "data_module.TextJsonl.too_long": {"base": {"data": {"max_length": 6}}, "exit": 2, "value": "truncate", "sees": "weights"},
    "data_module.TextJsonl.messages_field": {"base": CHATS, "value": "turns", "sees": "weights"},
    "data_module.TextJsonl.role_field": {"base": CHATS, "value": "who", "sees": "weights"},
    "data_module.TextJsonl.content_field": {"base": CHATS, "value": "said", "sees": "weights"},
    "data_module.TextJsonl.chat_template": {"base": CHATS, "value": "llama3", "refused": "which the chat template llama3 writes"},
    "data_module.TextJsonl.system_message": {"base": CHATS, "value": "hello", "sees": "weights"},
    "data_module.TextJsonl.eos_token": {"value": "<absent>", "refused": "<absent>"},
    "data_module.TextJsonl.preload": {"shown_by": "tests/data/datasets/text_jsonl_test.cpp"},
    "data_module.TokenFile.dtype": {"value": "uint32", "refused": "token id"},
    "data_module.Text.file": {"value": "FOLDER/missing.txt", "refused": "missing.txt"},
    "data_module.Text.level": {"base": {"model": {"vocab_size": 256}}, "value": "bytes", "sees": "weights"},
    "data_module.Text.vocabulary": {"base": {"model": {"vocab_size": 11}}, "value": "Aabcdefgh \n", "sees": "weights"},
}
