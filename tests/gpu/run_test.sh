#!/usr/bin/env bash
# scripts/gpu_bundle/run.sh with programs of this build, and benchmarks that fail, hang and print a table instead of measuring.
# usage: run_test.sh LEVIN GPU_TEST ROOT LIBTORCH_VERSION     LEVIN_TEST_PYTHON has that torch
set -euo pipefail
levin=$1 gpu_test=$2 root=$3 version=$4
python=${LEVIN_TEST_PYTHON:-}

skip() {
  printf 'SKIPPED: %s\n' "$*"
  exit 77
}
[[ -n $python ]] || skip "LEVIN_TEST_PYTHON names no Python with torch"
found=$("$python" -c 'import torch; print(torch.__version__.split("+")[0], torch.version.cuda or "none", torch.cuda.is_available())') ||
  skip "$python has no torch"
[[ $found == "$version none False" ]] || skip "$python has torch and CUDA $found, and the programs are built with $version for the CPU"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bundle=$folder/bundle
mkdir -p "$bundle/bin" "$bundle/configs"
cp "$root/scripts/gpu_bundle/run.sh" "$root"/benchmarks/gpu_language_{model,networks}.py "$bundle"
cp "$root/configs/quickstart.json" "$bundle/configs"
ln -s "$levin" "$bundle/bin/levin"
ln -s "$gpu_test" "$bundle/bin/gpu_test"
printf 'torch=%s\ncuda=none\n' "$version" >"$bundle/built_with"
cat >"$bundle/bin/benchmark_training_step" <<'END'
#!/usr/bin/env bash
[[ $3 == levin ]] || exit 0
printf 'before the end\n'
sleep 100000
END
cat >"$bundle/bin/benchmark_gpu" <<'END'
#!/usr/bin/env bash
case ${!#} in
  layouts) printf '| a figure | 1.5 |\n' ;;
  precisions) printf 'gpu_test: began one\ngpu_test: passed 0.1 s one\ngpu_test: began two\n' && exit 1 ;;
  copies) printf 'no such thing\n' >&2 && exit 3 ;;
  *) printf 'SKIPPED: it needs a GPU\n' && exit 77 ;;
esac
END
chmod +x "$bundle"/bin/benchmark_*

# expect PATTERN: a line of the report.
expect() {
  grep -qE "$1" "$folder/results/report.md" || {
    cat "$folder/results/report.md" "$folder/results/logs.txt"
    printf 'missing: %s\n' "$1"
    exit 1
  }
}

# Every GPU test is in a group that run.sh runs.
groups=$(sed -n 's/^for group in \(.*\); do$/\1/p' "$bundle/run.sh")
tests=$(cat "$root"/tests/gpu/*_test.cpp | grep -c '^TEST_CASE(')
grouped=$(cat "$root"/tests/gpu/*_test.cpp | grep -cE "\"\[(${groups// /|})\]\"\) \{")
[[ $tests -gt 0 && $tests == "$grouped" ]] || { printf '%s tests, and %s are in one of the groups %s\n' "$tests" "$grouped" "$groups" && exit 1; }

status=0
LEVIN_PYTHON=$python "$bundle/run.sh" --seconds 500 --limit fit-cpu=400 --limit benchmark-cpu-levin=1 "$folder/results" || status=$?
[[ $status == 1 ]] || { printf 'exit status %s, and three parts failed\n' "$status" && exit 1; }
expect '^\| version \| passed \| 1 \| 0 \| 0 \| [0-9]+ \|  \|$'
expect '^\| fit-cpu \| passed \| 1 \| 0 \| 0 \|'
expect '^\| benchmark-cpu-hand \| passed \|'
expect '^\| benchmark-cpu-levin \| not ended \| 0 \| 1 \| 0 \| [0-9]+ \| stopped after 1 s \|$'
expect '^\| test-training \| skipped \| 0 \| 0 \| 1 \| [0-9]+ \| .*(CUDA|GPU) \|$'
expect '^\| test-checkpoints \| skipped \|'
expect '^\| fit-gpu \| skipped \| 0 \| 0 \| 1 \| 0 \| .*sees no GPU \|$'
expect '^\| benchmark-graphs \| skipped \| .* it needs a GPU \|$'
expect '^\| benchmark-layouts \| passed \|'
expect '^\| benchmark-precisions \| failed \| 1 \| 1 \| 0 \| .*in: two \|$'
expect '^\| benchmark-copies \| failed \| 0 \| 1 \| 0 \| [0-9]+ \| exit status 3: no such thing \|$'
expect '^\| a figure \| 1.5 \|$'
expect '^\| benchmark-language-gpt2 \| passed \|'
expect '^\| benchmark-language-lora \| passed \|'
expect '^\| levin, cross entropy in blocks of 5 \| [0-9,]+ \| [0-9.]+ \| 0 \| [0-9.]+ \|$'
expect '^llm.c was left out: no folder with its source was given.$'
expect 'parts that failed or did not end: 3$'
grep -q '^before the end$' "$folder/results/logs.txt" || { printf 'logs.txt lacks what a program printed before it was stopped\n' && exit 1; }

# No time at all: everything is named all the same. And a Python with another torch is refused.
LEVIN_PYTHON=$python "$bundle/run.sh" --seconds 0 "$folder/results" && { printf 'nothing was run, and that passed\n' && exit 1; }
expect '^\| benchmark-ranks \| not begun \| 0 \| 0 \| 0 \| 0 \| no time was left \|$'
printf 'torch=1.0.0\ncuda=none\n' >"$bundle/built_with"
LEVIN_PYTHON=$python "$bundle/run.sh" "$folder/other" 2>"$folder/refusal" && { printf 'another torch was taken\n' && exit 1; }
grep -q 'built with torch 1.0.0' "$folder/refusal" || { cat "$folder/refusal" && exit 1; }
printf 'all rows are there\n'
