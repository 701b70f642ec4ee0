"""Compiles a training step that levin traced: compile_step.py PROGRAM.json CONSTANTS.pt EXAMPLE.pt OUT.pt2 [THREADS]

PROGRAM.json lists calls of ATen's operators. They are replayed under make_fx together with the gradients of the loss, and
the graph is compiled by AOTInductor. The package also holds levin_step.json: the program without its calls, and what was
compiled. Inputs of the compiled step: the program's inputs in their order. Results: the outputs, then the gradients of
the parameters in "gradients". Buffers that the step writes are changed in place. With "optimizer" in the program, the
inputs are followed by numbers and state of each of its groups, parameters and state are changed in place too, and no
gradient is returned. EXAMPLE.pt, of a step that draws random numbers, has its inputs, the state of the generator, the
loss and the gradients; else it is empty.
"""

import json
import math
import os
import sys
import time

try:
    import torch
except ImportError as error:
    sys.exit(f"this Python ({sys.executable}) has no torch: {error}")

from torch.export.pt2_archive._package import package_pt2
from torch.fx.experimental.proxy_tensor import make_fx


class Step:
    """The step of a program as a function of its inputs."""

    def __init__(self, program, constants, channels_last):
        self.program = program
        self.constants = constants
        self.channels_last = channels_last
        self.calls = [
            (self.operator(call["op"]), call["in"], call["out"], call.get("no_grad", False)) for call in program["calls"]
        ]
        self.kinds = [item["kind"] for item in program["inputs"]]
        self.sized = next((i for i, item in enumerate(program["inputs"]) if is_sized(item["shape"])), None)
        self.parameters = [i for i, kind in enumerate(self.kinds) if kind == "parameter"]
        self.gradients = None
        self.known = self.known_values()

    @staticmethod
    def operator(name):
        if name == "unpack":
            return None
        operator, overload = name.removeprefix("aten::").rsplit(".", 1)
        return getattr(getattr(torch.ops.aten, operator), overload)

    def argument(self, given, values, schema):
        if isinstance(given, dict):
            kind, content = next(iter(given.items()))
            if kind == "v":
                return values[content]
            if kind == "t":
                return self.constants[content]
            if kind == "l":
                return [self.argument(item, values, schema) for item in content]
            if kind == "s":
                return content[0] * values[self.sized].shape[0] + content[1]
            if kind == "f":
                return float(content)
            return torch.device(content)
        if isinstance(given, int) and not isinstance(given, bool):
            of_type = str(schema)
            if "ScalarType" in of_type:
                return DTYPES[given]
            if "MemoryFormat" in of_type:
                return MEMORY_FORMATS[given]
            if "Layout" in of_type:
                return torch.strided
        return given

    def call(self, operator, given, values):
        arguments, named = [], {}
        for argument, schema in zip(given, operator._schema.arguments):
            value = self.argument(argument, values, schema.real_type)
            if schema.kwarg_only:
                named[schema.name] = value
            else:
                arguments.append(value)
        if self.channels_last and is_convolution(operator) and arguments[0].dim() == 4:
            arguments[:2] = [x.contiguous(memory_format=torch.channels_last) for x in arguments[:2]]
        if operator is torch.ops.aten.gelu.default and named.get("approximate") == "tanh":
            return gelu_tanh(*arguments)
        if operator._schema.name in RECURRENT:
            # The compiler cannot call oneDNN's recurrent layers.
            with torch.backends.mkldnn.flags(enabled=False):
                return recurrent(operator, *arguments)
        return operator(*arguments, **named)

    def known_values(self):
        """Returns the values that are computed from no input by functions that cost more than reading their results, such
        as the angles of positions: the compiler would compute them again wherever they are read."""
        values, costly, used = {}, set(), set(values_of(self.program["outputs"]))
        for operator, given, results, _ in self.calls:
            taken = set(values_of(given))
            is_known = (
                operator is not None and taken <= values.keys() and not draws_numbers(operator) and not has_size(given)
            )  # fmt: skip
            if operator is not None and operator._schema.is_mutable:
                read = {storage_of(values[place]) for place in used & values.keys()} | {storage_of(x) for x in self.constants}
                if any(kind == "t" for kind, _ in items_of(given)) or any(
                    not is_known or storage_of(values[place]) in read for place in taken & values.keys()
                ):
                    return {}  # what is read is not what it was when it was made
            if is_known:
                with torch.no_grad():
                    made = self.call(operator, given, values)
                if len(results) == 1 and isinstance(made, torch.Tensor) and made.numel() <= MOST_KNOWN:
                    values[results[0]] = made
                    if operator._schema.name in COSTLY or taken & costly:
                        costly.add(results[0])
                    continue
            used |= taken
        return {place: values[place].contiguous() for place in used & costly}

    def forward(self, inputs):
        values = dict(enumerate(inputs))
        for operator, given, results, no_grad in self.calls:
            if len(results) == 1 and results[0] in self.known:
                values[results[0]] = self.known[results[0]]
                continue
            if operator is None:
                made = self.argument(given[0], values, None)
            else:
                with torch.set_grad_enabled(torch.is_grad_enabled() and not no_grad):
                    made = self.call(operator, given, values)
                made = made if len(results) != 1 else [made]
            values.update(zip(results, made))
        return [self.argument(output, values, None) for output in self.program["outputs"]]

    def __call__(self, *inputs):
        inputs, further = inputs[: len(self.kinds)], list(inputs[len(self.kinds) :])
        written = [i for i, item in enumerate(self.program["inputs"]) if item["is_written"]]
        values = [x.detach().requires_grad_() if kind == "parameter" else x for x, kind in zip(inputs, self.kinds)]
        for i in written:
            values[i] = inputs[i].clone()
        outputs = self.forward(values)
        found = torch.autograd.grad(outputs[0], [values[i] for i in self.parameters], allow_unused=True)
        gradients = {i: gradient.detach() for i, gradient in zip(self.parameters, found) if gradient is not None}
        self.gradients = list(gradients)
        # An output may be an input, or the same tensor twice: a result of its own each.
        results = [output.detach().clone() for output in outputs]
        with torch.no_grad():
            if "optimizer" in self.program:
                for group in self.program["optimizer"]["groups"]:
                    self.step(group, inputs, gradients, further)
            else:
                results += [like(gradient, inputs[i]) for i, gradient in gradients.items()]
            for i in written:
                inputs[i].copy_(values[i])
        return results

    def step(self, group, inputs, gradients, further):
        """Steps the parameters of a group, as levin's optimizers do."""
        rule = sgd if self.program["optimizer"]["class"] == "SGD" else adam
        numbers = further.pop(0)
        for i in group["parameters"]:
            if i not in gradients:
                continue
            state = [further.pop(0) for _ in range(state_size(self.program["optimizer"]["class"], group))]
            options = group["options"]
            gradient = -gradients[i] if options["maximize"] else gradients[i]
            parameter, *changed = rule(options, numbers, inputs[i], gradient, state)
            inputs[i].copy_(parameter)
            for tensor, value in zip(state, changed):
                tensor.copy_(value)


