#!/usr/bin/env bash
# Runs the programs beside it, which scripts/gpu-bundle has put there, and writes a report of what passed and failed, with
# figures.
# usage: run.sh [--seconds N] [--limit PART=SECONDS]... [--parts PATTERN] [--llm-c FOLDER] [RESULTS]
#   RESULTS        the folder for report.md and logs.txt, which holds the output of all programs; default: ./results
#   --seconds      time for all parts together; parts for which no time is left are not started; default: 570
#   --limit        time for one part; a part that does not end in time is stopped, and the report says so
#   --parts        only the parts whose names match this regular expression
#   --llm-c        the source of llm.c, which is built with nvcc in a copy and measured beside levin; without it, it is left out
#   LEVIN_PYTHON   a Python with the torch that the programs were built with, whose libraries they use; default: python3
# The exit status is 0 if nothing failed.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

declare -A limits=()
seconds=570
results=./results
parts=.
llm_c=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --seconds | --limit | --parts | --llm-c)
      [[ $# -gt 1 ]] || fail "$1 needs a value"
      [[ $1 != --seconds || $2 =~ ^[0-9]+$ ]] || fail "--seconds: expected a whole number, got $2"
      [[ $1 != --limit || $2 =~ ^[a-z0-9-]+=[0-9]+$ ]] || fail "--limit: expected PART=SECONDS, got $2"
      case $1 in
        --seconds) seconds=$2 ;;
        --limit) limits[${2%=*}]=${2#*=} ;;
        --parts) parts=$2 ;;
        --llm-c) llm_c=(--llm-c "$(cd "$2" 2>/dev/null && pwd)") || fail "There is no folder $2." ;;
      esac
      shift
      ;;
    -*) fail "There is no option $1; there are --seconds, --limit, --parts and --llm-c." ;;
    *) results=$1 ;;
  esac
  shift
