"""Cases whose items cover all pairs.

A case is a dictionary from slots to items. Pairs count between coarse items, and between any item and the modes (strategy, relation,
kind of step, precision, kind of data); options of one class also count with each other. What a case would contradict by itself is
never drawn together: `contradicts` knows that. What levin refuses is drawn, and its refusal is compared.
"""

import functools
import json
import random

from schema import Item

MODES = ("strategy", "relation", "steps", "precision", "data.kind")
RANKS = ("ddp", "zero1", "fsdp")
PARTS = ("tied", "frozen", "empty", "scalar", "complex", "integer", "boolean", "strided", "bf16_buffer", "in_turn", "unused",
         "sparse", "batch_norm", "dropout")
RELATIONS = ("resume", "ranks", "session", "host", "again", "never", "manual", "pairs", "neutral")


def mode_items():
    items = [Item("strategy", json.dumps(s)) for s in ("one", "dp") + RANKS]
    items += [Item("relation", json.dumps(r)) for r in RELATIONS]
    items += [Item("steps", json.dumps(s)) for s in ("automatic", "manual", "adversarial")]
    items += [Item("precision", json.dumps(p)) for p in
              ("32-true", "64-true", "16-mixed", "bf16-mixed", "16-true", "bf16-true")]
    items += [Item("data.kind", json.dumps(k)) for k in ("mapped", "stream", "combined", "none_in_validation")]
    items += [Item(f"part.{p}", json.dumps(p)) for p in PARTS]
    items.append(Item("rate_of_head", "0.02"))
    return items


# What approximates, or draws on each rank: ranks differ from one process by design.
_NOT_WITH_RANKS = {
    "part.dropout", "part.batch_norm", "part.bf16_buffer", "part.complex", *(f"strategy.{name}.{what}_compression" for name in RANKS for what in ("gradient", "parameter")),
    "trainer.sync_batchnorm", "trainer.use_distributed_sampler", "trainer.num_threads", "trainer.overfit_batches",
    "trainer.accumulate_grad_batches=4", "callback.ModelPruning.pruning_fn", "callback.SpikeDetection", "trainer.auto_microbatch",
    "trainer.memory_format", "callback.DeviceStatsMonitor", "callback.ThroughputMonitor", "optimizer=Rprop", "optimizer=Lion",
}
# What changes when, how often or whether something happens: the two runs of a relation differ by design.
_ONLY_LENGTH = ("trainer.max_epochs", "trainer.max_steps", "trainer.min_epochs", "trainer.min_steps")
# A second fit begins from the weights alone.
_NOT_AGAIN = {"part.in_turn", "callback.ModelPruning", "callback.EMAWeightAveraging", "callback.StochasticWeightAveraging",
              "callback.BackboneFinetuning", "part.frozen", "part.sparse"}
_NOT_MANUAL = {"lr_scheduler=ReduceLROnPlateau", "optimizer=LBFGS", "trainer.accumulate_grad_batches", "callback.GradientAccumulationScheduler",
               "trainer.gradient_clip_val", "trainer.detect_anomaly", "data.kind=combined"}
# Callbacks that begin at a step or an epoch, and the options that say when.
STARTS = {"EMAWeightAveraging": (("update_starting_at_step",), ("update_starting_at_step", "update_starting_at_epoch")),
          "StochasticWeightAveraging": (("swa_epoch_start",),)}
# Parts of a run that only look on, or say what is so anyway.
LOOKERS = ("LearningRateMonitor", "GradNormMonitor", "ModelSummary", "ThroughputMonitor", "DeviceStatsMonitor", "TerminateOnNaN",
           "Timer", "ClassificationReport", "OnExceptionCheckpoint", "PredictionWriter")


@functools.cache
def value_of(item):
    return json.loads(item.value)


@functools.cache
def names(item):
    """The slot, the slot with its value, and the class's slot: what the tables above may name."""
    value = value_of(item)
    return {item.slot, f"{item.slot}={value}", ".".join(item.slot.split(".")[:2]), item.group}


def strategies_of(help_text):
    """The strategies that the help of an option names first: "ddp, zero1: ..."."""
    head = help_text.partition(":")[0]
    found = [s for s in RANKS if s in head.replace(",", " ").split()]
    return found or (["dp"] if head.startswith("Under dp") else [])


