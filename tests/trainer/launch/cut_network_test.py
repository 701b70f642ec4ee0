"""Two machines between which the network is cut, at each stage of a run: the processes on both of them end, and say why.

usage: cut_network_test.py LEVIN [--cases N] [--seed S]

The machines are network namespaces with one link, and have a rank or two each. It is cut while the ranks find each other, at random moments of the
start, between steps, while a checkpoint is written and at the end; with and without a secret, under ddp and fsdp. A port
that accepts a connection and never says anything stands for a machine that hangs.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
MOST_SECONDS = 90  # a hang; --timeout-seconds is 4
NODES = ("10.9.0.1", "10.9.0.2")


def own_network():
    """Starts this script again in a namespace of its own, or says why that cannot be."""
    probe = ["unshare", "--user", "--map-root-user", "--net"]
    if shutil.which("ip") is None or shutil.which("unshare") is None or subprocess.run([*probe, "true"], capture_output=True).returncode:
        print("SKIPPED: there is no ip or unshare here, or no network namespace can be made")
        sys.exit(SKIPPED)
    os.execvp(probe[0], [*probe, sys.executable, *sys.argv, "--inside"])


def ip(*words, inside=None):
    subprocess.run([*(["nsenter", "-t", str(inside), "-n"] if inside else []), "ip", *words], check=True)


class Machines:
    """This namespace and another one, joined by a link."""

    def __enter__(self):
        ip("link", "set", "lo", "up")
        self.other = subprocess.Popen(["unshare", "--net", "sleep", "100000"])
        while os.readlink(f"/proc/{self.other.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        ip("link", "add", "here", "type", "veth", "peer", "name", "there")
        ip("link", "set", "there", "netns", str(self.other.pid))
        ip("addr", "add", f"{NODES[0]}/24", "dev", "here")
        ip("link", "set", "here", "up")
        for words in (("link", "set", "lo", "up"), ("addr", "add", f"{NODES[1]}/24", "dev", "there"), ("link", "set", "there", "up")):
            ip(*words, inside=self.other.pid)
        return self

    def __exit__(self, *_):
        ip("link", "delete", "here")
        self.other.kill()
        self.other.wait()

    def start(self, node, words, folder, environment, log):
        enter = ["nsenter", "-t", str(self.other.pid), "-n"] if node == 1 else []
        return subprocess.Popen([*enter, *words], cwd=folder, env={**os.environ, **environment}, stdout=log, stderr=subprocess.STDOUT,
                                start_new_session=True)

    def cut(self):
        ip("link", "set", "here", "down")


def command(levin, strategy, devices=1, epochs=1000):
    return [levin, "fit", "--model.class", "ImageClassifier", "--model.net", "mlp", "--data.class", "SyntheticDigits", "--data.train-size",
            "64", "--data.val-size", "16", "--data.batch-size", "8", "--accelerator", "cpu", "--devices", str(devices), "--num-nodes", "2", "--strategy",
            strategy, "--seed", "3", "--max-epochs", str(epochs), "--timeout-seconds", "4", "--log-every-n-steps", "1", "--enable-progress-bar", "false",
            "--default-root-dir", ".", "--name", "run", "--num-threads", "1", "--logger", "JSONLinesLogger", "--callbacks",
            json.dumps([{"class": "ModelCheckpoint", "every_n_train_steps": 3, "save_last": True}])]


def wait_for(what, processes):
    begin = time.time()
    while not what():
        if any(process.poll() is not None for process in processes) or time.time() - begin > MOST_SECONDS:
            raise AssertionError("the run has not come to the place where it is cut")
        time.sleep(0.01)


def rows(folder):
    files = list(folder.glob("run/*/metrics.jsonl"))
    return files[0].read_bytes().count(b"\n") if files else 0


STAGES = {
    "before they meet": None,
    "at the start": lambda folder, processes, dice: time.sleep(dice.uniform(0.2, 2)),
    "between steps": lambda folder, processes, dice: wait_for(lambda: rows(folder) >= 4 + dice.randrange(4), processes),
    "in a save": lambda folder, processes, dice: wait_for(lambda: list(folder.glob("run/*/checkpoints/.*tmp")), processes),
}


def tried(levin, stage, strategy, devices, secret, dice):
    """Returns what is wrong: processes that did not end, and ends without a reason."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="levin_cut_"))
    folders = [root / "0", root / "1"]
    for folder in folders:
        folder.mkdir()
    environment = {"MASTER_ADDR": NODES[0], "MASTER_PORT": "29611", "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR",
                   **({"LEVIN_SECRET": "a secret for both machines"} if secret else {})}
    faults = []
    with Machines() as machines:
        logs, processes = [open(root / f"log{node}", "w") for node in (0, 1)], []

        def start(node):
            processes.append(machines.start(node, command(levin, strategy, devices), folders[node], {**environment, "NODE_RANK": str(node), "GLOO_SOCKET_IFNAME": ("here", "there")[node]}, logs[node]))

        start(0)
        if STAGES[stage] is None:
            time.sleep(1)
            machines.cut()
            start(1)
        else:
            start(1)
            try:
                STAGES[stage](folders[0], processes, dice)
            except AssertionError as error:
                faults.append(str(error))
            machines.cut()
        for node, process in enumerate(processes):
            try:
                code = process.wait(MOST_SECONDS)
            except subprocess.TimeoutExpired:
                faults.append(f"node {node} has not ended")
                os.killpg(process.pid, 9)
                process.wait()
                continue
            text = (root / f"log{node}").read_text()
            if code == 0 or "error" not in text:
                faults.append(f"node {node} ended with {code} and says no error")
    texts = [f"--- node {node}\n{(root / f'log{node}').read_text()[-3000:]}" for node in (0, 1)] if faults else []
    shutil.rmtree(root, ignore_errors=True)
    return faults, texts


