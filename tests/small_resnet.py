"""A folder as transformers writes it, without transformers: a small residual network for images of 8x8 pixels."""

import json

import numpy
import safetensors.numpy

RESNET = {"model_type": "resnet", "architectures": ["ResNetForImageClassification"], "num_channels": 3, "embedding_size": 4,
          "hidden_sizes": [4, 6], "depths": [1, 1], "layer_type": "basic", "hidden_act": "relu", "dtype": "float32"}
PREPROCESSOR = {"image_processor_type": "ConvNextImageProcessor", "do_resize": True, "do_rescale": True, "do_normalize": True,
                "size": {"shortest_edge": 8}, "crop_pct": 0.875, "resample": 3, "rescale_factor": 1 / 255,
                "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
CLASSES = 2


def layer_sizes():
    """Convolutions by name, with a batch norm behind each: output and input channels, and the kernel."""
    layers = {"embedder.embedder": (4, 3, 7), "encoder.stages.1.layers.0.shortcut": (6, 4, 1)}
    for stage, (width, before) in enumerate(((4, 4), (6, 4))):
        layers |= {f"encoder.stages.{stage}.layers.0.layer.{i}": (width, before if i == 0 else width, 3) for i in range(2)}
    return layers


def write_resnet(folder, more=None):
    """A network of two classes without names; `more` is added to its config.json."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**RESNET, **(more or {})}, indent=2))
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR, indent=2))
    random = numpy.random.default_rng(1)
    weights = {"classifier.1.weight": random.normal(size=(CLASSES, 6)), "classifier.1.bias": numpy.zeros(CLASSES)}
    for name, (out, into, kernel) in layer_sizes().items():
        weights[f"resnet.{name}.convolution.weight"] = random.normal(size=(out, into, kernel, kernel)) / kernel
        ones, zeros = numpy.ones(out), numpy.zeros(out)
        for part, values in (("weight", ones), ("bias", zeros), ("running_mean", zeros), ("running_var", ones)):
            weights[f"resnet.{name}.normalization.{part}"] = values
    weights = {name: numpy.ascontiguousarray(values, numpy.float32) for name, values in weights.items()}
    for name in layer_sizes():
        weights[f"resnet.{name}.normalization.num_batches_tracked"] = numpy.array(0, numpy.int64)
    safetensors.numpy.save_file(weights, folder / "model.safetensors", {"format": "pt"})
