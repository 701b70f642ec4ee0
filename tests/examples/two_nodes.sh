#!/usr/bin/env bash
# usage: two_nodes.sh PROGRAM    runs the example multi_node as two machines of two processes each
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
port=$((20000 + RANDOM % 10000))
start() { MASTER_ADDR=127.0.0.1 MASTER_PORT=$port NODE_RANK=$1 LEVIN_NODES=2 LEVIN_DEVICES=2 "$program" >"node_$1.out" 2>&1; }
start 1 &
start 0 || { cat node_0.out node_1.out; exit 1; }
wait $! || { cat node_1.out; exit 1; }
cat node_0.out
for rank in 0 1 2 3; do grep -q "^rank $rank of 4 is on $(hostname)" node_0.out; done
grep -q "after 30 steps" node_0.out
