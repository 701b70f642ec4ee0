"""Prints as JSON what PyTorch computes, for the tests of modules/.

usage: python_reference.py optimizers|schedulers|resume|clip CASES_JSON [FOLDER]
"""

import json
import math
import sys

import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def fill(*shape):
    return (torch.arange(math.prod(shape)) * 0.37).sin().reshape(shape)


def parameters():
    return [fill(3, 4).requires_grad_(), fill(4).requires_grad_(), fill(4, 2).requires_grad_()]


def train(optimizer, params, steps):
    w1, b, w2 = params
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((fill(8, 3) @ w1 + b).tanh() @ w2 - fill(8, 2)).square().mean()
        loss.backward()
        optimizer.step()


def values(params):
    return [v for p in params for v in p.detach().flatten().tolist()]


def make(module, case, *args):
    return getattr(module, case["class"])(*args, **{k: v for k, v in case.items() if k != "class"})


def optimizers(case):
    params = parameters()
    train(make(torch.optim, case, params), params, 100)
    return values(params)


def schedulers(case):
    optimizer = make(torch.optim, case["optimizer"], parameters())
    scheduler = make(torch.optim.lr_scheduler, case["lr_scheduler"], optimizer)
    rows = []
    for step in range(301):
        group = optimizer.param_groups[0]
        rows.append([group["lr"], group["betas"][0] if "betas" in group else group.get("momentum", 0)])
        optimizer.step()
        if step < 300:
            scheduler.step()
    return rows


def resume(case):
    """Goes on from levin's file, and writes one for levin."""
    index, case = case
    saved = torch.load(f"{sys.argv[3]}/levin_{index}.pt", weights_only=True)
    params = [p.detach().clone().requires_grad_() for p in saved["weights"]]
    optimizer = make(torch.optim, {"class": case["class"]}, params)
    optimizer.load_state_dict(saved["optimizer"])
    train(optimizer, params, 20)
    torch.save({"weights": [p.detach() for p in params], "optimizer": optimizer.state_dict()},
               f"{sys.argv[3]}/python_{index}.pt")
    train(optimizer, params, 20)
    return values(params)


def clip(max_norm):
    params = [p.detach().float().requires_grad_() for p in parameters()]
    for p in params:
        p.grad = (p.detach() * 3).float()
    norm = torch.nn.utils.clip_grad_norm_(params, max_norm)
    return [norm.item()] + [v for p in params for v in p.grad.flatten().tolist()]


cases = json.loads(sys.argv[2])
if sys.argv[1] == "resume":
    cases = list(enumerate(cases))
print(json.dumps([globals()[sys.argv[1]](case) for case in cases]))
