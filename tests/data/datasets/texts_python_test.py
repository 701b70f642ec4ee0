"""Compares the batches that levin makes of texts with labels, of tagged words and of pairs with those of transformers: padded to the
longest, truncated, with token types.

usage: texts_python_test.py TOOL [--seed N] [--lines N]
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"

try:
    import tokenizers
    import transformers
except ImportError as error:
    print("SKIPPED: this Python has no", error.name)
    sys.exit(77)

from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

WORDS = ["mutex", "Lock", "waits", "naïve", "Größe", "東京", "so", "a", "the", "long-haired", "3.14", "don't", "résumé", "x" * 30, "🙂", "of"]


def sentence(rng, most=14):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, most)))


def bert_like(corpus):
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=160, special_tokens=special, show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")])
    return tokenizer, {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}


def roberta_like(corpus):
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=330, special_tokens=special, show_progress=False,
                                                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    return tokenizer, {"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>"}


def metaspace_like(corpus):
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.train_from_iterator(corpus, trainers.UnigramTrainer(vocab_size=120, unk_token="<unk>", show_progress=False,
                                                                  special_tokens=["<s>", "<pad>", "</s>", "<unk>"]))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
                                                             special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer, {"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>"}


def write_lines(path, records):
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    if path.suffix == ".gz":
        with gzip.open(path, "wt") as file:
            file.write(text)
    else:
        path.write_text(text)
    return path


def write_table(path, records):
    with path.open("w", newline="") as file:
        table = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        table.writerow(records[0].keys())
        table.writerows(record.values() for record in records)
    return path


class Tester:
    def __init__(self, tool, folder, tokenizer):
        self.tool, self.folder, self.tokenizer, self.failures = tool, folder, tokenizer, []

    def batches(self, kind, options, size=5):
        options = {"tokenizer": str(self.folder), **options}
        run = subprocess.run([self.tool, kind, json.dumps(options), str(size)], capture_output=True, text=True)
        if run.returncode != 0:
            self.failures.append(f"{kind}: {run.stderr}")
            return [], {}
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        return lines[:-1], lines[-1]

    def same(self, what, got, expected):
        if got != expected:
            self.failures.append(f"{what}: {str(got)[:300]} in place of {str(expected)[:300]}")

    def encoded(self, *texts, most=None, **more):
        out = self.tokenizer(*texts, padding="longest", truncation=True, max_length=most, return_token_type_ids=True, **more)
        return out

    def check_texts(self, path, records, options, label, most):
        pairs = options.get("second_field")
        more = {} if most is None else {"max_length": most}
        batches, learned = self.batches("LabeledTexts", {"files": [str(path)], **options, **more})
        for i, batch in enumerate(batches):
            part = records[5 * i:5 * i + 5]
            texts = [[record["text"] for record in part]] + ([[record[pairs] for record in part]] if pairs else [])
            expected = self.encoded(*texts, most=most or 40)
            what = f"{path.name} {options} batch {i}"
            self.same(f"{what} input", batch.get("input"), expected["input_ids"])
            self.same(f"{what} mask", batch.get("attention_mask"), expected["attention_mask"])
            self.same(f"{what} types", batch.get("token_type_ids"), expected["token_type_ids"])
            self.same(f"{what} target", batch.get("target"), [label(record) for record in part])
        self.same(f"{path.name} batches", len(batches), (len(records) + 4) // 5)
        return learned

    def check_words(self, path, records, names, most):
        batches, learned = self.batches("TaggedWords", {"files": [str(path)], "max_length": most})
        self.same("names of tags", learned.get("class_names"), names)
        for i, batch in enumerate(batches):
            part = records[5 * i:5 * i + 5]
            expected = self.encoded([record["tokens"] for record in part], most=most, is_split_into_words=True)
            target = []
            for row, record in enumerate(part):
                words, before = expected.word_ids(row), None
                target.append([])
                for word in words:
                    counts = word is not None and word != before
                    target[-1].append(names.index(record["tags"][word]) if counts else -100)
                    before = word
            self.same(f"words {i} input", batch.get("input"), expected["input_ids"])
            self.same(f"words {i} mask", batch.get("attention_mask"), expected["attention_mask"])
            self.same(f"words {i} target", batch.get("target"), target)
        self.same("batches of words", len(batches), (len(records) + 4) // 5)

    def check_pairs(self, path, records, most, scores):
        options = {"files": [str(path)], "max_length": most, "text_field": "text", "second_field": "other"}
        if scores:
            options |= {"score_field": "score", "divide_scores_by": 5}
        batches, _ = self.batches("TextPairs", options)
        for i, batch in enumerate(batches):
            part = records[5 * i:5 * i + 5]
            for field, prefix in (("text", ""), ("other", "second_")):
                expected = self.encoded([record[field] for record in part], most=most)
                self.same(f"pairs {i} {field}", batch.get(f"{prefix}input"), expected["input_ids"])
                self.same(f"pairs {i} {field} mask", batch.get(f"{prefix}attention_mask"), expected["attention_mask"])
            close = all(abs(a - b["score"] / 5) < 1e-6 for a, b in zip(batch.get("target", []), part)) if scores else "target" not in batch
            self.same(f"pairs {i} scores", close and (not scores or len(batch["target"]) == len(part)), True)
        self.same("batches of pairs", len(batches), (len(records) + 4) // 5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", type=int, default=23)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    failures = []
    for make in (bert_like, roberta_like, metaspace_like):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            tokenizer, special = make([sentence(rng) for _ in range(300)] + WORDS)
            fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=40, **special)
            fast.save_pretrained(folder)
            tester = Tester(arguments.tool, folder, fast)
            names = ["bad", "good", "none"]
            records = [{"text": sentence(rng, 40), "other": sentence(rng), "label": rng.choice(names), "number": rng.randrange(3),
                        "score": rng.randrange(51) / 10, "kinds": rng.sample(names, rng.randrange(3))}
                       for _ in range(arguments.lines)]
            for name in names:  # so that each is there
                records.append({**records[0], "label": name, "kinds": [name], "number": names.index(name)})
            lines, packed = write_lines(folder / "texts.jsonl", records), write_lines(folder / "texts.jsonl.gz", records)
            flat = [{key: value for key, value in record.items() if key != "kinds"} for record in records]
            by_name = lambda record: names.index(record["label"])  # noqa: E731
            for most in (None, 9, 17):
                learned = tester.check_texts(lines, records, {}, by_name, most)
                tester.same("names", learned.get("class_names"), names)
                tester.check_texts(packed, records, {"second_field": "other"}, by_name, most)
            for file in (write_table(folder / "texts.csv", flat), write_table(folder / "texts.tsv", flat)):
                tester.check_texts(file, flat, {"second_field": "other"}, by_name, 20)
                tester.check_texts(file, flat, {"label_field": "number"}, lambda record: record["number"], 20)
            order = ["none", "bad", "good"]
            tester.check_texts(lines, records, {"labels": order}, lambda record: order.index(record["label"]), 20)
            tester.check_texts(lines, records, {"label_field": "number"}, lambda record: record["number"], 20)
            many = lambda record: [float(name in record["kinds"]) for name in names]  # noqa: E731
            tester.check_texts(lines, records, {"label_field": "kinds"}, many, 20)
            tester.check_texts(lines, records, {"label_field": "number", "label_type": "number"}, lambda r: float(r["number"]), 20)
            tags = ["B-X", "I-X", "O"]
            tagged = []
            for _ in range(arguments.lines):
                words = sentence(rng).split()
                tagged.append({"tokens": words, "tags": [rng.choice(tags) for _ in words]})
            tagged.append({"tokens": ["a", "the", "of"], "tags": tags})
            words = write_lines(folder / "words.jsonl", tagged)
            for most in (8, 40):
                tester.check_words(words, tagged, tags, most)
            for most in (7, 40):
                tester.check_pairs(lines, records, most, scores=False)
                tester.check_pairs(lines, records, most, scores=True)
            failures += [f"{make.__name__}: {failure}" for failure in tester.failures]
    for failure in failures[:20]:
        print(failure)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
