#!/usr/bin/env bash
# Other Fortran compilers read the module `levin` and its tests: other_compilers.sh ROOT. Skipped where there is none: flang is in
# Debian's packages flang-19 and newer, ifx is Intel's.
set -euo pipefail
sources=()
for name in texts arrays handles kept models buffers sessions; do sources+=("$1/hosts/fortran/levin_$name.f90"); done
sources+=("$1/hosts/fortran/levin.f90" "$1/hosts/fortran/levin_mpi.f90")
for name in shared_checks buffer_cases fortran_test; do sources+=("$1/tests/hosts/fortran/$name.f90"); done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
tried=0
for compiler in flang flang-new flang-new-19 flang-19 flang-20 flang-21 flang-22 ifx; do
  command -v "$compiler" >/dev/null || continue
  flag=-fsyntax-only
  if [[ $compiler == ifx ]]; then flag=-syntax-only; fi
  "$compiler" "$flag" "${sources[@]}"
  echo "$compiler reads the module and its tests"
  tried=$((tried + 1))
done
if ((tried == 0)); then echo "SKIPPED: there is no flang and no ifx"; fi
