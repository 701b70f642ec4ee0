"""torchmetrics on the data of metrics.cpp: microseconds of an update, and of compute after 100, as JSON lines.

usage: metrics.py
"""

import json
import time

import torch
import torchmetrics

UPDATES = 100


def measure(name, metric, preds, target):
    """The least of three rounds."""
    best = {}
    for round_ in range(4):  # the first one warms up
        metric.reset()
        begin = time.perf_counter()
        for _ in range(UPDATES):
            metric.update(preds, target)
        middle = time.perf_counter()
        metric.compute()
        figures = {"update_us": (middle - begin) * 1e6 / UPDATES, "compute_us": (time.perf_counter() - middle) * 1e6}
        best = {k: min(v, best[k]) for k, v in figures.items()} if round_ > 1 else figures
    print(json.dumps({"metric": name} | {k: round(v, 2) for k, v in best.items()}))


torch.manual_seed(1)
scores, classes = torch.randn(256, 10).softmax(1), torch.randint(10, (256,))
multiclass = {"task": "multiclass", "num_classes": 10}
measure("Accuracy", torchmetrics.Accuracy(**multiclass), scores, classes)
measure("F1Score", torchmetrics.F1Score(**multiclass, average="macro"), scores, classes)
measure("ConfusionMatrix", torchmetrics.ConfusionMatrix(**multiclass), scores, classes)
measure("AUROC", torchmetrics.AUROC(**multiclass), scores, classes)
measure("MeanSquaredError", torchmetrics.MeanSquaredError(), torch.randn(256), torch.randn(256))
