"""What PyTorch Lightning's learning-rate finder says, as JSON: `suggestion [{lrs, losses}, ...]` for given curves, and
`sweep [{input, target, weight, bias, batch_size, mode, ...}]` for a range test of a linear regression."""

import json
import logging
import os
import sys
import tempfile
import warnings

os.environ["TQDM_DISABLE"] = "1"
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.CRITICAL)

import lightning.pytorch as pl
import torch
from lightning.pytorch.tuner import Tuner
from lightning.pytorch.tuner.lr_finder import _LRFinder

logging.getLogger("lightning.pytorch").setLevel(logging.CRITICAL)


def number(value):
    return float("nan") if value is None else value


def suggestion(case):
    finder = _LRFinder("exponential", 1e-8, 1, len(case["lrs"]))
    finder.results = {"lr": case["lrs"], "loss": [number(value) for value in case["losses"]]}
    return finder.suggestion(case["skip_begin"], case["skip_end"])


class Regression(pl.LightningModule):
    def __init__(self, case):
        super().__init__()
        self.lr = 0.1
        self.net = torch.nn.Linear(4, 1)
        with torch.no_grad():
            self.net.weight.copy_(torch.tensor(case["weight"]))
            self.net.bias.copy_(torch.tensor(case["bias"]))

    def training_step(self, batch, batch_idx):
        return torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)


def sweep(case):
    data = torch.utils.data.TensorDataset(torch.tensor(case["input"]), torch.tensor(case["target"]))
    loader = torch.utils.data.DataLoader(data, batch_size=case["batch_size"])
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(max_epochs=1000, accelerator="cpu", logger=False, enable_checkpointing=False,
                             enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
                             accumulate_grad_batches=case["accumulate_grad_batches"])
        found = Tuner(trainer).lr_find(Regression(case), loader, min_lr=case["min_lr"], max_lr=case["max_lr"],
                                       num_training=case["num_training"], mode=case["mode"])
    return {"lr": found.results["lr"], "loss": found.results["loss"], "suggestion": found.suggestion()}


if __name__ == "__main__":
    answer = {"suggestion": suggestion, "sweep": sweep}[sys.argv[1]]
    print(json.dumps([answer(case) for case in json.loads(sys.argv[2])]))
