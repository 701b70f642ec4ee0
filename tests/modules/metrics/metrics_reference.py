"""Prints as JSON what torchmetrics computes, for the tests of modules/metrics.

usage: metrics_reference.py metrics CASES_JSON DATA_FILE

A case is [class, arguments, name of the data]; the file holds a list of [preds, target] batches under each name.
A result is {"shape": [...], "values": [...]} (NaN as null) or {"raises": class}.
"""

import json
import math
import sys
import warnings

import torch
import torchmetrics
import torchmetrics.segmentation
import torchmetrics.text

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def find(name):
    for module in (torchmetrics, torchmetrics.segmentation, torchmetrics.text):
        if hasattr(module, name):
            return getattr(module, name)
    raise KeyError(name)


def run(case, data):
    name, arguments, key = case
    arguments = dict(arguments)
    if name == "R2Score":
        arguments.pop("num_outputs", None)
    metric = find(name)(**arguments)
    try:
        for preds, target in data[key]:
            metric.update(preds, target)
        value = metric.compute()
    except Exception as error:
        return {"raises": type(error).__name__}
    return {"shape": list(value.shape), "values": [None if math.isnan(v) else v for v in value.flatten().tolist()]}


data = torch.load(sys.argv[3], weights_only=True)
print(json.dumps([run(case, data) for case in json.loads(sys.argv[2])]))