done
deadline=$((SECONDS + seconds))
mkdir -p "$results" || fail "The folder $results cannot be made."
results=$(cd "$results" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in rows tests figures logs; do : >"$work/$file"; done

# --- the Python whose torch it is ---

python=${LEVIN_PYTHON:-python3}
command -v "$python" >/dev/null || fail "There is no $python; let LEVIN_PYTHON name one with torch."
cat >"$work/ask.py" <<'END'
import glob, os, torch
folder = os.path.dirname(torch.__file__)
gpu = torch.cuda.is_available()
print("torch=" + torch.__version__.split("+")[0])
print("cuda=" + (torch.version.cuda or "none"))
print("gpu=" + (torch.cuda.get_device_name(0) + ", %.0f GB" % (torch.cuda.get_device_properties(0).total_memory / 1e9) if gpu else ""))
print("libraries=" + ":".join([folder + "/lib"] + sorted(glob.glob(os.path.dirname(folder) + "/nvidia/*/lib"))))
END
timeout -k 5 120 "$python" "$work/ask.py" >"$work/answer" 2>"$work/answer.err" </dev/null ||
  fail "$python has no torch that can be used: $(tail -n 1 "$work/answer.err")"
of_python() { sed -n "s/^$1=//p" "$work/answer"; }
gpu=$(of_python gpu)
libraries=$here/lib:$(of_python libraries)
for name in torch cuda; do
  wanted=$(sed -n "s/^$name=//p" "$here/built_with")
  [[ $wanted == "$(of_python $name)" ]] ||
    fail "The programs were built with $name $wanted, and $python has $name $(of_python $name); let LEVIN_PYTHON name another."
done

# --- parts ---

# Without a GPU the cores compute, and other processes may need them: waiting threads must not spin.
[[ -n $gpu ]] || export OMP_WAIT_POLICY=passive

failures=0

# row PART RESULT PASSED FAILED SKIPPED SECONDS REMARK
row() {
  printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$@" >>"$work/rows"
  printf '%-20s %-10s %5s s  %s\n' "$1" "$2" "$6" "$7"
}

last_line() { grep -v '^ *$' "$1" | tail -n 1 | tr '|' '/' | cut -c 1-200 || true; }

# part NAME LIMIT COMMAND...: runs it and adds its row. Exit status 77 means skipped.
part() {
  [[ $1 =~ $parts ]] || return 0
  local name=$1 limit=${limits[$1]:-$2} begun=$SECONDS status=0 result remark="" passed=1 failed=0 skipped=0 counted=false
  shift 2
  if ((deadline - begun < 3)); then
    failures=$((failures + 1))
    row "$name" "not begun" 0 0 0 0 "no time was left"
    return
  fi
  ((limit <= deadline - begun)) || limit=$((deadline - begun))
  local out=$work/$name.out err=$work/$name.err
  mkdir -p "$work/run"
  (cd "$work/run" && LD_LIBRARY_PATH=$libraries exec timeout -k 5 "$limit" "$@") >"$out" 2>"$err" </dev/null || status=$?
  rm -rf "$work/run"
  if grep -q '^gpu_test: began' "$out"; then
    counted=true
    passed=$(grep -c '^gpu_test: passed' "$out" || true)
    failed=$(grep -c '^gpu_test: failed' "$out" || true)
    skipped=$(grep -c '^gpu_test: skipped' "$out" || true)
    sed -nE 's/^gpu_test: (passed|failed|skipped|memory) /- \1 /p' "$out" >>"$work/tests"
  fi
  if ((status == 0)); then
    result=passed
  elif ((status == 77)); then
    result=skipped passed=0 skipped=1
    remark=$(sed -n 's/^SKIPPED: //p' "$out" | head -n 1)
  else
    failures=$((failures + 1))
    $counted || passed=0
    if ((SECONDS - begun >= limit && (status == 124 || status == 137))); then
      result="not ended" remark="stopped after $limit s"
    else
      result=failed remark="exit status $status"
      [[ -z $(last_line "$err") ]] || remark="$remark: $(last_line "$err")"
    fi
    # Adds the test that was running, if that test did not end.
    local last
    last=$(grep -E '^gpu_test: (began|passed|failed|skipped) ' "$out" | tail -n 1 || true)
    [[ $last != "gpu_test: began "* ]] || remark="$remark, in: ${last#gpu_test: began }"
    ((failed > 0)) || failed=1
  fi
  row "$name" "$result" "$passed" "$failed" "$skipped" "$((SECONDS - begun))" "$remark"
  { printf '\n===== %s: %s\n' "$name" "$*" && cat "$out" "$err"; } >>"$work/logs"
  if [[ $name == benchmark* && $result != skipped ]]; then { printf '\n### %s\n\n' "$name" && cat "$out"; } >>"$work/figures"; fi
}

# on_gpu NAME LIMIT COMMAND...: a part that is skipped if there is no GPU.
on_gpu() {
  [[ $1 =~ $parts ]] || return 0
  if [[ -n $gpu ]]; then part "$@"; else row "$1" skipped 0 0 1 0 "torch of $python sees no GPU"; fi
}

levin=$here/bin/levin
training=(--config "$here/configs/quickstart.json" --data.train_size 640 --data.val_size 128)

part version 60 "$levin" --version
part fit-cpu 60 "$levin" fit "${training[@]}" --accelerator cpu --max-epochs 1
for who in hand levin; do
  part "benchmark-cpu-$who" 30 "$here/bin/benchmark_training_step" mlp only "$who" 1000
done
for group in training precision waits copies memory graphs parallel checkpoints; do
  part "test-$group" 75 "$here/bin/gpu_test" "[$group]"
done
# Trainings drawn at random, at once: the processes take longer to start than to train.
resumes_on_gpu() {
  local -i each=$1 chunk status=0
  local -a running=()
  for ((chunk = 0; chunk < 8; ++chunk)); do
    LEVIN_RANDOM_SEED=$((1 + chunk * each)) LEVIN_RANDOM_CASES=$each LEVIN_RANDOM_ACCELERATOR=gpu \
      LEVIN_CASE_RUNNER=$here/bin/case_runner "$here/bin/process_tests" --filenames-as-tags "[#random_resumes_test]" &
    running+=($!)
  done
  for process in "${running[@]}"; do wait "$process" || status=1; done
  return $status
}
export here
export -f resumes_on_gpu
on_gpu random-resumes 170 bash -c 'resumes_on_gpu 4'
on_gpu fit-gpu 45 "$levin" fit "${training[@]}" --accelerator gpu --max-epochs 2 --cuda-graphs --precision bf16-mixed
# Without deterministic algorithms cuDNN's convolutions add in another order each time.
for precision in 32-true 16-mixed; do
  on_gpu "resume-gpu-$precision" 45 "$levin" verify-resume "${training[@]}" --accelerator gpu --steps 12 --precision "$precision" \
    --deterministic true
done
short=()
[[ -n $gpu ]] || short=(--short)
for section in graphs layouts precisions copies ranks; do
  part "benchmark-$section" 110 "$here/bin/benchmark_gpu" ${short[@]+"${short[@]}"} "$section"
done
language_models=("$python" "$here/gpu_language_model.py" "$levin" ${llm_c[@]+"${llm_c[@]}"})
[[ -n $gpu ]] || language_models+=(--tiny --steps 2 --rounds 1)
for network in gpt2 lora; do
  part "benchmark-language-$network" 240 "${language_models[@]}" --parts "$network"
done
on_gpu benchmark-nine-tricks 75 "$python" "$here/measure_nine_tricks.py" "$here/bin/example_nine_tricks" --gpu --rounds 3
on_gpu profile 60 "$levin" profile "${training[@]}" --accelerator gpu

# --- the report ---

{
  printf '# levin on this machine\n\n'
  printf -- '- GPU: %s\n' "${gpu:-none}"
  printf -- '- processor: %s, %s cores\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
  printf -- '- torch %s, CUDA %s, %s\n' "$(of_python torch)" "$(of_python cuda)" "$(ldd --version | head -n 1)"
  printf -- '- %s, %s s; parts that failed or did not end: %s\n' "$(date -u +%F)" "$((SECONDS - deadline + seconds))" "$failures"
  printf '\n| part | result | passed | failed | skipped | seconds | |\n|---|---|---|---|---|---|---|\n'
  cat "$work/rows"
  [[ ! -s $work/tests ]] || { printf '\n## Tests\n\n' && cat "$work/tests"; }
  [[ ! -s $work/figures ]] || { printf '\n## Figures\n' && cat "$work/figures"; }
} >"$results/report.md"
cp "$work/logs" "$results/logs.txt"
printf '\n%s\n' "written to $results/report.md"
((failures == 0))
