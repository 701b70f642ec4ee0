#!/usr/bin/env python3
"""Trains cases drawn from the schema in pairs of options, and compares each with an oracle.

usage: pairs.py PROGRAM [--cases N] [--seed S] [--whole] [--jobs J] [--only CASE...] [--from CASE] [--with ITEM...] [--schema PROGRAM] [--json FILE]
  PROGRAM   pairs_program
  --cases   so many cases, those that cover most first (default 12); --whole: all that the cover of pairs needs
  --seed    draws other cases; default: the day, so that each day tries others
  --only    numbers of cases to try again; their folders are kept
  --from    number of the first case, to go on with a cover that was ended
  --with    items that each case has, as 'relation="ranks"' or 'strategy.ddp.static_graph=true'
  --schema  draws from the schema of another program, so that an older one gets the same cases
  --json    gets a line for each case when it has been tried
Exits with 1 if a relation does not hold, or if an option of the schema is neither drawn nor skipped for a reason.
"""

import argparse
import concurrent.futures
import datetime
import json
import shutil
import sys
import tempfile
import threading
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
    arguments.add_argument("--from", type=int, default=0, dest="first")
    arguments.add_argument("--with", nargs="*", default=[], dest="fixed", metavar="ITEM")
    arguments.add_argument("--schema", metavar="PROGRAM")
    arguments.add_argument("--json")
    given = arguments.parse_args()
    program = str(Path(given.program).resolve())

    known = schema.Schema(schema.printed_schema(given.schema or program))
    if known.unknown:
        print("these options are neither drawn nor skipped; give them values in tests/trainer/pairs/schema.py:",
              ", ".join(known.unknown))
        return 1
    drawing = draw.Drawing(known)
    cases, impossible, wanted = drawing.cover(given.seed, None if given.whole else given.cases, given.fixed)
    numbers = given.only if given.only is not None else range(given.first, len(cases))
    print(f"seed {given.seed}: {len(known.items)} values of options, {len(wanted)} pairs ({len(impossible)} of those tried make no case), "
          f"{len(cases)} cases", flush=True)

    root = Path(tempfile.mkdtemp(prefix="levin_pairs_"))
    results, covered, begin = {}, set(), time.time()
    programs = threading.local()

    def one(number):
        folder = root / str(number)
        programs.own = getattr(programs, "own", None) or relations.Program(program)
        try:
            result = relations.tried(programs.own, folder, cases[number], number)
        except Exception as error:  # of this test itself
            result = ("differs", [f"{type(error).__name__}: {error}"], [], relations.config_of(cases[number], folder), [], {})
        if given.only is None:
            shutil.rmtree(folder, ignore_errors=True)
        return number, result

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for number, result in pool.map(one, numbers):
            results[number] = result
            outcome, found, refusals, config, commands, left = result
            if outcome in ("equal", "differs"):
                covered |= draw.pairs_of(left) & wanted
            if given.json:
                with open(given.json, "a") as file:
                    file.write(json.dumps({"case": number, "outcome": outcome, "found": found, "refusals": refusals, "config": config,
                                           "items": [str(item) for item in cases[number].values()]}) + "\n")
            if found:
                print(f"case {number}, {json.loads(cases[number]['relation'].value)}: " + "; ".join(found))
                print("  " + ", ".join(str(item) for item in cases[number].values()))
                print("  " + json.dumps(config), flush=True)
            if given.only is not None:
                print("\n".join(commands))
    outcomes = [r[0] for r in results.values()]
    late = sorted({s for r in results.values() for s, by_check in r[2] if not by_check})
    print(f"{len(outcomes)} cases in {time.time() - begin:.0f} s: {outcomes.count('equal')} equal, {outcomes.count('differs')} differ, "
          f"{outcomes.count('refused')} refused, {outcomes.count('ended')} ended by NaN or without files; "
          f"{sum(len(r[2]) for r in results.values())} refusals in all; {len(covered)} pairs in cases that ran")
    unknown = [sentence for sentence in late if not relations.is_known_late(sentence)]
    print(f"{len(late) - len(unknown)} sentences that only a run can say (relations.ONLY_IN_A_RUN)")
    for sentence in unknown:
        print("refused by fit and not by config check in the same words:", sentence)
    if given.only is None:
        shutil.rmtree(root, ignore_errors=True)
    else:
        print("folders:", root)
    return 1 if "differs" in outcomes or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
