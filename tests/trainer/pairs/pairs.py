#!/usr/bin/env python3
"""Trains cases drawn from the schema in pairs of options, and compares each with an oracle.

usage: pairs.py PROGRAM [--cases N] [--seed S] [--whole] [--jobs J] [--only CASE...] [--relation NAME] [--json FILE]
  PROGRAM   pairs_program
  --cases   so many cases, those that cover most first (default 12); --whole: all that the cover of pairs needs
  --seed    draws other cases; default: the day, so that each day tries others
  --only    numbers of cases to try again; their folders are kept
Exits with 1 if a relation does not hold, or if an option of the schema is neither drawn nor skipped for a reason.
"""

import argparse
import concurrent.futures
import datetime
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import draw
import relations
import schema


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--cases", type=int, default=12)
    arguments.add_argument("--seed", type=int, default=datetime.date.today().toordinal())
    arguments.add_argument("--whole", action="store_true")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--only", type=int, nargs="*")
    arguments.add_argument("--relation")
    arguments.add_argument("--json")
    given = arguments.parse_args()
    program = str(Path(given.program).resolve())

    known = schema.Schema(schema.printed_schema(program))
    if known.unknown:
        print("these options are neither drawn nor skipped; give them values in tests/trainer/pairs/schema.py:",
              ", ".join(known.unknown))
        return 1
    cases, impossible, pairs = draw.Drawing(known).cover(given.seed, None if given.whole else given.cases, given.relation)
    numbers = given.only if given.only is not None else range(len(cases))
    print(f"seed {given.seed}: {len(known.items)} values of options, {pairs} pairs ({len(impossible)} of those tried make no case), "
          f"{len(cases)} cases", flush=True)

    root = Path(tempfile.mkdtemp(prefix="levin_pairs_"))
    results, begin = {}, time.time()

    def one(number):
        folder = root / str(number)
        try:
            result = relations.tried(program, folder, cases[number], number)
        except Exception as error:  # of this test itself
            result = ("differs", [f"{type(error).__name__}: {error}"], [], relations.config_of(cases[number], folder), [])
        if given.only is None:
            shutil.rmtree(folder, ignore_errors=True)
        return number, result

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for number, result in pool.map(one, numbers):
            results[number] = result
            outcome, found, refusals, config, commands = result
            if found:
                print(f"case {number}, {json.loads(cases[number]['relation'].value)}: " + "; ".join(found))
                print("  " + ", ".join(str(item) for item in cases[number].values()))
                print("  " + json.dumps(config), flush=True)
            if given.only is not None:
                print("\n".join(commands))
    if given.json:
        Path(given.json).write_text(json.dumps(
            {n: {"outcome": r[0], "found": r[1], "refusals": r[2], "config": r[3],
                 "items": [str(i) for i in cases[n].values()]} for n, r in results.items()}, indent=1))
    outcomes = [r[0] for r in results.values()]
    late = sorted({s for r in results.values() for s, by_check in r[2] if not by_check})
    print(f"{len(outcomes)} cases in {time.time() - begin:.0f} s: {outcomes.count('equal')} equal, {outcomes.count('differs')} differ, "
          f"{outcomes.count('refused')} refused; {sum(len(r[2]) for r in results.values())} refusals in all")
    for sentence in late:
        print("refused by fit and not by config check:", sentence)
    if given.only is None:
        shutil.rmtree(root, ignore_errors=True)
    else:
        print("folders:", root)
    return 1 if "differs" in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
