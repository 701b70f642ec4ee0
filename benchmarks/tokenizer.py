"""Encoding and decoding on one thread: levin beside the package tokenizers, in turn, for tokenizers of several kinds.

The tokenizers are trained on TEXT, which is then encoded, document by document. TEXT is a folder with .md, .txt, .py and .h files,
or one file; this repository if it is not given.

usage: tokenizer.py PROGRAM [TEXT] [--rounds N] [--size N] [--kind NAME...]    PROGRAM is benchmark_tokenizer
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/data/tokenizers"))
import tokenizer_kinds

KINDS = ["gpt2", "llama3", "llama2", "unigram_nfkc", "precompiled", "bert_uncased", "word_level"]


def documents(path):
    files = sorted(path.glob("**/*")) if path.is_dir() else [path]
    files = [file for file in files if file.is_file() and file.suffix in (".md", ".txt", ".py", ".h", ".cpp")
             and not {".venv", "build", ".git"} & set(file.parts)]
    return [file.read_text(encoding="utf-8", errors="replace").replace("\0", " ") for file in files if file.stat().st_size]


def python_seconds(tokenizer, what, texts, ids, file):
    begin = time.perf_counter()
    if what == "load":
        tokenizers.Tokenizer.from_file(file)
    elif what == "decode":
        for one in ids:
            tokenizer.decode(one)
    elif what == "ids":
        tokenizer.encode_batch_fast(texts)
    else:
        for text in texts:
            tokenizer.encode(text)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("text", type=pathlib.Path, nargs="?", default=ROOT)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", type=int, default=8000, help="tokens of the vocabularies")
    parser.add_argument("--kind", nargs="*", default=KINDS)
    arguments = parser.parse_args()
    texts = documents(arguments.text)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    corpus = [part for text in texts for part in text.split("\n\n")]
    print(f"{len(texts)} documents, {megabytes:.1f} MB, {arguments.rounds} rounds, medians; tokenizers {tokenizers.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        joined = os.path.join(folder, "texts")
        pathlib.Path(joined).write_bytes(b"\0".join(text.encode() for text in texts))
        for kind in arguments.kind:
            tokenizer = tokenizer_kinds.KINDS[kind](corpus, arguments.size)
            if tokenizer is None:
                continue
            file = os.path.join(folder, f"{kind}.json")
            tokenizer.save(file)
            tokenizer = tokenizers.Tokenizer.from_file(file)
            ids = [tokenizer.encode(text).ids for text in texts]
            with subprocess.Popen([arguments.program, file, joined], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                for what in ("encode", "ids", "decode", "load"):
                    seconds = {"levin": [], "tokenizers": []}
                    for number in range(-1, arguments.rounds):  # the first one warms up
                        process.stdin.write(what + "\n")
                        process.stdin.flush()
                        figures = {"levin": float(process.stdout.readline()),
                                   "tokenizers": python_seconds(tokenizer, what, texts, ids, file)}
                        for name, figure in figures.items():
                            if number >= 0:
                                seconds[name].append(figure)
                    levin, python = statistics.median(seconds["levin"]), statistics.median(seconds["tokenizers"])
                    if what == "load":
                        print(f"{kind}, load: {1000 * levin:.1f} ms, tokenizers {1000 * python:.1f} ms: {python / levin:.2f}x", flush=True)
                    else:
                        print(f"{kind}, {what}: {megabytes / levin:.1f} MB/s, tokenizers {megabytes / python:.1f} MB/s: "
                              f"{python / levin:.2f}x", flush=True)
                process.stdin.close()


if __name__ == "__main__":
    main()