def state_size(name, group):
    if name == "SGD":
        return 1 if group["options"]["momentum"] != 0 else 0
    return 3 if group["options"]["amsgrad"] else 2


def sgd(options, numbers, parameter, gradient, state):
    """Returns the next parameter and state. numbers: learning rate."""
    if options["weight_decay"] != 0:
        gradient = gradient + parameter * options["weight_decay"]
    if state:
        state = [state[0] * options["momentum"] + gradient * (1 - options["dampening"])]
        gradient = gradient + state[0] * options["momentum"] if options["nesterov"] else state[0]
    return parameter - numbers[0] * gradient, *state


def adam(options, numbers, parameter, gradient, state):
    """Returns the next parameter and state. numbers: step size, correction of the root, factor of the parameter."""
    beta1, beta2 = options["betas"]
    if options["weight_decay"] != 0 and not options.get("decoupled_weight_decay", True):
        gradient = gradient + parameter * options["weight_decay"]
    average = state[0] + (gradient - state[0]) * (1 - beta1)
    square = state[1] * beta2 + gradient * gradient * (1 - beta2)
    state = [average, square] + ([torch.maximum(state[2], square)] if len(state) > 2 else [])
    root = state[-1].sqrt() / numbers[1] + options["eps"]
    return parameter * numbers[2] - numbers[0] * average / root, *state


