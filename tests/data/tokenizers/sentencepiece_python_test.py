"""Trains models of many kinds by the package sentencepiece, and compares what levin makes of texts with what it makes: ids, offsets and
decoded text, also of ids drawn at random.

usage: sentencepiece_python_test.py TOOL [--texts N] [--kind NAME...] [--seed N]
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading

try:
    import sentencepiece
except ImportError:
    print("SKIPPED: this Python has no sentencepiece")
    sys.exit(77)

import tokenizer_python_test as texts_of

SYMBOLS = ["<|left|>", "word", "\u00e9", "a b", "\u2581x", "12"]
KINDS = {
    "unigram": dict(model_type="unigram"),
    "unigram_identity": dict(model_type="unigram", normalization_rule_name="identity"),
    "unigram_folded": dict(model_type="unigram", normalization_rule_name="nmt_nfkc_cf"),
    "unigram_bytes": dict(model_type="unigram", byte_fallback=True, character_coverage=0.98),
    "unigram_symbols": dict(model_type="unigram", user_defined_symbols=SYMBOLS, control_symbols=["<ctl>"], unk_surface="?!"),
    "unigram_suffix": dict(model_type="unigram", treat_whitespace_as_suffix=True),
    "bpe": dict(model_type="bpe"),
    "bpe_llama": dict(model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
                      split_digits=True, allow_whitespace_only_pieces=True),
    "bpe_without_prefix": dict(model_type="bpe", add_dummy_prefix=False, remove_extra_whitespaces=False),
    "bpe_across_words": dict(model_type="bpe", split_by_whitespace=False),
    "bpe_symbols": dict(model_type="bpe", user_defined_symbols=SYMBOLS, byte_fallback=True),
    "bpe_suffix": dict(model_type="bpe", treat_whitespace_as_suffix=True),
    "bpe_unused": dict(model_type="bpe"),
    "word": dict(model_type="word"),
    "char": dict(model_type="char", user_defined_symbols=SYMBOLS),
}


def train(name, options, corpus, folder):
    """Returns the file of a trained model."""
    prefix = os.path.join(folder, name)
    size = {} if options["model_type"] in ("word", "char") else {"vocab_size": 1600}
    # Words and characters are as many as the corpus has.
    size = size or {"vocab_size": 900 if options["model_type"] == "word" else 200, "use_all_vocab": False}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_prefix=prefix, minloglevel=2, hard_vocab_limit=False,
                                             num_threads=1, **{**size, **options})
    return prefix + ".model"


def leave_unused(file, draw):
    """Marks pieces of a model as not used, as a restricted vocabulary does: field 3 of a piece, with the value 5."""
    data = open(file, "rb").read()
    model = sentencepiece.SentencePieceProcessor(model_proto=data)
    from sentencepiece import sentencepiece_model_pb2  # the package's own

    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(data)
    for id in range(3, model.get_piece_size()):
        if len(proto.pieces[id].piece) > 1 and draw.random() < 0.3:
            proto.pieces[id].type = 5
    with open(file, "wb") as out:
        out.write(proto.SerializeToString())


def expected(model, text):
    """Returns ids and offsets; each token of a byte has the offsets of its character."""
    mapping = model.encode(text, return_type="offset_mapping")
    ids, offsets = mapping["ids"], [list(pair) for pair in mapping["offsets"]]
    for i in range(len(ids) - 2, -1, -1):  # but the last of a character's bytes, they are empty
        if model.is_byte(ids[i]) and model.is_byte(ids[i + 1]) and int(mapping["pieces"][i + 1][3:5], 16) & 0xc0 == 0x80:
            offsets[i] = offsets[i + 1]
    return ids, offsets


def compare(tool, file, model, requests, name):
    process = subprocess.Popen([tool, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    asked = []

    def send():
        for text, _, _ in requests:
            asked.append(text)
            process.stdin.write(f"{len(text.encode())} -1 1\n".encode() + text.encode())
        process.stdin.close()

    size = json.loads(process.stdout.readline() or "{}").get("size")
    thread = threading.Thread(target=send)
    thread.start()
    count = 0
    try:
        if size != model.get_piece_size():
            raise texts_of.Failure(f"{name}: the vocabulary has {size} pieces, not {model.get_piece_size()}")
        for line in process.stdout:
            answer, text = json.loads(line), asked[count]
            ids, offsets = expected(model, text)
            want = {"ids": ids, "offsets": offsets, "text": model.decode(ids).encode().hex()}
            different = {key: (answer.get(key), value) for key, value in want.items() if answer.get(key) != value}
            if different:
                raise texts_of.Failure(f"{name}: {text!r}: levin and the package differ: {different}")
            count += 1
    except texts_of.Failure:
        process.kill()
        raise
    finally:
        process.stdout.close()
        try:
            thread.join()
        except BrokenPipeError:
            pass
    if process.wait() != 0 or count != len(asked):
        raise texts_of.Failure(f"{name}: the tool ended after {count} of {len(asked)} requests with {process.returncode}")
    return count


def compare_decoded(tool, file, model, draw, count, name):
    """Compares the texts of ids drawn at random."""
    size = model.get_piece_size()
    bytes_of = [id for id in range(size) if model.is_byte(id)]
    few = [0, 1, 2] + bytes_of[0x80:0xf5] + [id for id in range(3, min(size, 500)) if not model.is_byte(id)][:40]
    drawn = [[draw.choice(few) if draw.random() < 0.6 else draw.randrange(size) for _ in range(draw.randrange(0, 12))] for _ in range(count)]
    lines = "".join(" ".join(map(str, ids)) + "\n" for ids in drawn)
    answers = subprocess.run([tool, file, "--decode"], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    for ids, answer in zip(drawn, answers, strict=True):
        want = model.decode(ids)
        if bytes.fromhex(answer) != want.encode():
            raise texts_of.Failure(f"{name}: ids {ids}: levin decodes {bytes.fromhex(answer)!r}, the package {want!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--kind", nargs="*", default=list(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    ranges, sizes = texts_of.characters(arguments.tool)
    cumulated = [sum(sizes[:i + 1]) for i in range(len(sizes))]
    real = texts_of.real_text()
    corpus = [line for text in real[:60] for line in text.splitlines() if 0 < len(line) < 1000][:4000]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.kind:
            draw = random.Random(f"{arguments.seed} {name}")
            texts = texts_of.Texts(f"{arguments.seed} {name}", (ranges, cumulated), real)
            file = train(name, KINDS[name], corpus, folder)
            if name.endswith("_unused"):
                leave_unused(file, draw)
            model = sentencepiece.SentencePieceProcessor(model_file=file)
            try:
                count = compare(arguments.tool, file, model, (texts.request() for _ in range(arguments.texts)), name)
                compare_decoded(arguments.tool, file, model, draw, arguments.texts, name)
            except texts_of.Failure as failure:
                print(str(failure)[:2000], flush=True)
                failures.append(name)
                continue
            print(f"{name}: {count} texts are encoded and decoded as by sentencepiece {sentencepiece.__version__}", flush=True)
    if failures:
        print(f"FAILED: {' '.join(failures)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
