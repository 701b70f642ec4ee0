"""Networks as torchvision publishes them, in its smallest forms; none where there is no torchvision."""

import os
import sys

import torch


class Named(torch.nn.Module):
    """A network whose input has the name that the batch has."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, input):
        return self.network(input)


def models():
    """torchvision.models, or None. The folder LEVIN_TEST_TORCHVISION may hold a torchvision that Python lacks."""
    sys.path[:0] = [folder for folder in [os.environ.get("LEVIN_TEST_TORCHVISION")] if folder]
    # A build for another device has no operators here; their names are enough to import it.
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        try:
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        except RuntimeError:
            pass
    try:
        from torchvision import models as found
    except (ImportError, RuntimeError):
        return None
    models.library = library  # which goes with its definitions
    return found


def networks():
    """What makes each network with 10 classes, and the pictures' size."""
    found = models()
    if found is None:
        return {}
    made = lambda name: lambda: Named(getattr(found, name)(num_classes=10))
    return {"torchvision_resnet18": (made("resnet18"), 64), "torchvision_resnet50": (made("resnet50"), 32),
            "torchvision_mobilenet_v3": (made("mobilenet_v3_small"), 64), "torchvision_efficientnet": (made("efficientnet_b0"), 64),
            "torchvision_convnext": (made("convnext_tiny"), 64), "torchvision_swin": (made("swin_t"), 64),
            "torchvision_densenet": (made("densenet121"), 64),
            "torchvision_vit": (lambda: Named(found.VisionTransformer(32, 8, 3, 3, 48, 96, dropout=0.1, num_classes=10)), 32)}
