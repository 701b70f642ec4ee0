"""Trains tokenizers of many kinds by the package tokenizers, and compares what levin makes of texts with what it makes: ids, offsets,
masks, types and decoded text.

usage: tokenizer_python_test.py TOOL [--texts N] [--kind NAME...] [--seed N]
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RUST_BACKTRACE"] = "0"

try:
    import tokenizers
except ImportError:
    print("SKIPPED: this Python has no tokenizers")
    sys.exit(77)

import tokenizer_kinds

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Characters that have rules of their own, with those that they meet.
SPECIAL = [
    "e\u0301", "\u0301", "a\u0323\u0307", "a\u0307\u0323", "\u0958", "\u1e9b\u0323", "\u212b", "\u2126", "\ufb01", "\ufb03\u0301",
    "\u01c4", "\u0130", "\u00df", "\u1e9e", "\u03a3", "\u017f", "\u212a", "\u00bd", "\u2460", "\u33c7", "\u3300", "\ufdfa", "\uff21",
    "\uff71\uff9e", "\u1100\u1161\u11a8", "\uac00\u11a8", "\ud55c\uad6d\uc5b4", "\u4e2d\u6587", "\u65e5\u672c\u8a9e", "\u30ab\u30fc",
    "\u20bb7", "\U00020bb7", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd",
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\u263a\ufe0f", "1\ufe0f\u20e3", "\u0e01\u0e33", "\u0915\u094d\u0937\u093f", "\u0600a",
    "\u0627\u0644\u0633\u0644\u0627\u0645", "\u0640", "\u05e9\u05c1", "\u200b", "\u200d", "\u200c", "\u2060", "\ufeff", "\ufffd",
    "\u00ad", "\u061c", "\u0085", "\u00a0", "\u1680", "\u180e", "\u2003", "\u2028", "\u2029", "\u202f", "\u3000", "\u0000", "\u0001",
    "\u007f", "\u001b", "\t", "\n", "\r\n", "\r", "\x0b", "\x0c", "\u2019s", "'S", "'LL", "'\u017f", "\u2581", "\u2581\u2581",
    "\u0120", "\u0140", "##", "</w>", "<0x41>", "\u2e43", "\u166d", "\u1cf2", "\u1734", "\u1885", "\u111c9", "\U000111c9",
    "\U0001d400", "\U000e0041", "\U0010ffff", "\ue000", "\u0378", "_", "\u203f", "\u0662", "\u2167", "\u00b2", "\u24b6", "\u0345",
    "\u0f73", "\u0344", "\u0374", "\u1fee", "\U0001d15e", "\u2adc", "\U0002f800",
]
ADDED = ["<|left|>", "<|right|>", "<|both|>", "<|plain|>", "<|plain|>more", "word", "Yesterday", "\u00e9\u0301x", "given", "  \t",
         "<|endoftext|>", "<s>", "</s>", "<unk>", "[UNK]", "[CLS]", "<|begin|>"]
SPACES = ["", " ", "  ", "   ", "\n", "\n\n", "\t", " \n ", "\r\n"]


def characters(tool):
    lines = subprocess.run([tool, "--characters"], capture_output=True, check=True, text=True).stdout.splitlines()
    ranges = [tuple(map(int, line.split())) for line in lines]
    return ranges, [end - begin for begin, end in ranges]


def real_text():
    """The pages of this repository, and texts of the Python packages here."""
    files = sorted(ROOT.glob("docs/**/*.md")) + sorted(ROOT.glob("*.md"))
    files += sorted(pathlib.Path(json.__file__).parent.parent.glob("*.py"))[:60]
    files += sorted(pathlib.Path(tokenizers.__file__).parents[1].glob("*.dist-info/**/*"))
    if "LEVIN_TEST_DATA" in os.environ:
        files += sorted(pathlib.Path(os.environ["LEVIN_TEST_DATA"]).glob("**/*.txt"))
    text = []
    for file in files:
        if file.is_file() and file.stat().st_size < 1 << 20 and (file.suffix in (".md", ".py", ".txt") or "LICENSE" in file.name):
            text.append(file.read_text(encoding="utf-8", errors="replace"))
        if sum(map(len, text)) > 3_000_000:
            break
    return text


class Texts:
    """Draws texts of many kinds."""

    def __init__(self, seed, ranges, real):
        self.random = random.Random(seed)
        self.ranges = ranges
        self.real = real
        self.words = sorted({word for text in real[:40] for word in text.split()})

    def character(self):
        draw = self.random
        if draw.random() < 0.4:  # the first planes hold what is written most
            return chr(draw.choice([draw.randrange(0x20, 0x7f), draw.randrange(0xa0, 0x250), draw.randrange(0x300, 0x370),
                                    draw.randrange(0x4e00, 0x9fa5), draw.randrange(0xac00, 0xd7a4), draw.randrange(0x1100, 0x1200)]))
        begin, end = draw.choices(self.ranges[0], cum_weights=self.ranges[1])[0]
        return chr(draw.randrange(begin, end))

    def part(self):
        draw = self.random
        kind = draw.random()
        if kind < 0.35:
            return draw.choice(self.words)
        if kind < 0.5:
            return draw.choice(SPECIAL)
        if kind < 0.6:
            return draw.choice(ADDED)
        if kind < 0.75:
            return "".join(self.character() for _ in range(draw.randrange(1, 8)))
        if kind < 0.8:
            return draw.choice(["don't", "WE'LL", "x86_64", "1234567", "3.14", "a-b--c", "...", "!?", "(", "https://a.b/c?d=e", "aaaaaaaaaaaaaaaa"])
        return draw.choice(SPACES)

    def text(self):
        draw = self.random
        kind = draw.random()
        if kind < 0.01:
            return draw.choice(["", " ", "  ", "\n", "\0", "\u3000", "a", "\u0301", "word", "<s>"])
        if kind < 0.25:
            whole = draw.choice(self.real)
            begin = draw.randrange(max(1, len(whole)))
            return whole[begin:begin + draw.randrange(1, 200)]
        if kind < 0.3:
            return draw.choice(["".join, " ".join])(self.character() for _ in range(draw.randrange(1, 30)))
        if kind < 0.303:
            return draw.choice(["a", "ab", "\u00e9", "xyz", "!", " ", "\u4e2d", "\0"]) * draw.randrange(1, 400)
        text = draw.choice(["", " "]).join(self.part() for _ in range(draw.randrange(1, 14)))
        return draw.choice([str, str, str, str.upper, str.lower, str.title])(text)

    def request(self):
        draw = self.random
        second = self.text() if draw.random() < 0.1 else None
        return self.text(), second, draw.random() < 0.7


def expected(tokenizer, text, second, add):
    try:
        encoding = tokenizer.encode(text, second, add_special_tokens=add)
    except Exception:
        return {"error": True}
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return {"panic": True}  # a fault of the package itself, whose result nobody knows
    return {"ids": encoding.ids, "mask": encoding.special_tokens_mask, "types": encoding.type_ids,
            "offsets": [list(pair) for pair in encoding.offsets], "same": 1,
            "text": tokenizer.decode(encoding.ids, skip_special_tokens=not add).encode().hex()}


class Failure(Exception):
    pass


def compare(tool, file, tokenizer, requests, name):
    """Compares all requests, which are drawn as they are sent."""
    process = subprocess.Popen([tool, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    asked, sent = [], threading.Event()

    def send():
        for request in requests:
            if sent.is_set():
                return
            text, second, add = request
            first, other = text.encode(), b"" if second is None else second.encode()
            asked.append(request)
            process.stdin.write(f"{len(first)} {-1 if second is None else len(other)} {int(add)}\n".encode() + first + other)
        process.stdin.close()

    size = json.loads(process.stdout.readline() or "{}").get("size")
    if size != tokenizer.get_vocab_size():
        raise Failure(f"{name}: the vocabulary has {size} tokens, not {tokenizer.get_vocab_size()}")
    thread = threading.Thread(target=send)
    thread.start()
    count = errors = 0
    for line in process.stdout:
        answer, want = json.loads(line), expected(tokenizer, *asked[count])
        if "panic" in want or ("error" in want and "error" in answer):
            errors += 1
        elif answer != want:
            process.kill()
            sent.set()
            difference = {key: (answer.get(key), want.get(key)) for key in {*want, *answer} if answer.get(key) != want.get(key)}
            raise Failure(f"{name}: request {asked[count]!r}: levin and the package differ: {difference}")
        asked[count] = None
        count += 1
    thread.join()
    if process.wait() != 0 or count != len(asked):
        raise Failure(f"{name}: the tool ended after {count} of {len(asked)} requests with {process.returncode}")
    return count, errors


def compare_random_parts(tool, folder, trained, texts, count):
    """Compares tokenizers whose parts are drawn at random, each with a few texts. Few of them are of any use, but all have a result."""
    texts_each = 30
    done = errors = 0
    for number in range(count // texts_each):
        draw = texts.random
        file = os.path.join(folder, "random.json")
        try:
            tokenizer_kinds.random_parts(tokenizers.Tokenizer.from_str(draw.choice(trained)), draw).save(file)
            tokenizer = tokenizers.Tokenizer.from_file(file)
        except BaseException as error:  # an added token of which the normalizer leaves nothing, for example
            if isinstance(error, KeyboardInterrupt):
                raise
            continue
        # Of two added tokens that the normalizer makes the same, the package takes one by chance.
        contents = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.normalized]
        if tokenizer.normalizer and len({tokenizer.normalizer.normalize_str(content) for content in contents}) < len(contents):
            continue
        parts = {key: value for key, value in json.loads(tokenizer.to_str()).items() if value and key not in ("added_tokens", "version")}
        parts["model"] = parts["model"]["type"]
        answer = compare(tool, file, tokenizer, (texts.request() for _ in range(texts_each)), json.dumps(parts))
        done, errors = done + answer[0], errors + answer[1]
    return done, errors


def report(name, run):
    """Prints what comes of a comparison, and returns the name if it fails."""
    try:
        count, errors = run()
    except Failure as failure:
        print(str(failure)[:3000], flush=True)
        return [name]
    print(f"{name}: {count} texts are encoded and decoded as by tokenizers {tokenizers.__version__}; {errors} are errors", flush=True)
    return [name] if errors > count / 2 else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--texts", type=int, default=3000)
    parser.add_argument("--kind", nargs="*", default=[*tokenizer_kinds.KINDS, "random_parts"])
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    ranges, sizes = characters(arguments.tool)
    cumulated = [sum(sizes[:i + 1]) for i in range(len(sizes))]
    real = real_text()
    corpus = [line for text in real for line in text.split("\n\n")][:2000]
    corpus += ["".join(special) for special in zip(SPECIAL, SPECIAL[1:])] * 3
    failures, trained = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.kind:
            texts = Texts(f"{arguments.seed} {name}", (ranges, cumulated), real)
            if name == "random_parts":
                run = lambda: compare_random_parts(arguments.tool, folder, trained, texts, arguments.texts)
                trained = trained or [tokenizer_kinds.KINDS[kind](corpus, 1500).to_str() for kind in ("gpt2", "bert_cased")]
                failures += report(name, run)
                continue
            tokenizer = tokenizer_kinds.KINDS[name](corpus, 1500)
            if tokenizer is None:
                print(f"{name}: skipped, something is not installed")
                continue
            file = os.path.join(folder, f"{name}.json")
            tokenizer.save(file)
            # The file is what both read: the package forgets some of a tokenizer that was trained.
            tokenizer = tokenizers.Tokenizer.from_file(file)
            trained.append(tokenizer.to_str())
            failures += report(name, lambda: compare(arguments.tool, file, tokenizer, (texts.request() for _ in range(arguments.texts)), name))
    if failures:
        print(f"FAILED: {' '.join(failures)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
