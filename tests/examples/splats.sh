#!/usr/bin/env bash
# usage: splats.sh PROGRAM    a fit whose number of Gaussians changes, resumed between two changes, ends as the unbroken one
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$program" unbroken 210 | tee unbroken.out
"$program" broken 130
"$program" broken 210 | tee broken.out
cmp unbroken/levin_logs/version_0/weights.pt broken/levin_logs/version_0/weights.pt
cmp unbroken/splats.png broken/splats.png
read -r gaussians _ < broken.out
[[ $gaussians -gt 24 ]] || { echo "the number of Gaussians has not grown"; exit 1; }
error=$(sed 's/.*squared error \([^,]*\),.*/\1/' broken.out)
awk -v error="$error" 'BEGIN { exit !(error < 0.005) }' || { echo "the picture is not fitted: $error"; exit 1; }
