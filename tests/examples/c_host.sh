#!/usr/bin/env bash
# The agent of examples/c_host learns, is saved, and continues: c_host.sh PROGRAM
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
first=$("$1" 40)
echo "$first"
second=$("$1" 5)
echo "$second"
[[ $second == *"continues from checkpoints/agent.ckpt"* ]]
awk -v first="$first" -v second="$second" 'BEGIN {
  split(first, words, " "); before = words[5]; after = words[7]
  n = split(second, words, " "); for (i = 1; i <= n; ++i) if (words[i] == "before,") continued = words[i - 1]
  exit !(after < 0.5 * before && continued < 0.5 * before)
}'