def tried_uncut(levin, strategy):
    """Two ranks on each machine, which share memory there: they end as four ranks of one machine do."""
    with tempfile.TemporaryDirectory() as folder, Machines() as machines:
        folders = [pathlib.Path(folder) / name for name in ("0", "1", "alone")]
        for one in folders:
            one.mkdir()
        words = command(levin, strategy, 2, epochs=3)
        environment = {"MASTER_ADDR": NODES[0], "MASTER_PORT": "29612", "OMP_NUM_THREADS": "1"}
        logs = [open(one / "log", "w") for one in folders]
        processes = [machines.start(node, words, folders[node], {**environment, "NODE_RANK": str(node), "GLOO_SOCKET_IFNAME": ("here", "there")[node]}, logs[node])
                     for node in (0, 1)]  # fmt: skip
        alone = [*words, "--devices", "4", "--num-nodes", "1"]
        processes.append(subprocess.Popen(alone, cwd=folders[2], env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=logs[2], stderr=subprocess.STDOUT))
        faults = [f"process {i} ended with {code}" for i, code in enumerate(process.wait(MOST_SECONDS) for process in processes) if code != 0]
        losses = []
        for one in (folders[0], folders[2]):
            files = list(one.glob("run/*/metrics.jsonl"))
            found = [json.loads(line) for line in files[0].read_text().splitlines()] if files else []
            losses.append([row["train_loss"] for row in found if "train_loss" in row])
        if not faults and (not losses[0] or len(losses[0]) != len(losses[1]) or any(abs(a - b) > 1e-4 for a, b in zip(*losses))):
            faults.append(f"other losses than on one machine: {losses}")
        return faults, [(one / "log").read_text()[-3000:] for one in folders] if faults else []


def tried_silence(levin, secret):
    """A port that accepts and says nothing is an error of the rank that connects to it."""
    with socket.socket() as silent, tempfile.TemporaryDirectory() as folder:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(silent.getsockname()[1]), "NODE_RANK": "1",
                       **({"LEVIN_SECRET": "a secret"} if secret else {})}
        try:
            done = subprocess.run(command(levin, "ddp"), cwd=folder, env={**os.environ, **environment}, capture_output=True,
                                  text=True, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return ["a silent port is waited for without an end"], []
        return ([], []) if done.returncode != 0 and "error" in done.stderr else (["a silent port is no error"], [done.stdout + done.stderr])


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("levin")
    arguments.add_argument("--cases", type=int, default=len(STAGES))
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--inside", action="store_true")
    given = arguments.parse_args()
    given.levin = str(pathlib.Path(given.levin).resolve())
    ip("link", "set", "lo", "up")
    dice = random.Random(given.seed)
    failed = False

    def tell(what, result):
        nonlocal failed
        faults, texts = result
        print(f"{what}: {'; '.join(faults) or 'both end'}", *texts, sep="\n", flush=True)
        failed = failed or bool(faults)

    for number in range(given.cases):
        stage = list(STAGES)[number % len(STAGES)]
        strategy, secret = ("ddp", "fsdp")[(number + number // len(STAGES)) % 2], number % 3 != 1
        devices = 1 + (number + number // len(STAGES)) // 2 % 2
        tell(f"seed {given.seed}, case {number}: cut {stage}, {strategy}, {devices} on each, {'a' if secret else 'no'} secret",
             tried(given.levin, stage, strategy, devices, secret, dice))
    for strategy in ("ddp", "zero1", "fsdp"):
        tell(f"no cut, {strategy}, 2 on each", tried_uncut(given.levin, strategy))
    for secret in (True, False):
        tell(f"a silent port, {'a' if secret else 'no'} secret", tried_silence(given.levin, secret))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main() if sys.argv[-1] == "--inside" else own_network()
