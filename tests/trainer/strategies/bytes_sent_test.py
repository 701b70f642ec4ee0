"""What a dry run says that ranks send in each step is what they are measured to send, and fsdp sends half more than ddp.

usage: bytes_sent_test.py LEVIN

The ranks run in a network namespace of their own, whose loopback interface counts: two runs that differ in their steps
alone differ in what those steps have sent. They use Gloo, since ranks of one machine share memory otherwise. What TCP adds
comes on top, and what else ranks tell each other in a step.
"""

import fcntl
import json
import math
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
SHORT, LONG = 5, 15
MOST_BY_TCP = 0.05
MOST_RUNS = 4


def own_network():
    """Starts this script again in a namespace of its own, or says why that cannot be."""
    probe = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        possible = subprocess.run([*probe, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        possible = False
    if not possible:
        print("SKIPPED: there is no unshare here, or it may not make a network namespace")
        sys.exit(SKIPPED)
    os.execvp(probe[0], [*probe, sys.executable, *sys.argv, "--inside"])


def loopback_up():
    set_flags, up_and_running = 0x8914, 0x1 | 0x40
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh", b"lo", up_and_running))


def bytes_so_far():
    with open("/proc/net/dev") as file:
        return next(int(line.split()[9]) for line in file if line.strip().startswith("lo:"))


def fit(levin, folder, *flags):
    command = [levin, "fit", "--config", f"{folder}/config.json", "--default-root-dir", folder, *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(levin, folder, ranks, flags, sent):
    """Bytes of one rank in one step. sent: the fewest bytes by number of steps in the runs so far, since on a busy machine TCP
    sends some of them again."""
    for steps in (SHORT, LONG):
        before = bytes_so_far()
        fit(levin, folder, *flags, "--devices", str(ranks), "--max-steps", str(steps))
        sent[steps] = min(bytes_so_far() - before, sent.get(steps, math.inf))
    return (sent[LONG] - sent[SHORT]) / (LONG - SHORT) / ranks


def planned(levin, folder, ranks, flags):
    text = fit(levin, folder, *flags, "--devices", str(ranks), "--dry-run")
    return 1e6 * float(re.search(r"each rank sends ([0-9.]+) MB", text).group(1))


def write_files(folder):
    """The config of a network of 24 equal units, and a text to learn."""
    config = {
        "trainer": {"accelerator": "cpu", "process_group_backend": "gloo", "limit_val_batches": 0, "log_every_n_steps": 0, "logger": False,
                    "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False},
        "model": {"class": "LanguageModel", "vocab_size": 20, "block_size": 8, "layers": 24, "heads": 1,
                  "embedding": 64, "optimizer": {"class": "SGD", "lr": 0.01}},
        "data": {"class": "Text", "file": f"{folder}/text", "block_size": 8, "batch_size": 4},
    }
    with open(f"{folder}/config.json", "w") as file:
        json.dump(config, file)
    with open(f"{folder}/text", "w") as file:
        file.write("the same twenty words or fewer again; " * 500)


def main():
    levin = sys.argv[1]
    loopback_up()
    cases = [(ranks, ("--strategy", strategy)) for ranks in (2, 4) for strategy in ("ddp", "zero1", "fsdp")]
    cases += [(2, ("--strategy", "fsdp", "--strategy.shard", "gradients", "--accumulate-grad-batches", "2")),
              (2, ("--strategy", "fsdp", "--accumulate-grad-batches", "2")),
              (4, ("--strategy", "fsdp", "--mesh.shard", "2"))]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder)
        sent = {}
        for ranks, flags in cases:
            plan, in_runs = planned(levin, folder, ranks, flags), {}
            for _ in range(MOST_RUNS):
                real = measure(levin, folder, ranks, flags, in_runs)
                print(f"{ranks} ranks, {' '.join(flags)}: planned {plan:.0f} bytes, measured {real:.0f} ({real / plan:.4f})")
                as_planned = plan <= real * 1.002 and real <= plan * (1 + MOST_BY_TCP)
                if as_planned:
                    break
            sent[(ranks, flags)] = real
            failed |= not as_planned
        for ranks in (2, 4):
            share = sent[(ranks, ("--strategy", "fsdp"))] / sent[(ranks, ("--strategy", "ddp"))]
            print(f"{ranks} ranks: fsdp sends {share:.3f} of ddp's bytes")
            failed |= abs(share / 1.5 - 1) > 0.05
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main() if sys.argv[-1] == "--inside" else own_network()
