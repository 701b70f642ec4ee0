"""Prints as JSON what levin's detection must compute, for detection_test.

usage: detection_reference.py map CASES_JSON DATA_FILE
       detection_reference.py network [OPTIONS_JSON] FOLDER
"""

import json
import sys

import torch

import coco_reference
import fcos_reference

torch.set_num_threads(1)

what, cases, path = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
if what == "map":
    data = torch.load(path, weights_only=True)
    results, compared, read = [], 0, {}
    for name, options in cases:
        key = name, options.get("box_format", "xyxy")
        if key not in read:
            read[key] = coco_reference.images_of(data[name], key[1])
        images = read[key]
        compared += coco_reference.check_pycocotools(images, options)
        results.append(coco_reference.value_of(images, options))
    if compared:
        print(f"pycocotools agrees in {compared} cases", file=sys.stderr)
    print(json.dumps(results))

elif what == "network":
    # The losses, their gradients and the detections of a network with the weights of data.pt, into results.pt.
    data = torch.load(f"{path}/data.pt", weights_only=True)
    network = fcos_reference.Network(**cases[0])
    network.load_state_dict(data["weights"])
    images = data["images"]
    network.to(images.dtype)
    objects = [[(*box.tolist(), int(label)) for box, label in zip(boxes, labels) if label >= 0]
               for boxes, labels in zip(data["boxes"], data["labels"])]
    losses = fcos_reference.losses(network, images, objects)
    sum(losses).backward()
    torch.save({"losses": torch.stack(losses).detach(),
                "gradients": {name: one.grad for name, one in network.named_parameters()}}, f"{path}/results.pt")
    found = fcos_reference.detect(network, images, most=20)
    print(json.dumps([[[score, label, *box] for score, label, box in one] for one in found]))
