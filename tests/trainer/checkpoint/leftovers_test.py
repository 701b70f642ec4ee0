"""What a process that was killed, or hung up on, leaves of the files that it was writing is removed by the next run.

usage: leftovers_test.py LEVIN [--kills N]
"""

import argparse
import pathlib
import signal
import subprocess
import sys
import tempfile

LEAST = 3  # kills of each kind that leave a file


def temporary_files(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob(".*.tmp"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("levin")
    parser.add_argument("--kills", type=int, default=40, help="the most that are tried of each kind")
    arguments = parser.parse_args()
    failures = []
    for number in (signal.SIGKILL, signal.SIGHUP):
        found = 0
        for kill in range(arguments.kills):
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                (root / "config.json").write_text(
                    '{"name": "run", "trainer": {"max_epochs": 1, "enable_progress_bar": false, "callbacks": '
                    '[{"class": "ModelCheckpoint", "every_n_train_steps": 1, "save_top_k": -1, "save_last": true}]}, '
                    '"model": {"class": "ImageClassifier", "net": "mlp"}, '
                    '"data": {"class": "SyntheticDigits", "train_size": 160, "val_size": 16}}')
                command = [arguments.levin, "fit", "--config", root / "config.json", "--default-root-dir", root]
                # SIGHUP saves and stops, unless signals are left to the system.
                first = subprocess.Popen([*command, "--trainer.handle_signals", "false"], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
                to_pass = kill  # of the temporary files that appear, so that each kind is hit
                before = []
                while first.poll() is None:
                    now = temporary_files(root)
                    to_pass -= len(set(now) - set(before))
                    before = now
                    if now and to_pass < 0:
                        first.send_signal(number)
                        break
                first.wait()
                left = temporary_files(root)
                if not left:
                    continue
                found += 1
                again = subprocess.run([*command, "--ckpt-path", "last"], capture_output=True, text=True)
                if again.returncode != 0:
                    failures.append(f"{number.name}, {left}: the next run fails: {again.stderr}")
                if remain := temporary_files(root):
                    failures.append(f"{number.name}: the next run leaves {remain}")
            if found >= LEAST * 2:
                break
        print(f"{number.name}: {found} kills left a file, the last {left}", flush=True)
        if found < LEAST:
            failures.append(f"{number.name}: only {found} kills left a file, so nothing is shown")
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


main()
