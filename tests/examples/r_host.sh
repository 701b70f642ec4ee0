#!/usr/bin/env bash
# R trains through examples/r_host: r_host.sh FOLDER HEADERS LIBRARY. Skipped where R is not installed.
set -euo pipefail
if ! command -v Rscript >/dev/null || ! R CMD config CC >/dev/null 2>&1; then
  echo "SKIPPED: there is no R (r-base-core), or no compiler for it"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$1/levin_r.c" "$work"
folder=$(dirname "$3")
(cd "$work" && PKG_CPPFLAGS="-I$2" PKG_LIBS="-L$folder -Wl,-rpath,$folder -llevin_c" R CMD SHLIB levin_r.c >build.log 2>&1) || {
  cat "$work/build.log"
  exit 1
}
said=$(cd "$work" && Rscript "$1/r_host.R" "$work/levin_r.so")
echo "$said"
grep -q "an error of levin's: levin_model_run: .*\[32, 3\]" <<<"$said"
