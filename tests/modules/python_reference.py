"""Prints as JSON what PyTorch computes, for the tests of modules/.

usage: python_reference.py optimizers|lbfgs|schedulers|scheduler_states|resume|clip CASES_JSON [FOLDER]
"""

import json
import math
import sys
import warnings

import torch

warnings.simplefilter("ignore")  # of schedulers that step without their optimizer

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


def lbfgs(case):
    """The point after each of ten steps down an ill-conditioned quadratic."""
    scale, goal = 10 ** torch.linspace(0, 3, 6), fill(6)
    point = torch.zeros(6, requires_grad=True)
    optimizer = make(torch.optim, case, [point])

    def closure():
        optimizer.zero_grad()
        loss = (scale * (point - goal).square()).sum()
        loss.backward()
        return loss

    path = []
    for _ in range(10):
        optimizer.step(closure)
        path += point.tolist()
    return path


FUNCTIONS = {
    "decay": lambda x: 0.98**x,
    "wave": lambda x: 1 + 0.5 * math.sin(0.1 * x),
    "almost_one": lambda x: 0.995 + 0.005 * math.sin(x),
}


def function(name):
    return [FUNCTIONS[n] for n in name] if isinstance(name, list) else FUNCTIONS[name]


def warmup_cosine(optimizer, warmup_steps, total_steps, warmup_start_factor=0.01, eta_min=0.0):
    """levin's WarmupCosine, which PyTorch does not have."""
    def rule(base):
        def factor(step):
            if step < warmup_steps:
                return warmup_start_factor + (1 - warmup_start_factor) * step / warmup_steps
            progress = (min(step, total_steps) - warmup_steps) / (total_steps - warmup_steps)
            return (eta_min + (base - eta_min) * (1 + math.cos(math.pi * progress)) / 2) / base
        return factor
    rules = [rule(group["lr"]) for group in optimizer.param_groups]
    return torch.optim.lr_scheduler.LambdaLR(optimizer, rules)


def scheduler_of(case, optimizer):
    options = {k: v for k, v in case.items() if k != "class"}
    for key in ("lr_lambda", "scale_fn"):
        if key in options:
            options[key] = function(options[key])
    if "schedulers" in options:
        options["schedulers"] = [scheduler_of(inner, optimizer) for inner in options["schedulers"]]
    if case["class"] == "ChainedScheduler":
        return torch.optim.lr_scheduler.ChainedScheduler(optimizer=optimizer, **options)
    if case["class"] == "WarmupCosine":
        return warmup_cosine(optimizer, **options)
    return getattr(torch.optim.lr_scheduler, case["class"])(optimizer, **options)


def scheduled(case):
    w1, b, w2 = parameters()
    rates = case["rates"]
    groups = [{"params": [w1, b, w2]}] if len(rates) == 1 else [{"params": [w1]}, {"params": [b, w2]}]
    for group, rate in zip(groups, rates):
        group["lr"] = rate
    optimizer = make(torch.optim, case["optimizer"], groups)
    return optimizer, scheduler_of(case["lr_scheduler"], optimizer)


def metric(step):
    return math.nan if step % 41 == 40 else math.sin(0.37 * step) / (1 + 0.02 * step)


def scheduler_step(case, optimizer, scheduler, step):
    follows = isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
    scheduler.step(*([metric(step)] if follows else []))
    if step in case.get("halved_after", []):
        for group in optimizer.param_groups:
            group["lr"] *= 0.5


def row(optimizer):
    """Rate and momentum (or beta1) of each group."""
    values = []
    for group in optimizer.param_groups:
        values += [group["lr"], group["betas"][0] if "betas" in group else group.get("momentum", 0)]
    return values


def schedulers(case):
    """The rows of 300 steps, and before them."""
    optimizer, scheduler = scheduled(case)
    rows = [row(optimizer)]
    for step in range(300):
        scheduler_step(case, optimizer, scheduler, step)
        rows.append(row(optimizer))
    return rows


def scheduler_states(case):
    """Writes the states after 150 steps for levin."""
    index, case = case
    optimizer, scheduler = scheduled(case)
    for step in range(150):
        scheduler_step(case, optimizer, scheduler, step)
    torch.save({"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()},
               f"{sys.argv[3]}/python_{index}.pt")


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
if sys.argv[1] in ("resume", "scheduler_states"):
    cases = list(enumerate(cases))
print(json.dumps([globals()[sys.argv[1]](case) for case in cases]))
