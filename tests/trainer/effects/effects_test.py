"""Has every option of the program an effect that a run shows? Options come from `levin config schema`.

Usage: effects_test.py LEVIN ROOT [--part K/N] [--only PATTERN...] [--jobs N] [--table]

An option is named kind.class.option, such as optimizer.SGD.momentum; those of the trainer are trainer.option. Most are
drawn: the option is set to another value, found from its type, limits and choices, on a small config of its class
(bases.py), and the run must differ from that of the config alone. Those that need more have a row in rows.py. An
option that shows nothing and has no row fails the test by its name; so do, whatever is run, a row of no option, an
option without a row for which no value can be drawn, and a row whose test does not name the option. --only runs the
options of these patterns, --part every Nth one, with part `today` that of the day; --table prints a line for each.
"""

import argparse
import concurrent.futures
import datetime
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import bases
from rows import ROWS
from run_signature import differences, signature_of
from small_data import write_programs, write_small_data

os.environ["LEVIN_ALLOW_PYTHON"] = "1"  # each run has a config file

# What an option of such a class must change: more than words.
LEARNS = {"adapter", "objective", "optimizer", "lr_scheduler", "transform", "module", "data_module"}


def options_of(schema):
    """name -> the schema of each option; `callbacks+=` and the like are another way to write the same option."""
    def properties(place):
        if "properties" in place:
            return place["properties"]
        return next(found for found in map(properties, place["anyOf"]) if found)

    found = {f"trainer.{name}": one for name, one in properties(schema["properties"]["trainer"]).items()}
    for name, definition in schema["definitions"].items():
        if "." in name:
            found.update({f"{name}.{option}": one for option, one in definition["properties"].items() if option != "class"})
    return {name: one for name, one in found.items() if not name.endswith("+=")}


def choices(schema):
    """The parts of a type, without references."""
    for part in schema.get("anyOf", [schema]):
        if "anyOf" in part:
            yield from choices(part)
        elif "reference" not in part.get("$ref", ""):
            yield part


def drawn_values(schema, present):
    """Other values than `present`, the likeliest to be accepted and seen first."""
    values = []
    for part in choices(schema):
        types = part.get("type", [])
        types = [types] if isinstance(types, str) else types
        values += part.get("enum", [])
        if "boolean" in types:
            values += [True, False]
        if "integer" in types:
            values += [present * 2, present + 1, present - 1] if type(present) is int else []
            values += [1, 2, 0, 3, 5]
        if "number" in types:
            values += [present / 2, present * 2, present / 10] if isinstance(present, (int, float)) else []
            values += [0.1, 0.5, 2.0, 0.01, 1.0, 0.0]
        if "array" in types and isinstance(present, list) and present and not isinstance(present[0], (str, dict)):
            scaled = [[one / factor for one in present] for factor in (2, 0.5)]
            values += [[*present[:-1], present[-1] / 2], [present[0] / 2, *present[1:]], *scaled]
            if all(isinstance(one, int) for one in present):
                values += [[one + 1 for one in present], [one - 1 for one in present]]
    if not schema.get("anyOf") and "type" not in schema and isinstance(present, (int, float)):
        values += [present / 2, present * 2]  # a number for all groups, or a list
    distinct = []
    for value in sorted(values, key=lambda one: isinstance(one, list) != isinstance(present, list)):
        if json.dumps(value) not in map(json.dumps, [*distinct, present]):
            distinct.append(value)
    return distinct


def set_at(config, keys, value):
    place = config
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value


def value_at(config, keys):
    for key in keys:
        config = config[key]
    return config


