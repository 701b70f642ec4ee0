"""Checkpoints of two ranks in a bucket, whole and in parts: killed while they are uploaded, resumed on two ranks and on three, they give
the bits of local files.

usage: remote_ranks_test.py LEVIN
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from bucket_server import BucketServer

try:
    import torch
except ImportError as error:
    print("SKIPPED: this Python has no", error.name)
    sys.exit(77)

LEVIN = sys.argv[1]
EPOCHS = 4


def start(home, env, name, ranks, strategy, *words):
    arguments = [LEVIN, "fit", "--config", "fit.json", "--name", name, "--trainer.devices", ranks, "--trainer.strategy", strategy,
                 "--trainer.accelerator", "cpu", "--trainer.quiet", "true", *words]
    return subprocess.Popen(list(map(str, arguments)), cwd=home, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True)


def fit(*arguments):
    process = start(*arguments)
    out, error = process.communicate(timeout=180)
    assert process.returncode == 0, (arguments[2:], process.returncode, out, error)
    return error


def weights_of(home, name):
    return torch.load(home / name / "version_0/weights.pt", weights_only=True)


def check_equal(one, other):
    assert one.keys() == other.keys() and len(one) > 0
    for name in one:
        assert torch.equal(one[name], other[name]), name


def savers(folder, **more):
    return ["--trainer.callbacks", json.dumps([dict({"class": "ModelCheckpoint", "dirpath": folder, "save_last": True}, **more)])]


def write_config(home):
    rows = [",".join(f"{((i * 7 + j * 13) % 29 - 14) / 7:.6f}" for j in range(4)) for i in range(48)]
    (home / "train.csv").write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    config = {"seed": 1, "data": {"class": "Csv", "file": "train.csv", "target": "y", "target_type": "number", "batch_size": 4},
              "model": {"class": "MLPRegressor", "hidden": [32, 16]}, "trainer": {"max_epochs": EPOCHS}}
    (home / "fit.json").write_text(json.dumps(config))


def check_parts(server, folder, ranks):
    """Every index has its parts, and no part lacks an index."""
    keys = server.keys(folder)
    indices = [key for key in keys if key.endswith(".ckpt")]
    assert len(indices) == 2, keys
    for index in indices:
        parts = [key for key in keys if key.startswith(index + ".rank-")]
        assert len(parts) == ranks and len({key.split(".")[-2] for key in parts}) == 1, keys
    assert len(keys) == len(indices) * (1 + ranks), keys


def check_strategy(server, home, strategy, sharded):
    more = ["--trainer.strategy.state_dict_type", "sharded"] if sharded else []
    tag = strategy + ("-sharded" if sharded else "")
    local = home / "local"
    env = server.environment(home)
    fit(local, env, f"{tag}-2", 2, strategy, *more)
    # Written to the bucket, the run is the same, and so are the files.
    fit(local, env, f"{tag}-bucket", 2, strategy, *more, *savers(f"s3://bucket/{tag}/whole"))
    check_equal(weights_of(local, f"{tag}-bucket"), weights_of(local, f"{tag}-2"))
    if sharded:
        check_parts(server, f"{tag}/whole/", 2)
    # Half of it here, the rest on a machine that has nothing but the bucket: on as many ranks, and on another number.
    half = f"s3://bucket/{tag}/half"
    fit(local, env, f"{tag}-half", 2, strategy, *more, *savers(half), "--trainer.max_epochs", 2)
    for ranks in (2, 3):  # 3 have another order of sums
        machine = new_machine(home, f"{tag}-on-{ranks}")
        fit(machine, server.environment(machine), "resumed", ranks, strategy, *more, "--ckpt-path", half)
        fit(local, env, f"{tag}-local-on-{ranks}", ranks, strategy, *more, "--ckpt-path", local / f"{tag}-half/version_0/checkpoints/last.ckpt")
        check_equal(weights_of(machine, "resumed"), weights_of(local, f"{tag}-local-on-{ranks}"))
        if ranks == 2:
            check_equal(weights_of(machine, "resumed"), weights_of(local, f"{tag}-2"))


def new_machine(home, name):
    machine = home / name
    machine.mkdir()
    write_config(machine)
    return machine


def check_kills(server, home, kills):
    """A run that is killed in the middle of an upload leaves the checkpoint before, from which another machine continues."""
    local = home / "local"
    expected = weights_of(local, "fsdp-sharded-2")
    for kill in range(kills):
        folder = f"kill-{kill}"
        machine = new_machine(home, folder)
        env = server.environment(machine)
        # The nth upload of this run hangs, and the run is killed there: in a part, an index, or a removal.
        server.proxy.fault("slow", 60, method="PUT", path=f"/{folder}/", skip=7 + kill)
        process = start(machine, env, "killed", 2, "fsdp", "--trainer.strategy.state_dict_type", "sharded", *savers(f"s3://bucket/{folder}"))
        begin = time.monotonic()
        while not any(fault.path == f"/{folder}/" and fault.count == 0 for fault in server.proxy.faults):
            assert process.poll() is None and time.monotonic() - begin < 60, process.communicate()
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        server.proxy.clear()
        other = new_machine(home, folder + "-other")
        fit(other, server.environment(other), "resumed", 2, "fsdp", "--trainer.strategy.state_dict_type", "sharded", "--ckpt-path",
            f"s3://bucket/{folder}", *savers(f"s3://bucket/{folder}"))
        check_equal(weights_of(other, "resumed"), expected)


def main():
    server = BucketServer()
    home = pathlib.Path(tempfile.mkdtemp())
    try:
        new_machine(home, "local")
        for strategy, sharded in (("ddp", False), ("fsdp", True)):
            begin = time.monotonic()
            check_strategy(server, home, strategy, sharded)
            print(f"{strategy}: {time.monotonic() - begin:.1f} s")
        begin = time.monotonic()
        check_kills(server, home, int(os.environ.get("LEVIN_REMOTE_KILLS", "2")))
        print(f"kills: {time.monotonic() - begin:.1f} s")
        assert server.proxy.wrong == [], server.proxy.wrong
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