COSTLY = ("aten::cos", "aten::sin", "aten::pow", "aten::exp")
MOST_KNOWN = 1 << 22  # numbers


def items_of(given):
    """The arguments of a call that are no lists, each as (kind, content)."""
    for item in given:
        if isinstance(item, dict):
            kind, content = next(iter(item.items()))
            yield from items_of(content) if kind == "l" else [(kind, content)]


def values_of(given):
    return [content for kind, content in items_of(given) if kind == "v"]


def has_size(given):
    """Returns whether an argument depends on the number of samples."""
    return any(kind == "s" for kind, _ in items_of(given))


def storage_of(tensor):
    return tensor.untyped_storage().data_ptr()


def draws_numbers(operator):
    return torch.Tag.nondeterministic_seeded in operator.tags


def is_convolution(operator):
    return "conv" in operator._schema.name and operator._schema.arguments[1].name == "weight"


def has_convolutions(program):
    """Returns whether the step has convolutions of pictures, whose layout can be chosen."""
    pictures = any(len(item["shape"]) == 4 and item["kind"] in ("parameter", "frozen") for item in program["inputs"])
    return pictures and any("conv" in call["op"] for call in program["calls"])


def gelu_tanh(x):
    """Returns gelu(x, approximate="tanh"). The compiler keeps a sigmoid for backward, and computes a tanh again."""
    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


def recurrent(operator, x, states, weights, *options):
    """Returns what a recurrent operator does. PyTorch's compiler leaves out the dropout between its layers, so that they
    are called one by one."""
    if operator._overloadname != "input":  # of packed sequences
        return operator(x, states, weights, *options)
    has_biases, layers, dropout, train, bidirectional, batch_first = options
    if not train or dropout == 0 or layers == 1:
        return operator(x, states, weights, *options)
    directions, each = 2 if bidirectional else 1, len(weights) // layers
    x = x.transpose(0, 1) if batch_first else x
    ends = []
    for layer in range(layers):
        x = torch.dropout(x, dropout, True) if layer > 0 else x
        rows = slice(layer * directions, (layer + 1) * directions)
        first = [state[rows] for state in states] if isinstance(states, list) else states[rows]
        own = weights[layer * each : (layer + 1) * each]
        x, *end = operator(x, first, own, has_biases, 1, 0.0, train, bidirectional, False)
        ends.append(end)
    return [x.transpose(0, 1) if batch_first else x, *(torch.cat(parts) for parts in zip(*ends))]


def like(gradient, parameter):
    """Returns the gradient with the parameter's strides, which optimizers and .grad expect."""
    gradient = gradient.detach()
    if gradient.stride() == parameter.stride():
        return gradient
    return torch.empty_strided(
        parameter.shape, parameter.stride(), dtype=gradient.dtype, device=gradient.device
    ).copy_(gradient)


DTYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
    torch.complex32, torch.complex64, torch.complex128, torch.bool, None, None, None, torch.bfloat16,
]  # fmt: skip
RECURRENT = ("aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu")
MEMORY_FORMATS = [
    torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d
]  # fmt: skip


def is_sized(numbers):
    return any(isinstance(number, dict) for number in numbers)