class Drawing:
    def __init__(self, schema):
        self.schema = schema
        self.items = schema.items + mode_items()
        self.of_slot = {}
        for item in self.items:
            self.of_slot.setdefault(item.slot, []).append(item)

    def counts(self, a, b):
        """Whether a pair is one that must be covered."""
        if a.slot == b.slot or self.contradicts(a, b) or self.contradicts(b, a):
            return False
        if (a.coarse and b.coarse) or a.slot in MODES or b.slot in MODES:
            return True
        return bool(a.group) and a.group == b.group

    @functools.cache
    def contradicts(self, a, b):
        """Whether the two never make a case together, seen from `a`."""
        a_value, b_value = value_of(a), value_of(b)
        if a.slot in ("optimizer", "lr_scheduler") and b.group.startswith(a.slot + "."):
            return b.group != f"{a.slot}.{a_value}"
        if a.group.startswith(("optimizer.", "lr_scheduler.")) and b.group.startswith(a.group.split(".")[0] + "."):
            return b.group != a.group
        if a.slot.startswith("strategy.") and b.slot.startswith("strategy."):
            return a.slot.split(".")[1] != b.slot.split(".")[1]
        wanted = [a.slot.split(".")[1]] if a.slot.startswith("strategy.") else strategies_of(self.schema.help.get(a.slot, ""))
        if b.slot == "strategy" and wanted:
            return b_value not in wanted
        if a.slot == "part.complex" and b.slot == "precision":
            return b_value not in ("32-true", "64-true")
        if a.slot == "steps" and a_value != "automatic":
            # The module's own steps hand over no closure, and each of its optimizers needs parameters that are trained.
            return bool(names(b) & {"optimizer=LBFGS", "lr_scheduler=ReduceLROnPlateau", "callback.BackboneFinetuning",
                                    "strategy=dp", "strategy=zero1", "strategy=fsdp"})
        if a.slot != "relation":
            return False
        if a_value == "ranks":
            return (b.slot == "strategy" and b_value not in RANKS) or (b.slot == "precision" and b_value != "64-true") or bool(
                names(b) & _NOT_WITH_RANKS)
        if b.slot == "strategy" and a_value not in ("resume", "session"):
            return b_value != "one"
        if b.slot == "strategy" and a_value == "session":
            return b_value == "dp"
        if a_value == "resume":
            return names(b) & {"trainer.enable_checkpointing=False"} != set()
        if a_value in ("session", "host"):
            return b.slot in ("trainer.val_check_interval", "trainer.check_val_every_n_epoch", "trainer.limit_val_batches",
                              "trainer.num_sanity_val_steps", "trainer.reload_dataloaders_every_n_epochs",
                              "trainer.overfit_batches", "trainer.limit_train_batches") + _ONLY_LENGTH or (
                a_value == "host" and names(b) & {"steps=manual", "steps=adversarial", "data.kind=combined"} != set())
        if a_value == "again":
            return bool(names(b) & _NOT_AGAIN)
        if a_value == "manual":
            return b.slot == "steps" or bool(names(b) & _NOT_MANUAL) or b.slot.endswith((".interval", ".frequency"))
        if a_value == "pairs":
            # Complex parameters stay complex64 in every precision, as in PyTorch. To Muon, pairs of numbers are a matrix.
            return (b.slot == "precision" and b_value != "32-true") or names(b) & {
                "callback.ModelPruning", "part.sparse", "part.batch_norm", "optimizer=Muon"} != set()
        return False

    def closed(self, items, dice):
        """The items with those that they need, as a case; None if two of them contradict each other."""
        case = {}
        waiting = list(items)
        while waiting:
            item = waiting.pop()
            if item.slot in case:
                if case[item.slot] != item:
                    return None
                continue
            if any(self.contradicts(item, other) or self.contradicts(other, item) for other in case.values()):
                return None
            case[item.slot] = item
            if item.group:
                kind, name = item.group.split(".", 1)
                slot = item.group if kind == "callback" else kind
                waiting.append(Item(slot, json.dumps(name)))
            wanted = strategies_of(self.schema.help.get(item.slot, ""))
            if wanted and "strategy" not in case:
                waiting.append(Item("strategy", json.dumps(dice.choice(wanted))))
        return case

    def filled(self, case, dice):
        """The case with a value for each mode."""
        order = ["relation"] + [slot for slot in MODES if slot != "relation"]
        for slot in order:
            if slot in case:
                continue
            for item in dice.sample(self.of_slot[slot], len(self.of_slot[slot])):
                larger = self.closed([*case.values(), item], dice)
                if larger is not None:
                    case = larger
                    break
        return case

    def grown(self, case, dice, uncovered, size):
        """The case with further items, those first that cover most."""
        while len(case) < size:
            best, most = None, -1
            for item in dice.sample(self.items, 16):
                if item.slot in case or item.group.startswith("optimizer.") and dice.random() < 0.5:
                    continue
                larger = self.closed([*case.values(), item], dice)
                if larger is None:
                    continue
                gain = sum(1 for a in larger.values() if a.slot not in case for b in case.values() if key(a, b) in uncovered)
                if gain > most:
                    best, most = larger, gain
            if best is None:
                break
            case = best
        return case

    def pairs(self):
        return {key(a, b) for i, a in enumerate(self.items) for b in self.items[:i] if self.counts(a, b)}

    def cover(self, seed, count=None, fixed=(), size=22):
        """Returns cases that cover pairs, at most `count`; the pairs that no case can have; and all pairs.

        `fixed`: items that each case has.
        """
        dice = random.Random(seed)
        pairs = self.pairs()
        uncovered = set(pairs)
        left = sorted(uncovered)
        dice.shuffle(left)
        by_key = {str(item): item for item in self.items}
        cases, impossible = [], []
        fixed = [by_key[name] for name in fixed]
        while left and (count is None or len(cases) < count):
            pair = left.pop()
            if pair not in uncovered:
                continue
            case = self.closed([by_key[name] for name in pair] + fixed, dice)
            case = case and self.filled(case, dice)
            if not case or not set(MODES) <= case.keys() | {"steps"}:
                impossible.append(pair)
                uncovered.discard(pair)
                continue
            case = self.grown(case, dice, uncovered, size)
            uncovered -= pairs_of(case)
            cases.append(case)
        return cases, impossible, pairs


@functools.cache
def key(a, b):
    return tuple(sorted((str(a), str(b))))


def pairs_of(case):
    items = list(case.values())
    return {key(a, b) for i, a in enumerate(items) for b in items[:i]}
