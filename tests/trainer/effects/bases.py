"""A small config for each class of the schema, in which its options take effect."""

import copy
import re

MLP = {"class": "ImageClassifier", "net": "mlp", "hidden": 4}
COLOR = {**MLP, "image_shape": [3, 32, 32]}
DIGITS = {"class": "SyntheticDigits", "train_size": 40, "val_size": 32, "test_size": 32, "batch_size": 16}
TRAINER = {"max_epochs": 2, "accelerator": "cpu", "num_threads": 1, "log_every_n_steps": 1, "enable_progress_bar": False,
           "num_sanity_val_steps": 0}


def merged(base, over):
    """The JSON of `base` with that of `over`; dicts of the same class are joined, all else is replaced."""
    if not isinstance(base, dict) or not isinstance(over, dict) or over.get("class", base.get("class")) != base.get("class"):
        return copy.deepcopy(over)
    result = dict(base)
    for key, value in over.items():
        result[key] = merged(result[key], value) if key in result else copy.deepcopy(value)
    return result


def config(trainer=None, model=MLP, data=DIGITS):
    return {"seed": 1, "trainer": merged(TRAINER, trainer or {}), "model": copy.deepcopy(model), "data": copy.deepcopy(data)}


OPTIMIZERS = {"SGD": {"lr": 0.1}, "LBFGS": {"max_iter": 4}, "ASGD": {"lr": 0.1}, "LARS": {"lr": 0.1}}

SCHEDULERS = {
    "StepLR": {"step_size": 1},
    "MultiStepLR": {"milestones": [1, 2]},
    "ConstantLR": {"total_iters": 2},
    "LinearLR": {"total_iters": 3},
    "ExponentialLR": {"gamma": 0.5},
    "PolynomialLR": {"total_iters": 3},
    "CosineAnnealingLR": {"T_max": 3},
    "CosineAnnealingWarmRestarts": {"T_0": 2},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 1},
    "OneCycleLR": {"max_lr": 0.1},
    "SWALR": {"swa_lr": 0.01, "anneal_epochs": 3},
    "WarmupCosine": {"warmup_steps": 3},
    "ReduceLROnPlateau": {"patience": 0, "mode": "max"},
    "SequentialLR": {"schedulers": [{"class": "ConstantLR"}, {"class": "ExponentialLR", "gamma": 0.5}], "milestones": [1]},
    "ChainedScheduler": {"schedulers": [{"class": "ConstantLR"}, {"class": "ExponentialLR", "gamma": 0.5}]},
}
BY_STEP = {"CyclicLR", "OneCycleLR", "WarmupCosine"}

CALLBACKS = {
    "BackboneFinetuning": {"unfreeze_backbone_at_epoch": 1},
    "EarlyStopping": {"monitor": "val_loss", "mode": "max", "patience": 0},
    "GradientAccumulationScheduler": {"scheduling": {"1": 2}},
    "ModelPruning": {"pruning_fn": "l1_unstructured"},
    "PredictionWriter": {"output_dir": "predictions"},
    "StochasticWeightAveraging": {"swa_lrs": 0.01, "swa_epoch_start": 1},
    "LearningRateFinder": {"num_training_steps": 20, "early_stop_threshold": None},
    "BatchSizeFinder": {"max_val": 16, "steps_per_trial": 1},
    "DeviceStatsMonitor": {"every_n_steps": 1},
    "ThroughputMonitor": {"window_size": 2, "available_flops": 1e9},
    "Timer": {"duration": {"seconds": 0}},
}

TRANSFORMS = {
    "Normalize": {"mean": 0.4, "std": 0.3},
    "Resize": {"size": 16},
    "CenterCrop": {"size": 16},
    "RandomCrop": {"size": 32, "padding": 4},
    "RandomResizedCrop": {"size": 32},
    "RandomRotation": {"degrees": 30},
    "RandomAffine": {"degrees": 30},
    "OneHot": {"num_classes": 10},
    "Mixup": {"num_classes": 10},
    "CutMix": {"num_classes": 10},
}
ON_BATCHES = {"OneHot", "Mixup", "CutMix"}
# What a callback needs besides.
AROUND_CALLBACKS = {
    "BatchSizeFinder": {"data": {"train_size": 3200}},
    "EarlyStopping": {"trainer": {"max_epochs": 5}},
    "EMAWeightAveraging": {"model": {"net": "mlp_bn"}},
    "StochasticWeightAveraging": {"trainer": {"max_epochs": 4}},
}

