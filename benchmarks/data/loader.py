"""Python's DataLoader over 60,000 images in memory: the peer of benchmark_data_loader.

usage: python benchmarks/data/loader.py [ROUNDS]
"""
import statistics
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

SAMPLES = 60000


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    data = TensorDataset(torch.rand(SAMPLES, 1, 28, 28), torch.randint(10, (SAMPLES,)))
    for batch_size in (64, 256):
        for workers in (0, 1, 2):
            loader = DataLoader(data, batch_size=batch_size, shuffle=True, num_workers=workers)
            speeds = []
            for _ in range(rounds):
                begin = time.perf_counter()
                total = 0.0
                for inputs, _ in loader:
                    total += float(inputs.view(-1)[0])
                speeds.append(SAMPLES / (time.perf_counter() - begin) / 1000)
            print(f"batch {batch_size:3}  Python, {workers} workers {statistics.median(speeds):10.0f} thousand samples/s")


if __name__ == "__main__":
    main()
