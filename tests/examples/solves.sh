#!/usr/bin/env bash
# usage: solves.sh PROGRAM    the last line of its output names a return of at least 475
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$1" --seed 1 >output 2>messages || { cat output messages; exit 1; }
cat output
tail -1 output | grep -Eq '"return": (47[5-9]|4[89][0-9]|500)'
[ "$(ls -A)" = $'messages\noutput' ] || { ls -A; echo "the run left files"; exit 1; }