LOGGERS = {
    "OtlpLogger": {"endpoint": "http://127.0.0.1:9/", "patience_seconds": 0.5},
    "WandbLogger": {"id": "effects"},
    "WebhookLogger": {"url": "http://127.0.0.1:9/"},
    "MLflowLogger": {"tracking_uri": "http://127.0.0.1:9", "timeout_seconds": 0.5},
}


def text_files(folder, kind):
    parts = {f"{key}files": [f"{folder}/texts/{part}_{kind}.jsonl"] for key, part in (("", "train"), ("val_", "val"), ("test_", "test"))}
    return {**parts, "tokenizer": f"{folder}/bert", "batch_size": 16}


def models(folder):
    table = {"class": "Csv", "file": f"{folder}/tables/train.csv", "val_file": f"{folder}/tables/val.csv",
             "categories": ["color"], "batch_size": 16}
    arrays = {"class": "Npy", "input": f"{folder}/arrays/train_input.npy", "target": f"{folder}/arrays/train_target.npy",
              "batch_size": 16}
    text = {"class": "Text", "file": f"{folder}/text.txt", "block_size": 16, "level": "bytes", "batch_size": 16}
    tokens = {"class": "TokenFile", "files": [f"{folder}/lines/train.bin"], "dtype": "uint16", "block_size": 8, "batch_size": 16}
    return {
        "CausalLM": ({"class": "CausalLM", "folder": f"{folder}/llama"}, tokens),
        "FCOS": ({"class": "FCOS", "num_classes": 2, "width": 8, "channels": 8, "levels": 2, "head_layers": 1},
                 {"class": "Detection", "images": f"{folder}/boxes/images", "annotations": f"{folder}/boxes/train.json",
                  "test_annotations": f"{folder}/boxes/test.json", "image_size": 32, "batch_size": 8}),
        "ImageClassifier": (MLP, DIGITS),
        "UNet": ({"class": "UNet", "num_classes": 3, "base_channels": 2, "depth": 2},
                 {"class": "Segmentation", "root": f"{folder}/shapes", "image_size": 8, "val_fraction": 0.2, "batch_size": 8}),
        **{name: ({"class": name, "folder": f"{folder}/bert"}, {"class": data, **text_files(folder, kind)})
           for name, data, kind in (("SequenceClassifier", "LabeledTexts", "labeled"), ("TokenClassifier", "TaggedWords", "tagged"),
                                    ("SentenceEncoder", "TextPairs", "pairs"))},
        "LanguageModel": ({"class": "LanguageModel", "block_size": 16, "layers": 1, "heads": 2, "embedding": 8}, text),
        "MLPClassifier": ({"class": "MLPClassifier", "hidden": [4, 4]}, {**table, "target": "label", "ignore": ["amount"]}),
        "MLPRegressor": ({"class": "MLPRegressor", "hidden": [4, 4]},
                         {**table, "target": "amount", "target_type": "number", "ignore": ["label"]}),
        "PretrainedImageClassifier": ({"class": "PretrainedImageClassifier", "folder": f"{folder}/resnet"},
                                      {"class": "ImageFolder", "root": f"{folder}/images", "image_size": 8, "batch_size": 11}),
        "ProgramModule": ({"class": "ProgramModule", "program": f"{folder}/programs/net.pt2"}, arrays),
        "ScriptModule": ({"class": "ScriptModule", "file": f"{folder}/programs/net.ts"}, arrays),
    }


OBJECTIVES = {
    "DPO": lambda folder: {"class": "DPO", "reference": f"{folder}/llama"},
    "Distillation": lambda folder: {"class": "Distillation", "teacher": f"{folder}/llama"},
}


