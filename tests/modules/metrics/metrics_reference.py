"""Prints as JSON what torchmetrics computes, for the tests of modules/metrics.

usage: metrics_reference.py metrics CASES_JSON DATA_FILE
       metrics_reference.py texts CASES_JSON

A case is [class, arguments, name of the data]; the file holds a list of [preds, target] batches under each name.
A result is {"shape": [...], "values": [...]} (NaN as null) or {"raises": class}.
"""

import json
import math
import sys
import warnings

import torch
import torchmetrics
import torchmetrics.image
import torchmetrics.retrieval
import torchmetrics.segmentation
import torchmetrics.text

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def find(name):
    for module in (torchmetrics, torchmetrics.image, torchmetrics.retrieval, torchmetrics.segmentation, torchmetrics.text):
        if hasattr(module, name):
            return getattr(module, name)
    raise KeyError(name)


def run(case, data):
    name, arguments, key = case
    arguments = dict(arguments)
    if name in ("R2Score", "ExplainedVariance"):
        arguments.pop("num_outputs", None)
    if "Similarity" in name and "reduction" in arguments and name != "CosineSimilarity":
        arguments["reduction"] = arguments["reduction"].replace("mean", "elementwise_mean")
    if "betas" in arguments:
        arguments["betas"] = tuple(arguments["betas"])
    metric = find(name)(**arguments)
    try:
        for inputs in data[key]:
            metric.update(*inputs)
        value = metric.compute()
    except Exception as error:
        return {"raises": type(error).__name__}
    return {"shape": list(value.shape), "values": [None if math.isnan(v) else v for v in value.flatten().tolist()]}


def run_texts(case):
    """Returns torchmetrics' value of texts, [class, arguments, batches of [preds, targets]]; of ROUGE one of its values."""
    name, arguments, batches = case
    arguments = dict(arguments)
    value = None
    if name == "ROUGEScore":
        value = arguments["rouge_key"] + "_" + arguments.pop("value", "fmeasure")
        arguments["rouge_keys"] = arguments.pop("rouge_key")
    metric = find(name)(**arguments)
    for preds, targets in batches:
        metric.update(preds, targets if name in ("BLEUScore", "ROUGEScore") else [one[0] for one in targets])
    result = metric.compute()
    return float(result if value is None else result[value])


if sys.argv[1] == "texts":
    print(json.dumps([run_texts(case) for case in json.loads(sys.argv[2])]))
else:
    data = torch.load(sys.argv[3], weights_only=True)
    print(json.dumps([run(case, data) for case in json.loads(sys.argv[2])]))
