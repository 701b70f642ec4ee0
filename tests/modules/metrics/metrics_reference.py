"""Prints as JSON what torchmetrics computes, for the tests of modules/metrics.

usage: metrics_reference.py all null FOLDER

FOLDER/cases.json has requests by name, each of a kind (RUN) and with cases; FOLDER/data.pt has batches by the request's
name and a name. A case of metrics is [class, arguments, name of the batches]. Its result is {"shape": [...], "values": [...]} (NaN as null) or {"raises": class}.
"""

import json
import math
import pathlib
import sys
import warnings

import torch
import torchmetrics
import torchmetrics.image
import torchmetrics.retrieval
import torchmetrics.segmentation
import torchmetrics.text
import torchmetrics.wrappers

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


def listed(value):
    """What a wrapper computes, as a list."""
    parts = value.values() if isinstance(value, dict) else [value]
    return [None if math.isnan(v) else v for part in parts for v in part.flatten().tolist()]


def run_wrapper(case, data):
    """The values of [class, arguments, class and arguments of the wrapped metric, name of the data, what is done in turn]."""
    name, arguments, (wrapped, wrapped_arguments), key, script = case
    arguments = dict(arguments)
    torch.manual_seed(arguments.pop("seed", 0))
    metric = getattr(torchmetrics.wrappers, name)(find(wrapped)(**wrapped_arguments), **arguments)
    values, batches = [], iter(data[key])
    for step in script:
        if step == "forward":
            values.append(listed(metric(*next(batches))))
        elif step == "update":
            metric.update(*next(batches))
        elif step == "reset":
            metric.reset()
        else:
            values.append(listed(metric.compute()))
    return values


def run_curve(case, data):
    """The curves of a class: lists of x, y and thresholds, one for each class or label."""
    name, arguments, key = case
    metric = find(name)(**arguments)
    for inputs in data[key]:
        metric.update(*inputs)
    result = metric.compute()
    if not isinstance(result[0], list) and result[0].dim() == 1:
        result = [[one] for one in result]
    columns = len(result[0])
    def of_column(part, column):
        return part[column] if isinstance(part, list) or part.dim() > 1 else part
    return [[[None if math.isnan(v) else v for v in of_column(part, column).tolist()] for part in result] for column in range(columns)]


RUN = {"metrics": run, "texts": lambda case, data: run_texts(case), "wrappers": run_wrapper, "curves": run_curve}
folder = pathlib.Path(sys.argv[3])
data = torch.load(folder / "data.pt", weights_only=True)
requests = json.loads((folder / "cases.json").read_text())
print(json.dumps({name: [RUN[request["kind"]](case, data[name]) for case in request["cases"]] for name, request in requests.items()}))
