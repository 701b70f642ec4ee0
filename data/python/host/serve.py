"""The process that levin starts: it calls the user's functions once, and makes workers of itself, as torch's loader does."""

import faulthandler
import gc
import importlib.util
import inspect
import os
import signal
import sys

LOADERS = {"train": "train_dataloader", "val": "val_dataloader", "test": "test_dataloader", "predict": "predict_dataloader"}


class RefusedData(Exception):
    """What the user's function returned cannot be used."""


def is_instance(value, module, name):
    """Whether a value is of a class that may not be there."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def kind_of(data):
    if is_instance(data, "torch.utils.data", "DataLoader"):
        return "batches"
    if is_instance(data, "torch.utils.data", "IterableDataset"):
        return "samples"
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "keys"):
        return "map"
    if hasattr(data, "__iter__") and not hasattr(data, "keys"):
        return "samples"
    raise RefusedData(f"the function returned {type(data).__module__}.{type(data).__qualname__}; levin takes an object with "
                      "__len__ and __getitem__, an iterable, a torch DataLoader or a LightningDataModule")


def size_of(data):
    try:
        return len(data)
    except (TypeError, NotImplementedError):
        return None


class User:
    """The user's file, and what its functions have returned."""

    def __init__(self, request):
        global OWN_FOLDER
        self.arguments = request["arguments"]
        self.names = Names(request["fields"])
        self.file = os.path.abspath(request["file"])
        self.returned, self.set_up, self.data = {}, set(), {}
        OWN_FOLDER = os.path.dirname(self.file)
        sys.path.insert(0, OWN_FOLDER)
        sys.argv = [self.file]
        name = os.path.splitext(os.path.basename(self.file))[0]
        spec = importlib.util.spec_from_file_location(name, self.file)
        if spec is None:
            raise RefusedData("it is no Python file: its name must end with .py")
        self.code = importlib.util.module_from_spec(spec)
        sys.modules[name] = self.code
        seed_generators(0)
        spec.loader.exec_module(self.code)

    def function(self, name):
        function = getattr(self.code, name, None)
        if callable(function):
            return function
        own = sorted(key for key, value in vars(self.code).items()
                     if callable(value) and getattr(value, "__module__", None) == self.code.__name__)
        raise RefusedData(f"there is no function '{name}'; there are {', '.join(own) or 'none'}")

    def takes(self, name):
        """The parameters that levin fills in."""
        parameters = inspect.signature(self.function(name)).parameters
        return [key for key in ("split", "rank", "world_size") if key in parameters and key not in self.arguments]

    def call(self, name, request):
        """What a function returns; it is called once for each split that it takes, or for each rank."""
        given = {key: request[key] for key in self.takes(name)}
        key = (name, *given.items())
        if key not in self.returned:
            seed_generators(0)
            self.returned[key] = self.function(name)(**self.arguments, **given)
        return self.returned[key]

    def make(self, request):
        """The data of a split; None if there are none."""
        split, data = request["split"], self.call(request["function"], request)
        if callable(getattr(data, "train_dataloader", None)):
            data = self.of_module(data, split, request["stage"])
        elif not request["is_own"] and split != "train" and "split" not in self.takes(request["function"]):
            data = None
        return data

    def of_module(self, module, split, stage):
        """The loader that an object like a LightningDataModule has for a split."""
        method = getattr(module, LOADERS[split], None)
        if method is None or getattr(method, "__module__", "").split(".")[0] in ("lightning", "pytorch_lightning"):
            return None
        if stage not in self.set_up and callable(getattr(module, "setup", None)):
            module.setup(stage)
            self.set_up.add(stage)
        data = method()
        if isinstance(data, (list, tuple)):
            if len(data) > 1:
                raise RefusedData(f"{LOADERS[split]} returns {len(data)} loaders, and levin takes one")
            data = data[0] if data else None
        return data


def load(request):
    global user
    user = User(request)
    return {"takes": {name: ["rank" if key == "world_size" else key for key in user.takes(name)]
                      for name in request["functions"]}}


def prepare(request):
    data = user.call(request["function"], request)
    if callable(getattr(data, "train_dataloader", None)) and callable(getattr(data, "prepare_data", None)):
        data.prepare_data()
    return {}


def make(request):
    data = user.make(request)
    if data is None:
        return {"kind": "none"}
    kind = kind_of(data)
    user.data[request["split"]] = data, kind
    classes = getattr(data, "classes", None)
    are_names = isinstance(classes, (list, tuple)) and all(isinstance(name, str) for name in classes)
    return {"kind": kind, "size": size_of(data), "classes": list(map(plain, classes)) if are_names else []}


def fork(request):
    pid = os.fork()
    if pid == 0:
        become_worker(request)
    os.close(channel.descriptor)
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # it has done so itself
    return {"pid": pid}


def become_worker(request):
    try:
        os.setpgid(0, 0)
        own = Channel(channel.descriptor)
        channel.socket.close()
        gc.freeze()  # what is there by now is not searched for garbage again and again
        if torch := torch_or_none():
            torch.set_num_threads(1)  # threads do not outlive a fork
        data, kind = user.data[request["split"]]
        if kind == "map":
            serve_samples(own, data, user.names, request["rank"])
        serve_stream(own, data, user.names, kind == "batches")
    except Closed:
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def end_of(request):
    """How a worker that has ended did so, as wait() says it; None if it cannot be known."""
    try:
        return {"status": os.waitpid(request["pid"], 0)[1]}
    except ChildProcessError:
        return {"status": None}


def answer(request):
    try:
        return {"load": load, "prepare": prepare, "make": make, "fork": fork, "end_of": end_of}[request["do"]](request)
    except RefusedData as error:
        return {"error": {"what": plain(error), "where": "", "trace": "", "sample": None}}
    except (Exception, SystemExit) as error:
        return error_message(error)


def serve():
    global channel
    os.dup2(2, 1)  # what the user's code prints is no output of levin
    faulthandler.register(signal.SIGQUIT)
    channel = Channel(3)
    try:
        while True:
            request = channel.receive()
            channel.send(answer(request))
    except Closed:
        os._exit(0)


channel = user = None
serve()