def resolved(item, size):
    """Returns shape or strides at a batch size."""
    return [n["s"][0] * size + n["s"][1] if isinstance(n, dict) else n for n in item]


def example_size(program):
    """Returns a batch size that no fixed number of the shapes equals: the compiler takes equal numbers for one."""
    if program["fixed"]:
        return program["batch_size"]
    fixed = {n for item in program["inputs"] for n in item["shape"] if not isinstance(n, dict)}
    size = max(program["batch_size"], 4)
    while size in fixed:
        size += 1
    return size


def example_inputs(program, size):
    torch.manual_seed(0)
    inputs = []
    for item in program["inputs"]:
        dtype = getattr(torch, item["dtype"])
        x = torch.empty_strided(resolved(item["shape"], size), resolved(item["strides"], size), dtype=dtype)
        inputs.append(x.zero_())
    for group in program.get("optimizer", {"groups": []})["groups"]:
        inputs.append(torch.ones(3, dtype=torch.float64))
        for i in group["parameters"]:
            if i in program["stepped"]:
                size = state_size(program["optimizer"]["class"], group)
                inputs += [torch.zeros_like(inputs[i]) for _ in range(size)]
    return inputs


def drawn_difference(program, constants, example):
    """Returns how far loss and gradients are from the eager ones of the example, with the same random numbers."""
    count = len(program["inputs"])
    inputs, state, loss, gradients = example[:count], example[count], example[count + 1], example[count + 2 :]
    step = Step({key: value for key, value in program.items() if key != "optimizer"}, constants, channels_last=False)
    torch.set_rng_state(state)
    results = step(*inputs)
    made = dict(zip(step.gradients, results[len(program["outputs"]) :]))
    largest = lambda x: x.detach().abs().max().item() if x.numel() else 0.0
    scale = max((largest(gradient) for gradient in gradients), default=0.0)
    differences = [
        largest(made[i] - gradient if i in made else gradient) for i, gradient in zip(step.parameters, gradients)
    ]
    difference = math.nan if any(math.isnan(d) for d in differences) else max(differences, default=0.0)
    return [largest(results[0] - loss) / max(1.0, largest(loss)), difference / scale if scale else difference]


