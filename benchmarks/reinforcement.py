"""Time until PPO and DQN balance a cart-pole: levin's examples against Stable-Baselines3, five seeds each.

usage: reinforcement.py PROGRAMS_FOLDER PYTHON [--seeds N] [--settings tuned ours] [--threads one default]

PYTHON has torch, stable_baselines3 and gymnasium. Both sides train on CartPole-v1 (levin's is examples/cartpole/cart_pole.h,
which a test compares with Gymnasium's states) until 20 episodes have a mean return of 475, and are evaluated after each 2,048
steps of the environment. Peers run in turn, seed by seed, each in a process of its own. Columns, medians over the seeds:
training: seconds inside the process, without evaluations; process: seconds of the whole process; cpu: its user and system
seconds; ratio: the peer's seconds by levin's. A peer's settings are those of reinforcement_peer.py. Threads: `one` means one
compute thread, and one core for the process; `default`, what each has by itself.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = {"ppo": "example_cartpole", "dqn": "example_dqn_replay"}


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(command, threads):
    environment = os.environ | ({"OMP_NUM_THREADS": "1"} if threads == "one" else {})
    core = max(os.sched_getaffinity(0))
    bind = (lambda: os.sched_setaffinity(0, {core})) if threads == "one" else None
    begin, cpu = time.perf_counter(), cpu_of_children()
    done = subprocess.run(command, env=environment, preexec_fn=bind, capture_output=True, text=True)
    process, cpu = time.perf_counter() - begin, cpu_of_children() - cpu
    if done.returncode != 0:
        sys.exit(f"failed ({done.returncode}): {' '.join(command)}\n{done.stderr[-2000:]}")
    row = json.loads(done.stdout.splitlines()[-1])
    return {"training": row["seconds"], "process": process, "cpu": cpu, "steps": row["steps"], "solved": row["return"] >= 475}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    parser.add_argument("python")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--settings", nargs="+", default=["tuned", "ours"])
    parser.add_argument("--threads", nargs="+", default=["one", "default"])
    options = parser.parse_args()
    print("| threads | | training | process | cpu | steps | solved |\n|---|---|---|---|---|---|---|")
    for threads in options.threads:
        for algorithm, example in EXAMPLES.items():
            commands = {"levin": [os.path.join(options.programs, example), "--seed"]}
            for settings in options.settings:
                peer = [options.python, os.path.join(HERE, "reinforcement_peer.py"), "--settings", settings, algorithm]
                commands[f"Stable-Baselines3, {settings}"] = peer
            rows = {who: [] for who in commands}
            for seed in range(1, options.seeds + 1):
                for who, command in commands.items():
                    rows[who].append(measured(command + [str(seed)], threads))
            first = rows["levin"]
            for who, mine in rows.items():
                cells = []
                for what in ("training", "process", "cpu"):
                    median = statistics.median(row[what] for row in mine)
                    ratio = median / statistics.median(row[what] for row in first)
                    cells.append(f"{median:.2f} s" + ("" if mine is first else f" ({ratio:.1f}x)"))
                cells.append(f"{statistics.median(row['steps'] for row in mine):,.0f}")
                cells.append(f"{sum(row['solved'] for row in mine)} of {len(mine)}")
                print(f"| {threads} | {algorithm.upper()}, {who} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
