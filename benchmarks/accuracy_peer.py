"""configs/mnist_lenet.json under PyTorch Lightning: seconds and validation accuracy after each epoch, as JSON lines.

usage: accuracy_peer.py CONFIG.json MNIST_FOLDER EPOCHS
"""

import json
import os
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "parity"))
import lightning_run as reference  # noqa: E402
from lightning.pytorch import Trainer  # noqa: E402


class Timed(reference.ImageClassifier):
    def on_fit_start(self):
        self.begin = time.perf_counter()

    def on_validation_epoch_end(self):
        metrics = self.trainer.callback_metrics
        print(json.dumps({"seconds": time.perf_counter() - self.begin, "val_acc": metrics["val_acc"].item()}), flush=True)


config, root, epochs = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
torch.manual_seed(config["seed"])
train, validation = (
    torch.utils.data.DataLoader(reference.mnist(root, split), config["data"]["batch_size"], shuffle=split == "train")
    for split in ("train", "val"))
config["model"]["lr_scheduler"]["total_steps"] = epochs * len(train)
trainer = Trainer(accelerator="cpu", max_epochs=epochs, gradient_clip_val=config["trainer"]["gradient_clip_val"],
                  num_sanity_val_steps=0, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                  enable_model_summary=False)
trainer.fit(Timed(config["model"]), train, validation)
