"""Readers of shards at URLs share a cache and are killed at any moment: the cache stays within its bytes, each of its files is one of
the server's, and a later reader gives the samples of the local files in their order.

usage: streams_kill_test.py TOOL [--kills N] [--seed N]
"""

import argparse
import io
import json
import pathlib
import random
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

try:
    import numpy
except ImportError:
    print("SKIPPED: this Python has no numpy")
    sys.exit(77)

SHARDS, PER_SHARD, DELAY_MS = 24, 4, 4


def write_shards(folder):
    for shard in range(SHARDS):
        with tarfile.open(folder / f"s-{shard:02}.tar", "w") as file:
            for i in range(PER_SHARD):
                number = shard * PER_SHARD + i
                array = io.BytesIO()
                numpy.save(array, numpy.full(20000, number, numpy.float32))
                for extension, content in (("npy", array.getvalue()), ("cls", b"%d" % number)):
                    info = tarfile.TarInfo(f"{number}.{extension}")
                    info.size = len(content)
                    file.addfile(info, io.BytesIO(content))


class Reader:
    def __init__(self, tool, options, rank=0, world=1):
        self.process = subprocess.Popen([tool, "read", json.dumps(options), str(rank), str(world)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def numbers(self):
        out, said = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, (out[-500:], said[-500:])
        return [int(line) for line in out.split()]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


def check_cache(cache, originals, most):
    files = list(cache.glob("*.shard"))
    for file in files:
        assert file.read_bytes() in originals, f"{file} is none of the shards"
    total = sum(file.stat().st_size for file in files)
    assert total <= most, (total, most)
    return len(files)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        cache = folder / "cache"
        write_shards(folder)
        originals = {file.read_bytes() for file in folder.glob("*.tar")}
        most = 9 * len(next(iter(originals)))
        server = subprocess.Popen([asked.tool, "serve", str(folder), str(DELAY_MS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)
        port = int(server.stdout.readline())
        base = {"batch_size": 3, "seed": 7, "shuffle": True, "shuffle_buffer": 6, "num_workers": 1}
        remote = {**base, "shards": [f"http://127.0.0.1:{port}/s-{{00..{SHARDS - 1}}}.tar"], "cache_folder": str(cache),
                  "cache_bytes": most, "prefetch_shards": 3}
        expected = Reader(asked.tool, {**base, "shards": [f"{folder}/s-{{00..{SHARDS - 1}}}.tar"]}).numbers()
        assert sorted(expected) == list(range(SHARDS * PER_SHARD))
        reader = Reader(asked.tool, remote)
        start = time.monotonic()
        assert reader.numbers() == expected
        seconds = time.monotonic() - start
        seen = 0
        for kill in range(asked.kills):
            # Two ranks share the cache; one of them is killed, and at times both.
            ranks = [Reader(asked.tool, remote, rank, 2) for rank in range(2)]
            time.sleep(draw.uniform(0, seconds))
            ranks[0].kill()
            if kill % 3 == 0:
                ranks[1].kill()
            else:
                ranks[1].numbers()
            seen += check_cache(cache, originals, most)
            if kill % 5 == 4:
                assert Reader(asked.tool, remote).numbers() == expected
        assert Reader(asked.tool, remote).numbers() == expected
        check_cache(cache, originals, most)
        left = [str(path) for path in (cache / ".streams").rglob("*") if path.is_file() and path.name != "ledger"]
        assert not left, left
        server.stdin.close()
        server.wait()
        print(f"{asked.kills} kills, a read of {seconds:.2f} s, {seen} cached files compared")


main()