class Bench:
    def __init__(self, program, root, folder):
        self.program, self.root, self.folder = program, root, folder
        self.counter, self.lock, self.cache = 0, threading.Lock(), {}
        self.locks = {}
        self.has_programs = False
        write_small_data(folder)

    def programs(self):
        with self.lock:
            if not self.has_programs:
                write_programs(self.folder / "programs")
            self.has_programs = True

    def run(self, config, command="fit", first=None, flags=()):
        """The signature of a run; `first` is what the config of a fit before has besides, from which the run goes on."""
        key = json.dumps([config, command, first, flags], sort_keys=True)
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.cache:
                self.cache[key] = self.start(config, command, first, flags)
            return self.cache[key]

    def start(self, config, command, first, flags):
        if "/programs/" in json.dumps(config):
            self.programs()
        with self.lock:
            self.counter += 1
            place = self.folder / "runs" / str(self.counter)
        place.mkdir(parents=True)
        try:
            if first is not None:
                self.call(place, bases.merged(config, first), "fit", ["--name", "first"])
                flags = [*flags, "--ckpt-path", "first/version_0/checkpoints/last.ckpt"]
                shown = self.call(place, config, command, flags)
                shutil.rmtree(place / "first")
            else:
                shown = self.call(place, config, command, flags)
            code, output = shown
            return signature_of(place, code, output), output
        finally:
            shutil.rmtree(place)

    def call(self, place, config, command, flags):
        path = place.parent / f"{place.name}.json"
        path.write_text(json.dumps(config))
        done = subprocess.run([self.program, command, "--config", path, *flags], cwd=place, capture_output=True, text=True,
                              timeout=300)
        path.unlink()
        return done.returncode, (done.stdout + done.stderr).replace(str(path), "CONFIG")


class Refused(Exception):
    pass


def row_of(name):
    if name in ROWS:
        return ROWS[name]
    return next((row for pattern, row in ROWS.items() if fnmatch.fnmatchcase(name, pattern)), None)


def with_folder(value, folder):
    return json.loads(json.dumps(value).replace("FOLDER", str(folder)))


