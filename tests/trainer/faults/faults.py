#!/usr/bin/env python3
"""Lets system calls fail, sends signals, stops ranks and cuts networks in runs drawn from a seed, and looks at what is left.

usage: faults.py LEVIN SESSION_PROGRAM LIBRARY [--cases N] [--seed S] [--from CASE] [--only CASE...] [--kind KIND...]
  SESSION_PROGRAM  session_program, LIBRARY: failing_calls, which is preloaded
  --cases   so many cases (default 24), after those that were found before; --seed: draws others (default 1)
  --from    number of the first case, to go on; --only: numbers of cases to try again, whose folders are kept
  --kind    draws cases of these kinds alone: one, workers, ddp, zero1, fsdp, session, sweep, serve, cut-ddp, cut-fsdp
A case runs a program in which one thing goes wrong, and then again until it ends well. Each end must be in time, with an error
that says something or with success; files under their final names are whole; nothing outside of the folder is touched; no
process is left, and no temporary file after the end; and the end has the bits of the run in which nothing went wrong. EINTR
and short writes change nothing.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))

import cut_network_test  # noqa: E402
import job as jobs  # noqa: E402
import kinds  # noqa: E402
import oracle  # noqa: E402
from job import Fault, Job  # noqa: E402

# How often a kind is drawn; runs of one process are the quickest.
_WEIGHTS = {"one": 30, "workers": 10, "ddp": 9, "zero1": 7, "fsdp": 10, "session": 10, "sweep": 8, "serve": 8, "cut-ddp": 1, "cut-fsdp": 1}
_ERRORS = {"write": ("EIO", "ENOSPC", "EINTR", "short"), "read": ("EIO", "EINTR", "short"), "fsync": ("EIO", "ENOSPC", "EINTR"),
           "rename": ("EIO", "ENOSPC"), "open": ("EIO", "ENOSPC", "EINTR", "EMFILE"), "mkdir": ("EIO", "ENOSPC"),
           "mmap": ("ENOMEM", "EIO"), "link": ("EIO", "ENOSPC"), "pthread_create": ("EAGAIN",)}
_SIGNALS = ("SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGSTOP")
_MOST_STARTS = 3  # after the one that goes wrong


@dataclasses.dataclass
class Case:
    """`moment`: when, as a part of the calls, or for `at_time` of the time, of the run in which nothing goes wrong."""

    number: int
    kind: str
    resumes: bool  # what was killed before
    call: str = ""
    how: str = ""
    lasts: bool = False
    moment: float = 0.0
    at_time: bool = False
    rank: int = 0
    restarts: bool = False
    file: str = ""  # fixed cases: the call `at` on files with this in their path
    at: int = 0

    def __str__(self):
        return json.dumps({name: value for name, value in dataclasses.asdict(self).items() if value or name == "number"})


# What was found, as the numbers before 0.
_FIXED = (
    ("one", False, "fsync", "EINTR", ".ckpt", 2, False),  # was an error
    ("one", False, "open", "EINTR", ".ckpt", 3, False),
    ("one", False, "write", "short", "metrics.jsonl", 2, False),
    ("one", False, "any", "SIGKILL", ".ckpt", 3, False),  # the temporary file stayed: the run begins anew in another folder
    ("one", True, "mmap", "EIO", ".ckpt", 1, True),  # the run began anew
    ("one", True, "open", "EMFILE", "version_0/run.json", 3, False),  # the run got another id, and lost its checkpoints elsewhere
    ("one", False, "read", "EIO", "metrics.csv", 1, False),  # said basic_filebuf::underflow
    ("ddp", False, "mkdir", "EIO", "ranks_of_process", 1, False),  # said filesystem error
    ("sweep", False, "write", "short", "sweep.jsonl", 2, False),  # was an error
    ("sweep", False, "fsync", "EINTR", "sweep.jsonl", 2, False),  # was an error
    ("sweep", False, "mmap", "EIO", "trial_001/version_0/summary.json", 1, False),  # the table had 0 epochs
)


def drawn(number, seed, only_kinds):
    if number < 0:
        kind, resumes, call, how, file, at, lasts = _FIXED[number]
        return Case(number, kind, resumes, call, how, lasts, file=file, at=at)
    dice = random.Random(f"{seed}, {number}")
    names = [name for name in _WEIGHTS if not only_kinds or name in only_kinds]
    case = Case(number, dice.choices(names, [_WEIGHTS[name] for name in names])[0], dice.random() < 0.4, moment=dice.random(),
                rank=dice.randrange(2), restarts=dice.random() < 0.5)
    if case.kind.startswith("cut"):
        case.resumes = case.restarts = False
        return case
    what = dice.random()
    if what < 0.65:
        # Most calls of a run are opens and writes; each kind of call has its turn.
        case.call = dice.choice(list(_ERRORS))
        case.how = dice.choice(_ERRORS[case.call])
        case.lasts = case.how in ("EIO", "ENOSPC", "EMFILE") and dice.random() < 0.2
    else:
        case.call, case.how, case.at_time = "any", dice.choice(_SIGNALS), what > 0.82
    case.restarts = case.restarts and kinds.KINDS[case.kind].has_ranks and case.how in ("SIGKILL", "SIGSTOP")
    return case


def identities(folder):
    """The ids of the runs."""
    return {str(file.relative_to(folder)): json.loads(file.read_text())["id"] for file in folder.rglob("run.json")}


@dataclasses.dataclass
class Reference:
    """A run in which nothing goes wrong, and what a killed one left."""

    results: dict
    counts: dict
    seconds: float
    killed: pathlib.Path = None
    counts_resumed: dict = None


class Faults:
    def __init__(self, given):
        self.given = given
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="levin_faults_"))
        self.work = self.root / "work"  # the same for all, since checkpoints name their folders
        self.references = {}
        self.machines = None

    def new_job(self, start_from=None):
        shutil.rmtree(self.work, ignore_errors=True)
        job = Job(self.given.library, self.work)
        if start_from is not None:
            job.folder.rmdir()
            subprocess.run(["cp", "-a", str(start_from), str(job.folder)], check=True)
        return job

    def must(self, holds, text):
        if not holds:
            raise RuntimeError(text)

    def reference(self, name):
        if name not in self.references:
            kind = kinds.KINDS[name]
            job = self.new_job()
            ended = job.run(kind.words(self.given))
            results = kind.results(job.folder)
            self.must(ended.code == [0] and results and not ended.faults, f"the unbroken run of {name}: {ended.code} {ended.faults} {ended.text}")
            self.references[name] = Reference(results, ended.counts, ended.seconds)
        return self.references[name]

    def killed(self, name):
        """The same with what a run has left that was killed after 0.6 of its calls."""
        known, kind = self.reference(name), kinds.KINDS[name]
        if known.killed is None:
            job = self.new_job()
            killed = job.run(kind.words(self.given), Fault("any", int(0.6 * known.counts["any"]), "SIGKILL"))
            known.killed = self.root / f"killed_{name}"
            subprocess.run(["cp", "-a", str(job.folder), str(known.killed)], check=True)
            job = self.new_job(known.killed)
            resumed = job.run(kind.words(self.given))
            wrong = kinds.difference(kind.results(job.folder), known.results)
            self.must(resumed.code == [0] and not wrong, f"{name}, killed ({killed.code}) and resumed: {resumed.code} {wrong} {resumed.text}")
            known.counts_resumed = resumed.counts
        return known

    # One process, ranks, sessions, sweeps.

    def tried(self, case):
        kind, known = kinds.KINDS[case.kind], self.killed(case.kind) if case.resumes else self.reference(case.kind)
        job = self.new_job(known.killed if case.resumes else None)
        counts = known.counts_resumed if case.resumes else known.counts
        fault = Fault()
        if not case.at_time:
            if counts[case.call] == 0:  # a run that goes on makes no folder
                case.call, case.how = "write", "EIO"
            fault = Fault(case.call, case.at or 1 + int(case.moment * counts[case.call]), case.how, case.lasts, case.file)
        identity = identities(job.folder)
        begin, sent, stopped_at = time.monotonic(), [], []

        def at_once():
            now = time.monotonic()
            if case.at_time and not sent and now - begin > case.moment * 1.1 * known.seconds:
                sent.append(now)
                processes = job.processes()
                chosen = [pid for pid, rank in processes.items() if rank == case.rank] or [pid for pid, rank in processes.items() if rank is None]
                for pid in chosen[:1]:
                    os.kill(pid, getattr(signal, case.how))
            # A process that somebody stops goes on when it is continued; a rank that does not answer is given up.
            if case.how == "SIGSTOP" and (sent or job.numbers()[1]) and not stopped_at:
                stopped_at.append(now)
            if stopped_at and now - stopped_at[0] > 0.5:
                for pid, rank in job.processes().items():
                    # A rank that is stopped when the others have ended is waited for.
                    if rank is None or not kind.has_ranks or now - begin > 30:
                        os.kill(pid, signal.SIGCONT)
                stopped_at[0] = now + 1e9 if not kind.has_ranks else now

        words = kind.words(self.given) + (["--max-restarts", "1"] if case.restarts else [])
        ended = job.run(words, fault, at_once)
        found = ended.faults + oracle.faults_of_end(ended.code[0], ended.text, case.how) + oracle.damaged_files(job.folder)
        said = re.search(r"(?m)^.*(?:error: |warning: ).*$", ended.text)
        outcome = f"{ended.fault or (case.how + ' sent' if sent else 'nothing failed')}: {ended.code[0]}" + (
            f" ({said.group(0)})" if said else "")
        if case.how == "SIGSTOP" and not kind.has_ranks and ended.code[0] != 0:
            found.append("a process that was stopped and continued did not end well")
        texts, results = [ended.text], {}
        if ended.code[0] == 0:
            results = kind.results(job.folder)
            # Ranks and trials write logs of their own.
            said = ended.text + "".join(log.read_text(errors="replace") for log in job.folder.rglob("*.log"))
            told = bool(re.search(r"warning: .*Logger", said)) and case.how not in ("EINTR", "short")
            rows_may_lack = told and (case.lasts or "metrics." in ended.fault)
            if wrong := results and kinds.difference(results, known.results, rows_may_lack, case.lasts):
                found.append(f"success, but {wrong}")
            if not results and case.kind != "sweep":
                found.append("success without results")
            if case.how in ("EINTR", "short") and not results:
                found.append(f"{case.how} must change nothing")
        starts = 0
        while not results or oracle.temporary_files(job.folder):
            starts += 1
            again = job.run(kind.words(self.given))
            texts.append(again.text)
            found += [f"start {starts} after it: {text}" for text in again.faults + oracle.faults_of_text(again.text)]
            results = kind.results(job.folder) if again.code == [0] else {}
            lacks = ("metrics." in ended.fault or case.lasts) and case.how not in ("EINTR", "short")
            wrong = results and kinds.difference(results, known.results, lacks, case.lasts)
            if wrong or again.code != [0] or starts == _MOST_STARTS:
                found.append(f"start {starts} after it ended with {again.code[0]}, {wrong or 'no difference'}")
                break
        found += [f"{name} is left" for name in oracle.temporary_files(job.folder)]
        found += oracle.damaged_files(job.folder)
        found += [f"{file} has another id" for file, run in identity.items() if identities(job.folder).get(file, run) != run]
        found += [f"{path.relative_to(self.work)} is left" for name in ("tmp", "home") for path in (self.work / name).iterdir()
                  if not (case.how == "SIGKILL" and path.name.startswith("levin_failures_"))]  # nothing looks for it later
        return outcome, list(dict.fromkeys(found)), texts

    # The server.

    def tried_server(self, case):
        if not hasattr(self, "served"):
            job = self.new_job()
            self.must(job.run(kinds.KINDS["one"].words(self.given)).code == [0], "the run to serve")
            self.served = self.root / "served"
            shutil.rmtree(job.folder / "best")
            subprocess.run(["cp", "-a", str(job.folder), str(self.served)], check=True)
            counted = self.serve(self.new_job(self.served), Fault(), case)
            self.must(not counted[1], f"the server without faults: {counted}")
            self.served_counts = counted[3]
        counts = self.served_counts
        if not case.at_time and counts[case.call] == 0:  # it writes nothing
            case.call, case.how = "open", "EIO"
        fault = Fault() if case.at_time else Fault(case.call, 1 + int(case.moment * counts[case.call]), case.how, case.lasts)
        return self.serve(self.new_job(self.served), fault, case)[:3]

    def serve(self, job, fault, case):
        before, found = oracle.files_of(job.folder), []
        job.prepare()
        process = job.start(kinds.KINDS["serve"].words(self.given), fault)
        address, end = None, time.monotonic() + 30
        while address is None and process.poll() is None and time.monotonic() < end:
            address = re.search(r"at (http://\S+)", job.log.read_text(errors="replace"))
            time.sleep(0.01)
            if case.how == "SIGSTOP" and job.numbers()[1]:
                os.kill(process.pid, signal.SIGCONT)
        base = address and re.match(r"http://[^/]+", address.group(1)).group(0)
        paths = ["/", "/api/runs", "/api/run?path=run/version_0", "/run?path=run/version_0"] * 2
        when = int(case.moment * len(paths)) if case.at_time else len(paths)
        answers = []
        for number, path in enumerate(paths if base else []):
            if number == when:
                os.kill(process.pid, getattr(signal, case.how))
            if case.how == "SIGSTOP":
                time.sleep(0.2)
                os.kill(process.pid, signal.SIGCONT)
            try:
                with urllib.request.urlopen(base + path, timeout=10) as answer:
                    answers.append((answer.status, len(answer.read())))
            except urllib.error.HTTPError as error:
                answers.append((error.code, 0))
            except OSError as error:
                answers.append((0, str(error)))
                if case.how == "SIGSTOP":
                    os.kill(process.pid, signal.SIGCONT)
        lived = process.poll() is None
        deadly = case.how in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
        if lived and base:
            process.send_signal(signal.SIGCONT)
            if not deadly or not (case.at_time or job.numbers()[1]):  # a second signal would end it at once
                process.send_signal(signal.SIGTERM)
        ended = job.wait([process])
        found += ended.faults + oracle.faults_of_text(ended.text)
        if oracle.files_of(job.folder) != before:
            found.append("files of the run have changed")
        if base and not deadly and not lived:
            found.append(f"the server ended with {process.returncode}")
        if base and process.returncode not in ((-9,) if case.how == "SIGKILL" and process.returncode else (0, -1 if case.how == "SIGHUP" else 0)):
            found.append(f"it ended with {process.returncode}")
        if not base:
            found += oracle.faults_of_end(process.returncode, ended.text, case.how)
        changed = sorted({path for path, answer in zip(paths, answers) if answer[0] != 200})
        if base and not deadly and case.how != "SIGSTOP" and not fault.lasts and (len(changed) > 1 or case.how in ("EINTR", "short") and changed):
            found.append(f"answers: {answers}")
        if base and not deadly and case.how != "SIGSTOP" and any(answer[0] == 0 for answer in answers):
            found.append(f"no answer: {answers}")
        return f"{ended.fault or 'nothing failed'}: {process.returncode}, {len(changed)} other answers", found, [ended.text], ended.counts

    # Two machines.

    def nodes(self, kind, fault, machines, at_once=lambda: None):
        job = self.job
        job.prepare()
        more = {"MASTER_ADDR": cut_network_test.NODES[0], "MASTER_PORT": "29613", 
                "LEVIN_SECRET": "a secret for both machines"}
        started = [job.start(kind.words(self.given), fault, ["nsenter", "-t", str(machines.other.pid), "-n"] if node else [],
                             {**more, "NODE_RANK": str(node), "GLOO_SOCKET_IFNAME": ("here", "there")[node]}) for node in (0, 1)]
        return job.wait(started, at_once)

    def tried_nodes(self, case):
        if not self.given.inside:
            return "no network namespaces here", [], []
        kind, found = kinds.KINDS[case.kind], []
        with cut_network_test.Machines() as machines:
            if case.kind not in self.references:
                self.job = self.new_job()
                ended = self.nodes(kind, Fault(), machines)
                results = kind.results(self.job.folder)
                self.must(ended.code == [0, 0] and results, f"two nodes: {ended.code} {ended.text}")
                self.references[case.kind] = Reference(results, ended.counts, ended.seconds)
            known = self.references[case.kind]
            self.job = self.new_job()
            cut = []

            def at_once():
                if not cut and self.job.numbers()[0]["any"] >= case.moment * known.counts["any"]:
                    machines.cut()
                    cut.append(True)

            ended = self.nodes(kind, Fault(), machines, at_once)
            found += ended.faults + oracle.faults_of_text(ended.text) + oracle.damaged_files(self.job.folder)
            for code in ended.code:
                found += oracle.faults_of_end(code, ended.text, "SIGSTOP")
            cut_network_test.ip("link", "set", "here", "up")
            time.sleep(0.5)
            texts = [ended.text]
            if ended.code != [0, 0]:
                again = self.nodes(kind, Fault(), machines)
                texts.append(again.text)
                if again.code != [0, 0]:
                    found.append(f"the next start ended with {again.code}")
            if wrong := kinds.difference(kind.results(self.job.folder), known.results):
                found.append(wrong)
            found += [f"{name} is left" for name in oracle.temporary_files(self.job.folder)]
        return f"cut: {ended.code}", found, texts

    def run(self):
        given, outcomes, bad, begin = self.given, collections.Counter(), 0, time.time()
        numbers = given.only if given.only is not None else range(given.first or -len(_FIXED), given.cases)
        print(f"seed {given.seed}, {len(numbers)} cases", flush=True)
        tried = 0
        for number in numbers:
            case = drawn(number, given.seed, given.kind)
            if given.kind and case.kind not in given.kind:
                continue
            how = self.tried_nodes if case.kind.startswith("cut") else self.tried_server if case.kind == "serve" else self.tried
            since = time.time()
            outcome, found, texts = how(case)
            tried += 1
            outcomes[(case.kind, case.how or "cut")] += 1
            bad += bool(found)
            print(f"{case}: {outcome}; {'; '.join(found) or 'holds'} ({time.time() - since:.1f} s)", flush=True)
            if found:
                print(*(f"--- start {i}\n{text if given.only is not None else text[-2500:]}" for i, text in enumerate(texts)), sep="\n", flush=True)
            if given.only is not None:
                kept = self.root / f"case_{number}"
                shutil.copytree(self.work, kept, symlinks=True)
                print("kept:", kept)
        print(f"seed {given.seed}: {tried} cases in {time.time() - begin:.0f} s, {bad} do not hold; " + ", ".join(
            f"{kind} {sum(n for (k, _), n in outcomes.items() if k == kind)}" for kind in _WEIGHTS))
        return 1 if bad else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("levin", "session", "library"):
        arguments.add_argument(name, type=lambda path: str(pathlib.Path(path).resolve()))
    arguments.add_argument("--cases", type=int, default=24)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--from", type=int, default=0, dest="first")
    arguments.add_argument("--only", type=int, nargs="*")
    arguments.add_argument("--kind", nargs="*")
    arguments.add_argument("--inside", action="store_true")
    given = arguments.parse_args()
    probe = ["unshare", "--user", "--map-root-user", "--net"]
    if not given.inside and shutil.which("unshare") and shutil.which("ip") and not subprocess.run([*probe, "true"], capture_output=True).returncode:
        os.execvp(probe[0], [*probe, sys.executable, *sys.argv, "--inside"])
    if given.inside:
        cut_network_test.ip("link", "set", "lo", "up")
    faults = Faults(given)
    try:
        return faults.run()
    finally:
        if given.only is None:
            shutil.rmtree(faults.root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
