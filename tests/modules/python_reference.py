"""Prints as JSON what PyTorch computes, for the tests of modules/.

usage: python_reference.py WHAT CASES_JSON [FOLDER]
WHAT: optimizers, optimizers32, fused, muon, muon32, sparse_adam, schedule_free, situations, lbfgs, schedulers, scheduler_states, resume, clip, ema or grad_scaler
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


class ByFormula(torch.optim.Optimizer):
    """An optimizer that PyTorch does not have, by the formulas of its paper."""

    DEFAULTS = {}
    NAMES = ()

    def __init__(self, params, **options):
        super().__init__(params, self.DEFAULTS | options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                for name in self.NAMES:
                    state.setdefault(name, torch.zeros_like(p))
                state["step"] = state.get("step", 0) + 1
                self.update(p, -p.grad if group["maximize"] else p.grad, state, group)

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        for state in self.state.values():
            if "step" in state:
                state["step"] = int(state["step"])


class Lion(ByFormula):
    DEFAULTS = {"lr": 1e-4, "betas": (0.9, 0.99), "weight_decay": 0, "maximize": False}
    NAMES = ("exp_avg",)

    def update(self, p, g, state, o):
        (b1, b2), m = o["betas"], state["exp_avg"]
        p.copy_(p * (1 - o["lr"] * o["weight_decay"]) - o["lr"] * torch.sign(b1 * m + (1 - b1) * g))
        m.copy_(b2 * m + (1 - b2) * g)


def trust(of_parameter, other, ratio):
    return ratio if of_parameter > 0 and other > 0 else 1.0


class LAMB(ByFormula):
    DEFAULTS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0, "maximize": False}
    NAMES = ("exp_avg", "exp_avg_sq")

    def update(self, p, g, state, o):
        (b1, b2), m, v = o["betas"], state["exp_avg"], state["exp_avg_sq"]
        m.copy_(b1 * m + (1 - b1) * g)
        v.copy_(b2 * v + (1 - b2) * g * g)
        r = m / (1 - b1 ** state["step"]) / ((v / (1 - b2 ** state["step"])).sqrt() + o["eps"]) + o["weight_decay"] * p
        p.sub_(o["lr"] * trust(p.norm(), r.norm(), p.norm() / r.norm()) * r)


class LARS(ByFormula):
    DEFAULTS = {"lr": 1e-3, "momentum": 0.9, "weight_decay": 0, "trust_coefficient": 1e-3, "eps": 1e-8,
                "nesterov": False, "maximize": False}
    NAMES = ("momentum_buffer",)

    def update(self, p, g, state, o):
        decay, buffer = o["weight_decay"], state["momentum_buffer"]
        ratio = o["trust_coefficient"] * p.norm() / (g.norm() + decay * p.norm() + o["eps"])
        g = trust(p.norm(), g.norm(), ratio) * (g + decay * p)
        buffer.copy_(o["momentum"] * buffer + g)
        p.sub_(o["lr"] * (g + o["momentum"] * buffer if o["nesterov"] else buffer))


def make(module, case, *args):
    kind = globals().get(case["class"]) or getattr(module, case["class"])
    return kind(*args, **{k: v for k, v in case.items() if k != "class"})


def optimizers(case):
    params = parameters()
    train(make(torch.optim, case, params), params, 100)
    return values(params)


def fused(case):
    torch.set_default_dtype(torch.float32)
    params = [fill(37, 3).requires_grad_(), fill(5).requires_grad_()]
    optimizer = make(torch.optim, case, params)
    for step in range(200):
        for p in params:
            p.grad = (p.detach() * (1.7 + step)).cos() * 0.3
        optimizer.step()
    return values(params)


def complex_optimizers(case):
    p = torch.complex(fill(3, 4), fill(4, 3).t().contiguous()).requires_grad_()
    optimizer = make(torch.optim, case, [p])
    for _ in range(20):
        optimizer.zero_grad()
        (p * torch.complex(fill(3, 4), -fill(3, 4)) - 1).abs().square().sum().backward()
        optimizer.step()
    return torch.view_as_real(p.detach()).flatten().tolist()


def optimizers32(case):
    torch.set_default_dtype(torch.float32)
    return optimizers(case)


def muon(case):
    """Muon for the two matrices, AdamW for the bias."""
    params = parameters()
    others = case.pop("others", {})
    steppers = [torch.optim.Muon([params[0], params[2]], **case), torch.optim.AdamW([params[1]], **others)]

    class Both:
        def zero_grad(self):
            for one in steppers:
                one.zero_grad()

        def step(self):
            for one in steppers:
                one.step()

    train(Both(), params, 30)
    return values(params)


def muon32(case):
    torch.set_default_dtype(torch.float32)
    return muon(case)


def sparse_adam(case):
    """60 batches of an embedding with sparse gradients."""
    clip, window = case.pop("clip", None), case.pop("accumulate", 1)
    table = fill(7, 4).requires_grad_()
    optimizer = torch.optim.SparseAdam([table], **case)
    for step in range(60):
        if step % window == 0:
            optimizer.zero_grad()
        rows = torch.nn.functional.embedding(torch.tensor([step % 7, 1, 1]), table, sparse=True)
        (rows * fill(3, 4) - 1).square().mean().backward()
        if step % window != window - 1:
            continue
        if clip is not None:
            norm = table.grad.coalesce().values().norm()  # PyTorch's function does not take sparse gradients
            table.grad = table.grad.coalesce() * min(1, clip / (norm + 1e-6))
        optimizer.step()
    return values([table])


def schedule_free(case):
    """AdamW by the formulas of "The Road Less Scheduled", in x, y and z."""
    o = {"lr": 0.0025, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "warmup_steps": 0, "r": 0,
         "weight_lr_power": 2} | case
    (b1, b2), params = o["betas"], parameters()
    x, z, v = ([p.detach().clone() for p in params] for _ in range(3))
    v = [torch.zeros_like(p) for p in params]
    largest = total = 0.0

    class Steps:
        step_count = 0

        def zero_grad(self):
            for p in params:
                p.grad = None

        @torch.no_grad()
        def step(self):
            nonlocal largest, total
            self.step_count += 1
            t = self.step_count
            rate = o["lr"] * min(1, t / o["warmup_steps"] if o["warmup_steps"] else 1)
            largest = max(largest, rate)
            weight = t ** o["r"] * largest ** o["weight_lr_power"]
            total += weight
            c = weight / total
            for i, p in enumerate(params):
                v[i] = b2 * v[i] + (1 - b2) * p.grad ** 2
                direction = p.grad / ((v[i] / (1 - b2**t)).sqrt() + o["eps"]) + o["weight_decay"] * p
                z[i] = z[i] - rate * direction
                x[i] = (1 - c) * x[i] + c * z[i]
                p.copy_((1 - b1) * z[i] + b1 * x[i])

    train(Steps(), params, 100)
    return {"y": values(params), "x": values(x)}


def situations(case):
    """100 steps of an embedding (one table for input and output where "tied") and a linear layer."""
    table, weight, unused = fill(7, 4).requires_grad_(), fill(7, 4).requires_grad_(), fill(3).requires_grad_()
    out = table if case["tied"] else weight
    if case["frozen"]:
        weight.requires_grad_(False)
    groups = [{"params": [table]}, {"params": [p for p in (weight, unused) if p.requires_grad],
                                    "lr": case["rate"]}]
    optimizer = make(torch.optim, case["optimizer"], groups)
    for step in range(100):
        optimizer.zero_grad()
        rows = torch.nn.functional.embedding(torch.tensor([step % 7, 1, 1]), table, sparse=case["sparse"])
        loss = (rows @ out.t() - fill(3, 7)).square().mean()
        if step % 3 == 0:
            loss = loss + (unused * fill(3)).sum().square()
        loss.backward()
        optimizer.step()
    return values([table, weight, unused])


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
    if case["class"] == "SWALR":
        return torch.optim.swa_utils.SWALR(optimizer, **options)
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


def ema(case):
    def set_values(net, step):
        shift = step
        for p in net.parameters():
            shift += 1
            p.copy_((torch.arange(p.numel()).double() + shift).sin().reshape(p.shape))
        for b in net.buffers():
            shift += 1
            b.copy_((torch.arange(b.numel()).double() + shift).reshape(b.shape))

    with torch.no_grad():
        net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        average = torch.optim.swa_utils.get_ema_multi_avg_fn(case["decay"])
        averaged = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=average, use_buffers=case["use_buffers"])
        for step in range(5):
            set_values(net, step)
            averaged.update_parameters(net)
        return {name: tensor.flatten().tolist() for name, tensor in averaged.state_dict().items()}


def grad_scaler(case):
    """Scale and growth tracker after each of 2,000 steps with planted infinities, and the parameters at the end."""
    dtype = getattr(torch, case["dtype"])
    params = [p.detach().to(dtype).requires_grad_() for p in parameters()]
    w1, b, w2 = params
    data, target = fill(8, 3).to(dtype), fill(8, 2).to(dtype)
    optimizer = torch.optim.SGD(params, lr=0.01, momentum=0.9)
    options = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
    scaler = torch.amp.GradScaler("cpu", **{name: case[name] for name in options})
    course = []
    for step in range(2000):
        optimizer.zero_grad()
        scaler.scale(((data @ w1 + b).tanh() @ w2 - target).square().mean()).backward()
        if any(step % every == every - 1 for every in case["infinite_every"]):
            b.grad[2] = math.inf if step % 2 else -math.inf
        if step % 97 == 96:
            w1.grad[0][0] = math.nan
        if step % 3 == 0:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        course += [scaler.get_scale(), scaler.state_dict()["_growth_tracker"]]
    return course + values(params)


cases = json.loads(sys.argv[2])
if sys.argv[1] in ("resume", "scheduler_states"):
    cases = list(enumerate(cases))
print(json.dumps([globals()[sys.argv[1]](case) for case in cases]))