class Effects:
    def __init__(self, bench, options):
        self.bench, self.options = bench, options

    def parts(self, name):
        kind, *rest = name.split(".")
        option = rest[-1]
        config, keys = bases.base_of(kind, rest[0] if len(rest) == 2 else None, self.bench.folder)
        return kind, option, config, (*keys, option)

    def check(self, name):
        """How the option is shown, its value and what differs; throws what is wrong."""
        row = row_of(name)
        if row is None:
            return self.draw(name)
        if "shown_by" in row:
            return self.shown_elsewhere(name, row)
        return self.written(name, row)

    def check_row(self, name):
        """What can be said of an option without a run."""
        row = row_of(name)
        if row is None:
            _, option, config, keys = self.parts(name)
            if not drawn_values(self.options[name], value_at(config, keys[:-1]).get(option, self.options[name].get("default"))):
                raise AssertionError("no value can be drawn: give it a row in rows.py")
        elif "shown_by" in row:
            self.shown_elsewhere(name, row)

    def shown_elsewhere(self, name, row):
        text = (self.bench.root / row["shown_by"]).read_text()
        word = row.get("as", name.split(".")[-1])
        if not re.search(rf"(?<![a-z_])({re.escape(word)}|{re.escape(word.replace('_', '-'))})(?![a-z_])", text):
            raise AssertionError(f"{row['shown_by']} does not name {word}")
        return "elsewhere", row["shown_by"], []

    def written(self, name, row):
        _, option, config, keys = self.parts(name)
        command = row.get("command", bases.command_of(option))
        config = bases.merged(config, with_folder(row.get("base", {}), self.bench.folder))
        other = json.loads(json.dumps(config))
        if "value" in row:
            set_at(other, keys, with_folder(row["value"], self.bench.folder))
        first, flags = row.get("first"), row.get("flags", ())
        shown, output = self.bench.run(other, command, first, flags)
        if "refused" in row:
            if shown["exit"] == 0 or not re.search(row["refused"], output):
                raise AssertionError(f"{json.dumps(row.get('value'))} was not refused by \"{row['refused']}\": {output[-400:]}")
            return "refused", row.get("value"), ["exit"]
        if row["sees"] == "warning":
            if not re.search(rf"{option} \(.*\) has no effect: ", output):
                raise AssertionError(f"{json.dumps(row['value'])}: no warning says that it has no effect: {output[-400:]}")
            return "warned of", row["value"], ["output"]
        alone, output_alone = self.bench.run(config, command, first, flags)
        both = row.get("exits", 0)
        for what, code, text, expected in (("the base", alone["exit"], output_alone, row.get("exit", both)),
                                           ("the row", shown["exit"], output, both)):
            if code != expected:
                raise AssertionError(f"{what} ended with {code}: {text[-600:]}")
        seen = differences(alone, shown)
        if row["sees"] not in seen:
            raise AssertionError(f"{json.dumps(row['value'])} shows nothing in {row['sees']}: only in {seen}")
        if "says" in row and (re.search(row["says"], output) is None or re.search(row["says"], output_alone)):
            raise AssertionError(f"{json.dumps(row['value'])}: expected \"{row['says']}\" there alone: {output[-400:]}")
        return "written", row["value"], seen

    def draw(self, name):
        kind, option, config, keys = self.parts(name)
        schema = self.options[name]
        command = bases.command_of(option)
        alone, output = self.bench.run(config, command)
        if alone["exit"] != 0:
            raise AssertionError(f"the base ended with {alone['exit']}: {output[-600:]}")
        place = value_at(config, keys[:-1])
        present = place.get(option, schema.get("default"))
        tried = []
        for value in drawn_values(schema, present)[:6]:
            other = json.loads(json.dumps(config))
            set_at(other, keys, value)
            shown, output = self.bench.run(other, command)
            if shown["exit"] != 0:
                tried.append(f"{json.dumps(value)} is refused: {output.strip().splitlines()[-1][:150]}")
                continue
            seen = differences(alone, shown)
            needed = {"weights", "metrics"} if kind in LEARNS and command == "fit" else set(seen)
            if needed & set(seen):
                return "drawn", value, seen
            tried.append(f"{json.dumps(value)} shows {', '.join(seen) or 'nothing'}" +
                         (", and a warning" if " has no effect: " in output else ""))
        raise AssertionError("no effect: " + ("; ".join(tried) or "no value can be drawn"))

    def check_base(self, kind_and_class):
        """The same config twice shows the same."""
        config, _ = bases.base_of(*kind_and_class, self.bench.folder)
        one, output = self.bench.run(config)
        again, _ = self.bench.start(config, "fit", None, ())
        seen = differences(one, again)
        if seen:
            different = [(one[kind], again[kind]) for kind in seen]
            raise AssertionError(f"two runs of the base differ in {seen}: {str(different)[:1500]}")
        if one["exit"] != 0:
            raise AssertionError(f"the base ended with {one['exit']}: {output[-600:]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", nargs="*", default=["*"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    schema = json.loads(subprocess.run([given.program, "config", "schema"], capture_output=True, check=True).stdout)
    options = options_of(schema)
    failed = [f"rows.py: no option is named {pattern}" for pattern in ROWS if not fnmatch.filter(options, pattern)]
    part, parts = given.part.split("/")
    first = datetime.date.today().toordinal() % int(parts) if part == "today" else int(part) - 1
    names = [name for i, name in enumerate(options) if i % int(parts) == first
             and any(fnmatch.fnmatchcase(name, pattern) for pattern in given.only)]
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        effects = Effects(Bench(given.program, given.root, pathlib.Path(folder)), options)
        for name in options:
            try:
                effects.check_row(name)
            except AssertionError as error:
                failed.append(f"{name}: {error}")
        compared = [name for name in names if "sees" in (row_of(name) or {"sees": ""})]
        classes = {tuple(name.split(".")[:2]) if name.count(".") == 2 else ("trainer", None) for name in compared}

        def checked(what):
            try:
                if isinstance(what, tuple):
                    effects.check_base(what)
                    return what, ("base", None, []), None
                return what, effects.check(what), None
            except AssertionError as error:
                return what, None, str(error)

        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            for what, how, error in pool.map(checked, [*sorted(classes, key=str), *names]):
                if error:
                    failed.append(f"{what}: {error}")
                    print(f"FAILED {what}: {error}", flush=True)
                    continue
                counts[how[0]] = counts.get(how[0], 0) + 1
                if given.table and how[0] != "base":
                    print(f"{what}: {how[0]} {json.dumps(how[1])}: {', '.join(how[2])}", flush=True)
    print(f"{len(names)} of {len(options)} options: " + ", ".join(f"{count} {how}" for how, count in sorted(counts.items())))
    if failed:
        print(f"{len(failed)} failed:", *failed, sep="\n  ", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
