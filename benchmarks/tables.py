"""Batches of tables read block by block: levin's loader (`levin data inspect`, with half as much memory as the data take) beside pyarrow's iter_batches and h5py's slices.

usage: tables.py LEVIN [--rows 4000000] [--batch 1024] [--rounds 3]

Prints samples a second, medians over the rounds, in turns; the files are in the system's cache. Columns are 8 of float64, 2 of int64, and
in Parquet a text of 20 words; HDF5 has them in one place and in chunks of h5py's size, not compressed. pyarrow and h5py make NumPy arrays of each batch, pyarrow with its threads and with one.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import h5py
import numpy
import pyarrow
import pyarrow.parquet


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("levin")
    for name, default in (("rows", 4_000_000), ("batch", 1024), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def write(folder, rows):
    generator = numpy.random.default_rng(1)
    columns = {f"x{i}": generator.normal(size=rows) for i in range(8)} | {f"n{i}": generator.integers(0, 1000, rows) for i in range(2)}
    for path, chunks in (("table.h5", None), ("chunks.h5", True)):
        with h5py.File(folder / path, "w") as file:
            for name, values in columns.items():
                file.create_dataset(name, data=values, chunks=chunks)
    columns["word"] = numpy.array([f"word {i}" for i in range(20)])[generator.integers(0, 20, rows)]
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "table.parquet", row_group_size=1 << 17)


def inspect(levin, data, rows):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
        json.dump({"data": {"shuffle": False, "memory_gb": rows * 40 / 1e9, **data}}, config)
        config.flush()
        said = subprocess.run([levin, "data", "inspect", "--config", config.name], capture_output=True, text=True).stdout
    return float(re.search(r"read .*: (\S+) samples/s", said)[1])


def rate(rows, read):
    begin = time.perf_counter()
    read()
    return rows / (time.perf_counter() - begin)


def with_pyarrow(path, batch, threads):
    for part in pyarrow.parquet.ParquetFile(path).iter_batches(batch, use_threads=threads):
        for column in part.columns:
            column.to_numpy(zero_copy_only=False)


def with_h5py(path, batch):
    with h5py.File(path) as file:
        columns = [file[name] for name in file]
        for begin in range(0, len(columns[0]), batch):
            for column in columns:
                column[begin:begin + batch]


def main():
    given = arguments()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write(folder, given.rows)
        parquet, hdf5, chunks = folder / "table.parquet", folder / "table.h5", folder / "chunks.h5"
        ways = {
            "Parquet: levin": lambda: inspect(given.levin, {"class": "Parquet", "files": [str(parquet)], "batch_size": given.batch}, given.rows),
            "Parquet: pyarrow": lambda: rate(given.rows, lambda: with_pyarrow(parquet, given.batch, True)),
            "Parquet: pyarrow, one thread": lambda: rate(given.rows, lambda: with_pyarrow(parquet, given.batch, False)),
            "HDF5: levin": lambda: inspect(given.levin, {"class": "Hdf5", "files": [str(hdf5)], "batch_size": given.batch}, given.rows),
            "HDF5: h5py": lambda: rate(given.rows, lambda: with_h5py(hdf5, given.batch)),
            "HDF5 in chunks: levin": lambda: inspect(given.levin, {"class": "Hdf5", "files": [str(chunks)], "batch_size": given.batch}, given.rows),
            "HDF5 in chunks: h5py": lambda: rate(given.rows, lambda: with_h5py(chunks, given.batch)),
        }
        rates = {name: [] for name in ways}
        for _ in range(given.rounds):
            for name, way in ways.items():
                rates[name].append(way())
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        for name, values in rates.items():
            print(f"{name:32} {statistics.median(values) / 1e6:8.2f} million samples/s")


main()
