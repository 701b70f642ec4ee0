"""Shards behind a server that answers late: levin's Tar against the same files on the disk, webdataset and MosaicML's streaming.

usage: streams.py TOOL [--shards 1000] [--delay-ms 30] [--rounds 3] [--prefetch 32] [--step-ms 0] [--only NAME...]

TOOL is streams_tool, which the tests build. A shard has 16 samples, uint8 [65536] with a number, some 1 MB. Every reader makes
batches of 32 on this machine; a round of each begins with an empty cache. The rate is of all after the first batch, as samples/s;
--step-ms is slept after each batch, as a step on a GPU takes. The server shares the machine's cores.
webdataset and mosaicml-streaming are left out where Python does not find them. streaming reads no plain http: its remote is a folder of
this disk, without the delay.
"""

import argparse
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy

SAMPLES, SIZE, BATCH = 16, 65536, 32


def write_shards(folder, count):
    generator = numpy.random.default_rng(1)
    for shard in range(count):
        with tarfile.open(folder / f"s-{shard:06}.tar", "w") as file:
            for i in range(SAMPLES):
                array = io.BytesIO()
                numpy.save(array, generator.integers(0, 256, SIZE, numpy.uint8))
                for extension, content in (("npy", array.getvalue()), ("cls", b"%d" % (shard * SAMPLES + i))):
                    info = tarfile.TarInfo(f"{shard * SAMPLES + i}.{extension}")
                    info.size = len(content)
                    file.addfile(info, io.BytesIO(content))


def write_mds(folder, count):
    from streaming import MDSWriter

    generator = numpy.random.default_rng(1)
    with MDSWriter(out=str(folder), columns={"input": f"ndarray:uint8:{SIZE}", "target": "int"}, size_limit=SAMPLES * (SIZE + 100),
                   progress_bar=False) as out:
        for number in range(count * SAMPLES):
            out.write({"input": generator.integers(0, 256, SIZE, numpy.uint8), "target": number})


def rate_of_batches(batches, step):
    """(samples, samples/s after the first batch, seconds until it)"""
    start = time.perf_counter()
    samples, first, began = 0, 0, start
    for batch in batches:
        samples += len(batch)
        if not first:
            first, began = samples, time.perf_counter()
        time.sleep(step)
    return samples, (samples - first) / (time.perf_counter() - began), began - start


def webdataset_batches(urls, workers):
    import torch
    import webdataset

    data = webdataset.WebDataset(urls, shardshuffle=False).decode().to_tuple("npy", "cls").batched(BATCH)
    loader = webdataset.WebLoader(data, batch_size=None, num_workers=workers)
    return (torch.as_tensor(inputs) for inputs, _ in loader)


def streaming_batches(remote, local, workers):
    import torch
    from streaming import StreamingDataset

    data = StreamingDataset(remote=remote, local=local, shuffle=False, batch_size=BATCH, predownload=2048)
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, num_workers=workers)
    return (batch["input"] for batch in loader)


def peer(name, step, arguments):
    """Runs in a process of its own, since both leave threads behind."""
    make = webdataset_batches if name == "webdataset" else streaming_batches
    print(json.dumps(rate_of_batches(make(*arguments), step)))
    sys.stdout.flush()
    os._exit(0)


def run_peer(name, step, *arguments):
    done = subprocess.run([sys.executable, __file__, "--peer", name, json.dumps([step, arguments])], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        return print(json.dumps({"reader": name, "failed": done.stderr.strip().splitlines()[-1:]}))
    return json.loads(lines[-1])


def run_levin(tool, step_ms, options):
    done = subprocess.run([tool, "rate", json.dumps(options), str(step_ms)], capture_output=True, text=True, check=True)
    samples, seconds, after, seconds_after = map(float, done.stdout.split())
    return int(samples), after / seconds_after, seconds - seconds_after


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--shards", type=int, default=1000)
    parser.add_argument("--delay-ms", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prefetch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--step-ms", type=int, default=0)
    parser.add_argument("--only", nargs="*")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tars, mds, cache = folder / "tars", folder / "mds", folder / "cache"
        tars.mkdir()
        write_shards(tars, asked.shards)
        wanted = asked.only or ["local", "levin", "webdataset", "streaming"]
        try:
            if "streaming" in wanted:
                write_mds(mds, asked.shards)
        except ImportError as error:
            print(f"streaming is left out: {error}")
            wanted.remove("streaming")
        server = subprocess.Popen([asked.tool, "serve", str(folder), str(asked.delay_ms)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        host = f"http://127.0.0.1:{int(server.stdout.readline())}"
        names = f"s-{{000000..{asked.shards - 1:06}}}.tar"
        options = {"batch_size": BATCH, "num_workers": asked.workers, "shuffle": False}
        readers = {
            "local": lambda: run_levin(asked.tool, asked.step_ms, {**options, "shards": [f"{tars}/{names}"]}),
            "levin": lambda: run_levin(asked.tool, asked.step_ms, {**options, "shards": [f"{host}/tars/{names}"], "cache_folder": str(cache),
                                                    "prefetch_shards": asked.prefetch}),
            "webdataset": lambda: run_peer("webdataset", asked.step_ms / 1000, f"{host}/tars/{names}", asked.workers),
            "streaming": lambda: run_peer("streaming", asked.step_ms / 1000, str(mds), str(cache), asked.workers),
        }
        best = {}
        for _ in range(asked.rounds):
            for name in wanted:
                shutil.rmtree(cache, ignore_errors=True)
                found = readers[name]()
                if found is None:
                    continue
                samples, rate, wait = found
                assert samples == asked.shards * SAMPLES, (name, samples)
                best[name] = max(best.get(name, 0), rate)
                print(json.dumps({"reader": name, "samples_per_second": round(rate), "first_batch_seconds": round(wait, 3),
                                  "load": round(os.getloadavg()[0], 1)}), flush=True)
        for name, rate in best.items():
            print(f"{name}: {rate:.0f} samples/s, {rate / best.get('local', rate):.2f} of local")
        server.stdin.close()
        server.wait()


if sys.argv[1:2] == ["--peer"]:
    peer(sys.argv[2], *json.loads(sys.argv[3]))
else:
    main()