def preferences(folder):
    files = {f"{key}files": [f"{folder}/lines/{part}_pairs.jsonl"] for key, part in (("", "train"), ("val_", "val"), ("test_", "test"))}
    return {**files, "tokenizer": f"{folder}/llama", "chosen_field": "completion", "rejected_field": "answer"}


def data_modules(folder):
    """Class of data -> (data, the model that trains on it)."""
    tables = models(folder)
    images = {**MLP, "image_shape": [3, 8, 8], "num_classes": 2}
    classifier = {"class": "MLPClassifier", "features": 6, "num_classes": 2, "hidden": [4]}
    arrays = {kind: f"{folder}/arrays/{part}_{name}.npy" for part, prefix in (("train", ""), ("val", "val_"), ("test", "test_"))
              for name in ("input", "target") for kind in [prefix + name]}
    return {
        "MNIST": ({"root": f"{folder}/idx"}, MLP),
        "FashionMNIST": ({"root": f"{folder}/idx"}, MLP),
        "CIFAR10": ({"root": f"{folder}/cifar"}, COLOR),
        "CIFAR100": ({"root": f"{folder}/cifar"}, {**COLOR, "num_classes": 100}),
        "ImageFolder": ({"root": f"{folder}/images", "image_size": 8}, images),
        "Detection": (tables["FCOS"][1], tables["FCOS"][0]),
        "Segmentation": (tables["UNet"][1], tables["UNet"][0]),
        "CsvImages": ({"file": f"{folder}/lists/train.csv", "root": f"{folder}/images", "image_size": 8, "batch_size": 8,
                       "test_file": f"{folder}/lists/test.csv"}, images),
        "SyntheticDigits": (DIGITS, MLP),
        "Csv": ({**tables["MLPClassifier"][1], "test_file": f"{folder}/tables/test.csv"}, tables["MLPClassifier"][0]),
        **{name: ({f"{key}files": [f"{folder}/tables/{part}.{ending}"] for key, part in (("", "train"), ("val_", "val"), ("test_", "test"))} |
                  {"fields": {"input": "left,right", "category": "color", "target": "label"}, "batch_size": 16},
                  tables["MLPClassifier"][0])
           for name, ending in (("Parquet", "parquet"), ("Hdf5", "h5"), ("JsonLines", "jsonl"))},
        "Npy": ({**tables["ProgramModule"][1], **arrays}, classifier),
        "PythonDataset": ({"file": f"{folder}/python_data.py"}, classifier),
        "Mixture": ({"datasets": [{**tables["ProgramModule"][1], **arrays},
                                  {"class": "Npy", "input": f"{folder}/arrays/test_input.npy",
                                   "target": f"{folder}/arrays/test_target.npy"}]}, classifier),
        "Tar": ({"shards": [f"{folder}/shards/{{0..3}}.tar"], "val_shards": [f"{folder}/shards/4.tar"],
                 "test_shards": [f"{folder}/shards/5.tar"], "input": "npy"}, images),
        "TextJsonl": ({"files": [f"{folder}/lines/train.jsonl"], "val_files": [f"{folder}/lines/val.jsonl"],
                       "test_files": [f"{folder}/lines/test.jsonl"], "tokenizer": f"{folder}/llama"}, tables["CausalLM"][0]),
        "TextPreferences": (preferences(folder), {**tables["CausalLM"][0], "objective": OBJECTIVES["DPO"](folder)}),
        **{tables[name][1]["class"]: (tables[name][1], tables[name][0])
           for name in ("SequenceClassifier", "TokenClassifier", "SentenceEncoder")},
        "TokenFile": ({**tables["CausalLM"][1], "val_files": [f"{folder}/lines/val.bin"],
                       "test_files": [f"{folder}/lines/test.bin"]}, tables["CausalLM"][0]),
        "Text": ({**tables["LanguageModel"][1], "level": "characters"}, {**tables["LanguageModel"][0], "vocab_size": 10}),
    }


