#!/usr/bin/env python3
"""Measures the nine ways to train faster: measure.py PROGRAM [--rounds 5] [--samples 4096] [--gpu] [--table FILE] [--chart FILE.svg]

PROGRAM is example_nine_tricks. The ways run in turn, in several rounds; a figure is the median of a way's rounds. The table is
Markdown, the chart SVG. Ways that need a GPU stand in the table without figures where there is none. With --gpu only these run, and
the ways that they are compared with.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile

# What each row tells: the way, the way that it is compared with, and the words of the table.
ROWS = [
    ("1_loader", "1_loop_by_hand", "1. a loader in place of a loop over files"),
    ("2_one_worker", "1_loader", "2. one worker that loads ahead"),
    ("2_two_workers", "1_loader", "2. two workers"),
    ("3_batches_of_8", "1_loader", "3. batches of 8 in place of 32"),
    ("3_batches_of_128", "1_loader", "3. batches of 128"),
    ("3_batches_of_512", "1_loader", "3. batches of 512"),
    ("4_accumulated_4_of_128", "3_batches_of_128", "4. batches of 128 as four parts of 32, accumulated"),
    ("5_no_graphs", "5_graphs_retained", "5. a monitored value without its graph"),
    ("6_bf16_on_cpu", "1_loader", "6. bf16-mixed on the CPU"),
    ("6_one_gpu", "1_loader", "6. one GPU"),
    ("6_one_gpu_fed", "6_one_gpu", "6. one GPU, fed by eight workers"),
    ("6_one_gpu_fed_16_bit", "6_one_gpu_fed", "6. the same with 16-mixed"),
    ("7_split_on_two_gpus", "6_one_gpu", "7. the network split on two GPUs"),
    ("8_ddp_on_two_gpus", "6_one_gpu", "8. ddp on two GPUs"),
    ("8_ddp_on_the_cpu", "1_loader", "8. ddp with two ranks of one thread on the CPU"),
    ("9_threads_oversubscribed", "8_ddp_on_the_cpu", "9. eight threads for each of these ranks"),
    ("9_gpu_waited_for", "6_one_gpu_fed", "9. a GPU that is waited for in each step"),
]


def run(program, folder, way, samples):
    """The figures of one run; None if the machine cannot run the way."""
    done = subprocess.run([program, folder, way, str(samples)], capture_output=True, text=True)
    if done.returncode == 77:
        return None
    if done.returncode != 0:
        sys.exit(f"{way}: {done.stderr}")
    return json.loads(done.stdout)


def measured(program, rounds, samples, chosen):
    """The runs of each way; those that are not chosen, or that the machine cannot run, have none."""
    with tempfile.TemporaryDirectory() as folder:
        ways = subprocess.run([program, folder], capture_output=True, text=True, check=True).stdout.split()
        runs = {way: [] for way in ways}
        for _ in range(rounds):
            for way in filter(chosen.__contains__, ways):
                figures = run(program, folder, way, samples)
                if figures is not None:
                    runs[way].append(figures)
    return runs


def median(runs, figure):
    return statistics.median(one[figure] for one in runs)


def ratio(runs, way, base):
    return statistics.median(a["samples_per_second"] / b["samples_per_second"] for a, b in zip(runs[way], runs[base]))


def table(runs, rows):
    lines = ["| way | samples/s | against | faster | peak MiB |", "|---|---|---|---|---|"]
    for way, base, text in rows:
        if not runs[way]:
            lines.append(f"| {text} | needs a GPU | | | |")
            continue
        speed, memory = median(runs[way], "samples_per_second"), median(runs[way], "peak_mib")
        against = f"{median(runs[base], 'samples_per_second'):,.0f} ({base[2:].replace('_', ' ')}), {median(runs[base], 'peak_mib'):.0f} MiB"
        lines.append(f"| {text} | {speed:,.0f} | {against} | {ratio(runs, way, base):.2f}x | {memory:.0f} |")
    return "\n".join(lines) + "\n"


def chart(runs):
    """Bars of samples per second, one for each way that ran."""
    bars = [("1. a loop over files, by hand", "1_loop_by_hand")] + [(text, way) for way, _, text in ROWS]
    bars = [(text, median(runs[way], "samples_per_second")) for text, way in bars if runs[way]]
    most, row, left, width = max(speed for _, speed in bars), 26, 370, 800
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {row * len(bars) + 34}" font-family="sans-serif" font-size="13">',
             f'<rect width="{width}" height="{row * len(bars) + 34}" fill="#fff"/>',
             '<text x="10" y="18" font-weight="bold">Samples per second</text>']  # fmt: skip
    for i, (text, speed) in enumerate(bars):
        y, length = 28 + i * row, (width - left - 70) * speed / most
        parts.append(f'<text x="{left - 8}" y="{y + 15}" text-anchor="end" fill="#1c1f23">{text}</text>')
        parts.append(f'<rect x="{left}" y="{y + 2}" width="{length:.1f}" height="{row - 8}" fill="#1f66c1"/>')
        parts.append(f'<text x="{left + length + 6:.1f}" y="{y + 15}" fill="#1c1f23">{speed:,.0f}</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"


def check(runs):
    """What holds on any machine."""
    whole, parts = runs["3_batches_of_128"][0]["weights"], runs["4_accumulated_4_of_128"][0]["weights"]
    print(f"sum of the weights' absolute values: batches of 128 {whole}, four parts of 32 {parts}")
    if abs(whole - parts) > 1e-4 * whole:
        sys.exit("four parts that are accumulated do not make the step of the whole batch")
    if median(runs["5_graphs_retained"], "peak_mib") < 1.5 * median(runs["5_no_graphs"], "peak_mib"):
        sys.exit("retained graphs take no memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--table")
    parser.add_argument("--chart")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if not arguments.gpu or "gpu" in row[0]]
    chosen = {way for row in rows for way in row[:2]}
    runs = measured(arguments.program, arguments.rounds, arguments.samples, chosen)
    text = table(runs, rows)
    print(text)
    if not arguments.gpu:
        check(runs)
    for file, content in ((arguments.table, text), (arguments.chart, chart(runs))):
        if file:
            with open(file, "w", encoding="utf-8") as out:
                out.write(content)


if __name__ == "__main__":
    main()
