"""What fails in a data set of Python is named, and no process outlives levin.

usage: python_faults_test.py TOOL [PART OF A TEST'S NAME]
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

from python_dataset_runs import (
    FILE, HERE, MARK, check, command, in_order, none_left, pair, processes_of, refused, run, run_tests, same)

import torch  # noqa: I001

sys.path.insert(0, str(HERE.parents[2] / "data/python/host"))
from channel import Channel, Closed  # noqa: E402


def test_refusals():
    refused("absent", "UsageError", "there is no function 'absent'; there are", "by_split", "counting")
    refused("raises", "UsageError", f"{FILE}:", "in raises", "KeyError: 'absent'", "Traceback")
    refused("exits", "in exits", "SystemExit: no")
    refused("dies", "UsageError", "the Python process was ended by SIGSEGV before it answered")
    refused("returns_number", "the function returned builtins.int; levin takes an object with __len__ and __getitem__")
    refused("plain", "TypeError", "unexpected keyword argument 'depth'", arguments={"depth": 3})
    refused("plain", "UsageError: data.file: nothing.py: there is no such file", file="nothing.py")
    refused("plain", "No such file or directory; data.python names the interpreter", python="no-python")
    refused("plain", "before it answered", python="/bin/true")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "wrong.py"
        path.write_text("def plain():\n    return [\n")
        refused("plain", f"{path}:2: ", "SyntaxError", file=str(path))
        refused("plain", "it is no Python file: its name must end with .py", file="/proc/version")
    refused("uneven", "field 'sample': the lists of a batch's samples have different lengths")
    refused("with_none", "field 'label' is NoneType; a sample has tensors, arrays")
    refused("of_two_shapes", "field 'input' of the samples of a batch: all input arrays must have the same shape")
    for kind, why in (("array", "all input arrays must have the same shape"), ("tensor", "each tensor to be equal size")):
        refused("of_two_shapes_and_no_numbers", "field 'input' of the samples of a batch", why, arguments={"kind": kind})


def test_a_channel_that_is_closed_with_unread_answers():
    """An epoch may end while a worker sends what was asked ahead: no error of the worker, which ends in silence."""
    for read in (Channel.receive, Channel.receive_numbers, Channel.has_more):
        levin, worker = socket.socketpair()
        channel = Channel(worker.detach())
        channel.send({"batch": 1})
        levin.close()
        try:
            read(channel)
        except Closed:
            continue
        raise AssertionError(read)


def test_failures_of_what_was_asked_ahead():
    """A failure in the second batch is that of the second, not of the first; those behind it are there."""
    good = [pair(torch.utils.data.default_collate([(index, index * 0.25) for index in batch])) for batch in in_order(23)]
    for function, rest in (("Failing", good[2:]), ("failing_stream", [])):
        with tempfile.TemporaryDirectory() as folder:
            arguments = {"how": "raise_error", "folder": folder}
            answer = run(function, arguments=arguments, num_workers=0)
            assert "in raise_error: " in answer and run.err.count("a batch\n") == 1, (answer, run.err)
            (batches,) = run(function, {"again": True}, arguments=arguments, num_workers=0)
            assert len(batches) == 1 + len(rest) and run.out.count("in raise_error: ") == 1, (batches, run.out)
            assert all(same(wanted, got["fields"]) for wanted, got in zip(good[:1] + rest, batches))
    for how, name in (("kill", "SIGKILL"), ("crash", "SIGSEGV")):
        with tempfile.TemporaryDirectory() as folder:
            answer = run("Failing", arguments={"how": how, "folder": folder}, num_workers=0)
            assert f"batch of samples 4, 5, 6, 7: a worker of {FILE}" in answer and f"was ended by {name}" in answer, answer
            assert run.err.count("a batch\n") == 1, run.err


def test_failures():
    good = [pair(torch.utils.data.default_collate([(index, index * 0.25) for index in batch])) for batch in in_order(23)]
    with tempfile.TemporaryDirectory() as folder:
        def failing(how, times=10**9, function="Failing", **options):
            pathlib.Path(folder, "calls").unlink(missing_ok=True)
            return run(function, options.pop("job", {}), arguments={"how": how, "folder": folder, "times": times}, num_workers=2,
                       **options)

        for how, name in (("kill", "SIGKILL"), ("crash", "SIGSEGV")):
            (batches,) = failing(how, times=1)
            check(batches, good)
            assert f"was ended by {name}; another one loads its batch" in run.err, run.err
            answer = failing(how)
            assert "batch of samples 4, 5, 6, 7: a worker of" in answer and f"was ended by {name}" in answer, answer
        answer = failing("leave", times=1, worker_restarts=0)
        assert "ended with exit code 3" in answer, answer
        (batches,) = failing("kill_maker", times=1, worker_restarts=3)
        check(batches, good)
        assert "it is started again" in run.err
        answer = failing("raise_error")
        assert f"{FILE}:" in answer and "in raise_error: sample 5: ValueError: no such image ?" in answer, answer
        assert "getattr(self, self.how)()" in answer, answer
        # The batches behind the one that fails are there.
        (batches,) = failing("raise_error", job={"again": True})
        check(batches, good[:1] + good[2:])
        began = time.monotonic()
        answer = failing("hang", timeout_seconds=1)
        assert f"data.timeout_seconds: {FILE} gave no batch for 1 seconds" in answer, answer
        assert time.monotonic() - began < 30
        assert "in hang" in run.err, run.err
        (batches,) = failing("kill", times=1, function="failing_stream")
        check(batches, good)
        assert "another one continues behind sample 4" in run.err or "behind sample 0" in run.err, run.err
        answer = failing("raise_error", function="failing_stream")
        assert "in raise_error: ValueError" in answer, answer
        answer = failing("hang", function="failing_stream", timeout_seconds=1)
        assert "gave no batch for 1 seconds" in answer, answer


def test_no_orphan():
    """levin is killed while Python sleeps: in a worker, in a loader's own worker, and where the function is called."""
    with tempfile.TemporaryDirectory() as folder:
        out, hang = pathlib.Path(folder), {"how": "hang", "folder": folder}
        for function, processes, options in (("sleeps", 2, {}), ("Failing", 3, {"arguments": hang}),
                                             ("Failing", 4, {"arguments": hang, "num_workers": 2}),
                                             ("slow_loader", 5, {"num_workers": 1})):
            for signal_number in (signal.SIGKILL, signal.SIGTERM):
                mark = uuid.uuid4().hex
                levin = subprocess.Popen(command(out, function, [{}], options), stderr=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, env={**os.environ, MARK: mark})
                for _ in range(600):
                    if len(processes_of(mark)) >= processes:
                        break
                    time.sleep(0.05)
                started = processes_of(mark)
                assert len(started) >= processes, (function, started)
                levin.send_signal(signal_number)
                levin.wait()
                assert none_left(mark), (function, processes_of(mark))
                shared = os.listdir("/dev/shm")
                assert not [name for name in shared if any(f"_{process}_" in name for process in started)], shared


run_tests(globals())