def base_of(kind, name, folder):
    """The config, and the keys that lead to the options of this class."""
    if kind == "trainer":
        return config(), ("trainer",)
    if kind == "module":
        model, data = models(folder)[name]
        return config(model=model, data=data), ("model",)
    if kind == "data_module":
        data, model = data_modules(folder)[name]
        return config(model=model, data={"class": name, "batch_size": 16, **data}), ("data",)
    if kind == "optimizer":
        return config(model={**MLP, "optimizer": {"class": name, **OPTIMIZERS.get(name, {})}}), ("model", "optimizer")
    if kind == "objective":
        model, data = models(folder)["CausalLM"]
        if name == "DPO":
            data = {"class": "TextPreferences", "batch_size": 16, **preferences(folder)}
        return config(model={**model, "objective": OBJECTIVES[name](folder)}, data=data), ("model", "objective")
    if kind == "adapter":
        model, data = models(folder)["CausalLM"]
        return config(model={**model, "adapter": {"class": name}}, data=data), ("model", "adapter")
    if kind == "lr_scheduler":
        scheduler = {"class": name, **SCHEDULERS.get(name, {})}
        if name in BY_STEP:
            scheduler["interval"] = "step"
        optimizer = {"class": "SGD", "lr": 0.1, "momentum": 0.9}
        return (config({"max_epochs": 4}, model={**MLP, "optimizer": optimizer, "lr_scheduler": scheduler}),
                ("model", "lr_scheduler"))
    if kind == "transform":
        transform = {"class": name, **TRANSFORMS.get(name, {})}
        place = "batch_transforms" if name in ON_BATCHES else "transforms"
        before = [] if name in ON_BATCHES or name == "ConvertImage" else [{"class": "ConvertImage"}]
        after = [] if name in ON_BATCHES else [{"class": "Resize", "size": [32, 32]}]
        if name == "Normalize":  # the others' data are normalized already
            data, model = data_modules(folder)["Tar"]
            data = {**data, "class": "Tar", "input": "png", "val_transforms": before, "transforms": before + [transform]}
            return config({"max_epochs": 1}, model, data), ("data", "transforms", 1)
        data = {"class": "CIFAR10", "root": f"{folder}/cifar", "batch_size": 16, place: before + [transform] + after}
        return config({"max_epochs": 1}, model=COLOR, data=data), ("data", place, len(before))
    if name == "BackboneFinetuning":
        _, data = models(folder)["ProgramModule"]
        model = {"class": "ProgramModule", "program": f"{folder}/programs/parts.pt2", "optimizer": {"class": "SGD", "lr": 0.1}}
        return (config({"max_epochs": 3, "callbacks": [{"class": name, **CALLBACKS[name]}]}, model, data),
                ("trainer", "callbacks", 0))
    if kind == "callback" and name == "SampleText":
        model, data = models(folder)["CausalLM"]
        texts = {"class": name, "prompts": ["abc"], "tokens": 4}
        return config({"callbacks": [texts]}, model=model, data=data), ("trainer", "callbacks", 0)
    if kind == "callback" and name == "SampleImages":
        return config({"callbacks": [{"class": name, "source": "batch"}]}), ("trainer", "callbacks", 0)
    if kind == "callback":
        alone = config({"callbacks": [{"class": name, **CALLBACKS.get(name, {})}]})
        return merged(alone, AROUND_CALLBACKS.get(name, {})), ("trainer", "callbacks", 0)
    if kind == "logger":
        return config({"logger": ["CSVLogger", {"class": name, **LOGGERS.get(name, {})}]}), ("trainer", "logger", 1)
    if kind == "strategy":
        ranks = {} if name in ("auto", "single_device") else {"devices": 2}
        return config({**ranks, "strategy": {"class": name}}), ("trainer", "strategy")
    if kind == "profiler":
        return config({"profiler": {"class": name}}), ("trainer", "profiler")
    raise SystemExit(f"the schema has a new kind of class, {kind}: bases.py says where it stands in a config")


def command_of(option):
    found = re.search("test|predict", option)
    return found.group() if found else "fit"
