"""Prints as JSON what torchvision.transforms.v2.functional makes of test images, or null where there is no torchvision.

usage: torchvision_reference.py transforms CASES_JSON [FOLDER]     FOLDER: where torchvision lies, if not in the Python
"""

import json
import sys

import torch


def load_torchvision():
    # A build for another device has no operators here; their names are enough to import it.
    lib = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        try:
            lib.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        except RuntimeError:
            pass
    try:
        from torchvision.transforms.v2 import functional
    except (ImportError, RuntimeError):
        return None, lib
    return functional, lib


def images_of(sizes, floating):
    count = 1
    for size in sizes:
        count *= size
    i = torch.arange(count)
    images = ((i * 37 + (i * i % 101) * 13) % 256).to(torch.uint8).reshape(sizes)
    return images.to(torch.float32).div(255) if floating else images


def main():
    cases = json.loads(sys.argv[2])
    if len(sys.argv) > 3 and sys.argv[3]:
        sys.path.insert(0, sys.argv[3])
    functional, _lib = load_torchvision()
    if functional is None:
        print("null")
        return
    out = []
    for case in cases:
        arguments = dict(case["arguments"])
        if "dtype" in arguments:
            arguments["dtype"] = getattr(torch, arguments["dtype"])
        if "interpolation" in arguments:
            modes = functional.InterpolationMode if hasattr(functional, "InterpolationMode") else None
            if modes is None:
                from torchvision.transforms import InterpolationMode as modes
            arguments["interpolation"] = modes(arguments["interpolation"])
        images = images_of(case["sizes"], case["floating"])
        result = getattr(functional, case["function"])(images, **arguments)
        out.append({"sizes": list(result.shape), "values": result.to(torch.float64).flatten().tolist()})
    print(json.dumps(out))


main()
