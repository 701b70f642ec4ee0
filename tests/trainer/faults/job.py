"""Processes of a case under the library that makes calls fail (failing_calls.cpp), and what they have in common."""

import os
import pathlib
import signal
import struct
import subprocess
import time

MOST_SECONDS = 90  # a hang; --timeout-seconds of the ranks is 4
CALLS = ("write", "read", "fsync", "rename", "open", "mkdir", "mmap", "link", "pthread_create")
_NUMBERS = len(CALLS) + 4  # all, each, of the file, faults, outside
_STATE_BYTES, _TEXT_BYTES = 4096, 1024


class Fault:
    """What fails: the call `at` of `call` ("any": of all), by an errno, "short", or a signal before it. `file`: of calls on
    files with this in their path."""

    def __init__(self, call="", at=0, how="", lasts=False, file=""):
        self.call, self.at, self.how, self.lasts, self.file = call, at, how, lasts, file

    def variables(self):
        if not self.call:
            return {}
        return {"LEVIN_FAULTS_CALL": self.call, "LEVIN_FAULTS_AT": str(self.at), "LEVIN_FAULTS_HOW": self.how,
                "LEVIN_FAULTS_LASTS": "1" if self.lasts else "0", "LEVIN_FAULTS_FILE": self.file}


class Ended:
    """How a program ended: its code, what it said, the number of each call, and what was wrong with the process."""

    def __init__(self, code, text, counts, fault, faults, seconds):
        self.code, self.text, self.counts, self.fault, self.faults, self.seconds = code, text, counts, fault, faults, seconds


class Job:
    """The processes of one start of a program in work/run."""

    def __init__(self, library, work):
        self.library, self.work = library, pathlib.Path(work)
        self.folder, self.state, self.log = self.work / "run", self.work / "state", self.work / "log"
        for name in ("run", "tmp", "home"):
            (self.work / name).mkdir(parents=True, exist_ok=True)

    def environment(self, fault):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("LEVIN", "SLURM", "RANK", "MASTER", "TORCH_CPP"))}
        return {**clean, "LD_PRELOAD": str(self.library), "LEVIN_FAULTS_FOLDER": str(self.folder), "LEVIN_FAULTS_STATE": str(self.state),
                "LEVIN_FAULTS_ALLOWED": f"{self.folder}:{self.work / 'tmp'}", "TMPDIR": str(self.work / "tmp"),
                "HOME": str(self.work / "home"), "OMP_NUM_THREADS": "1", **fault.variables()}

    def prepare(self):
        self.state.write_bytes(bytes(_STATE_BYTES))
        self.log.write_bytes(b"")

    def start(self, words, fault, before=(), more=None):
        """Starts one process; `before` may enter a namespace first."""
        with open(self.log, "ab") as log:
            return subprocess.Popen([*before, *words], cwd=self.folder, env={**self.environment(fault), **(more or {})},
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                    preexec_fn=heed_signals)

    def numbers(self):
        values = struct.unpack_from(f"{_NUMBERS}q", self.state.read_bytes())
        return {"any": values[0], **dict(zip(CALLS, values[1:]))}, values[-2], values[-1]

    def texts(self):
        data = self.state.read_bytes()
        return [data[begin:begin + _TEXT_BYTES].split(b"\0")[0].decode(errors="replace")
                for begin in (8 * _NUMBERS, 8 * _NUMBERS + _TEXT_BYTES)]

    def processes(self):
        """The processes of this job that live, with their ranks (None: a supervisor, or a run of one process)."""
        mark, found = f"LEVIN_FAULTS_STATE={self.state}".encode(), {}
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                words = pathlib.Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
                state = pathlib.Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark in words and state not in "ZX":
                ranks = [int(word[5:]) for word in words if word.startswith(b"RANK=")]
                found[int(name)] = ranks[0] if ranks else None
        return found

    def end_all(self):
        for process in self.processes():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait(self, started, at_once=lambda: None):
        """Waits for the processes that were started; `at_once` is called again and again until then."""
        begin, faults = time.monotonic(), []
        while any(process.poll() is None for process in started):
            at_once()
            if time.monotonic() - begin > MOST_SECONDS:
                waits = [f"{pid} (rank {rank}): {where_it_is(pid)}" for pid, rank in self.processes().items()]
                faults.append("does not end; " + "; ".join(waits))
                self.end_all()
                break
            time.sleep(0.003)
        for process in started:
            process.wait()
        # Trials and ranks die with their parent, not before it.
        end = time.monotonic() + 5
        while self.processes() and time.monotonic() < end:
            time.sleep(0.01)
        left = self.processes()
        if left:
            faults.append(f"processes are left: {left}")
            self.end_all()
        _, _, outside = self.numbers()
        what, changed = self.texts()
        if outside:
            faults.append(f"{changed} was changed, outside of the run's folder")
        text = self.log.read_text(errors="replace")
        return Ended([process.returncode for process in started], text, self.numbers()[0], what, faults, time.monotonic() - begin)

    def run(self, words, fault=None, at_once=lambda: None):
        self.prepare()
        return self.wait([self.start(words, fault or Fault())], at_once)


def heed_signals():
    """nohup and a shell's background ignore these."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def where_it_is(process):
    try:
        threads = [f"{pathlib.Path(f'/proc/{process}/task/{t}/comm').read_text().strip()} in "
                   f"{pathlib.Path(f'/proc/{process}/task/{t}/wchan').read_text() or '?'}" for t in os.listdir(f"/proc/{process}/task")]
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] + ", " + ", ".join(threads)
    except OSError:
        return "gone"