def reason(error):
    """Returns the first line of an error of PyTorch's; not that of an assertion inside of it, which tells nobody anything."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    plain = [line for line in lines if "INTERNAL ASSERT" not in line]
    if len(plain) < len(lines) or not plain:
        return "PyTorch's compiler does not follow this step for a number of samples that varies"
    return f"PyTorch's compiler, for a number of samples that varies: {type(error).__name__}: {plain[0][:300]}"


def stepped(program, constants):
    """Returns the parameters that have a gradient."""
    step = Step({key: value for key, value in program.items() if key != "optimizer"}, constants, channels_last=False)
    step(*example_inputs({**program, "stepped": []}, program["batch_size"]))
    return step.gradients


class Graph(torch.nn.Module):
    def __init__(self, graph):
        super().__init__()
        self.graph_module = graph

    def forward(self, *inputs):
        return self.graph_module(*inputs)


MOST = 1 << 20


def exported(program, constants, inputs, fixed, channels_last):
    step = Step(program, constants, channels_last)
    graph = make_fx(step, tracing_mode="fake" if fixed else "symbolic", _allow_non_fake_inputs=True)(*inputs)
    shapes = None
    if not fixed:
        batch = torch.export.Dim("batch", min=2, max=MOST)
        shapes = (
            tuple(
                {d: batch for d, n in enumerate(item["shape"]) if isinstance(n, dict)} or None
                for item in program["inputs"]
            )
            + (None,) * (len(inputs) - len(program["inputs"])),
        )
    return step, torch.export.export(Graph(graph), tuple(inputs), dynamic_shapes=shapes, strict=False)


def compiled(exported_step, inputs, threads):
    """Returns the files of the compiled step."""
    # Inductor's own choice of layouts gives convolutions a gradient of one layout and weights of another.
    options = {"aot_inductor.package": True, "layout_optimization": False}
    if threads:
        options["cpp.threads"] = threads
    else:
        options["cpp.dynamic_threads"] = True
    return torch._inductor.aot_compile(exported_step.module(check_guards=False), tuple(inputs), options=options)


def fastest(candidates, inputs, threads, folder):
    """Returns the files among `candidates` whose code takes the least time. Writes their packages to `folder`."""
    if threads:
        torch.set_num_threads(threads)
    inputs = [torch.randn_like(x) if x.is_floating_point() else x for x in inputs]
    loaders = []
    for place, files in enumerate(candidates):
        package = os.path.join(folder, f"candidate{place}.pt2")
        package_pt2(package, aoti_files=files)
        loaders.append(torch._C._aoti.AOTIModelPackageLoader(package, "model", False, 1, -1))
    least = [math.inf] * len(candidates)
    end = time.monotonic() + 2
    rounds = 0
    while rounds < 3 or time.monotonic() < end:
        rounds += 1
        for place, loader in enumerate(loaders):
            begin = time.monotonic()
            loader.run(inputs)
            least[place] = min(least[place], time.monotonic() - begin)
    return candidates[least.index(min(least))]


def draws(node):
    """Returns whether a node of an exported step draws random numbers; attention without dropout does not."""
    if not isinstance(node.target, torch._ops.OpOverload) or torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    for place, argument in enumerate(node.target._schema.arguments):
        if argument.name == "dropout_p":
            return (node.args[place] if place < len(node.args) else node.kwargs.get("dropout_p", 0.0)) != 0
    return True


def main():
    program_file, constants_file, example_file, out = sys.argv[1:5]
    threads = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    with open(program_file) as file:
        program = json.load(file)
    here = torch.__version__.split("+")[0]
    if here != program["torch"]:
        sys.exit(f"this Python ({sys.executable}) has torch {here}, and levin runs with LibTorch {program['torch']}")
    constants = torch.load(constants_file, weights_only=True)
    if "optimizer" in program:
        program["stepped"] = stepped(program, constants)
    example = torch.load(example_file, weights_only=True)
    drawn = {"drawn": drawn_difference(program, constants, example)} if example else {}
    fixed, why = program["fixed"], ""
    size = example_size(program)
    # Convolutions have two routes, of which neither is always the faster one.
    layouts = [False, True] if has_convolutions(program) else [False]
    try:
        steps = [exported(program, constants, example_inputs(program, size), fixed, layout) for layout in layouts]
    except Exception as error:
        if fixed:
            raise
        fixed, why = True, reason(error)
        size = program["batch_size"]
        steps = [exported(program, constants, example_inputs(program, size), fixed, layout) for layout in layouts]
    step, exported_step = steps[0]
    candidates = [compiled(each, example_inputs(program, size), threads) for _, each in steps]
    files = candidates[0]
    if len(candidates) > 1:
        files = fastest(candidates, example_inputs(program, size), threads, os.path.dirname(out))
    description = {key: value for key, value in program.items() if key not in ("calls", "outputs", "fixed", "stepped")}
    description["inputs"] = [
        {**item, "shape": item["shape"] if not fixed else resolved(item["shape"], size),
         "strides": item["strides"] if not fixed else resolved(item["strides"], size)}
        for item in program["inputs"]
    ]  # fmt: skip
    description["batch"] = [size, size] if fixed else [2, MOST]
    description["gradients"] = step.gradients
    description["threads"] = threads
    description["draws"] = sorted({str(node.target) for node in exported_step.graph.nodes if draws(node)})
    package_pt2(out, aoti_files=files, extra_files={"levin_step.json": json.dumps(description)})
    print(json.dumps({"fixed": fixed, "why": why, **drawn}))


if __name__ == "__main__":
    main()
