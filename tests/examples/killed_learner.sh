#!/usr/bin/env bash
# usage: killed_learner.sh PROGRAM STEPS    kills a learner by SIGKILL several times; resumed, it ends with the weights of an
# unbroken run
set -euo pipefail
program=$1 steps=$2
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
learn() { exec "$program" --seed 3 --target 1000 --steps "$steps" --root "$work/$1" >>"$work/$1.out" 2>&1; }
weights() { find "$work/$1" -name weights.pt; }

(learn unbroken) || { cat "$work/unbroken.out"; exit 1; }
kills=0
for wait in 0.3 0.7 0.2 0.5; do
  [ -z "$(weights broken 2>/dev/null)" ] || break
  learn broken &
  learner=$!
  # The clock starts when the run has a checkpoint.
  for _ in $(seq 200); do
    [ -n "$(find "$work/broken" -name '*.ckpt' 2>/dev/null)" ] && break
    sleep 0.05
  done
  sleep "$wait"
  if kill -9 $learner 2>/dev/null; then kills=$((kills + 1)); fi
  wait $learner 2>/dev/null || true
done
(learn broken) || { cat "$work/broken.out"; exit 1; }
resumed=$(grep -c "resumes after" "$work/broken.out" || true)
[ "$kills" -gt 0 ] && [ "$resumed" -gt 0 ] || { cat "$work/broken.out"; echo "no run was broken off and resumed"; exit 1; }
cmp "$(weights unbroken)" "$(weights broken | head -1)"
[ "$(tail -1 "$work/unbroken.out" | sed 's/"seconds": [^,]*//')" = "$(tail -1 "$work/broken.out" | sed 's/"seconds": [^,]*//')" ]
echo "killed $kills times, resumed $resumed times: the same weights"
