"""Runs a script of Python once for each line of the input, in a process that has imported torch already.

usage: reference_server.py SCRIPT
Each line is a JSON list of the script's arguments. The answer is a line too: [exit status, what the script printed].
"""

import json
import os
import pathlib
import runpy
import sys

import torch  # noqa: F401

script = sys.argv[1]
sys.path[0] = str(pathlib.Path(script).parent)
for line in sys.stdin:
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(into, 1)
        os.close(into)
        os.close(out)
        sys.argv = [script, *json.loads(line)]
        runpy.run_path(script, run_name="__main__")
        sys.stdout.flush()
        os._exit(0)
    os.close(into)
    with open(out) as text:
        printed = text.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([status, printed]), flush=True)
