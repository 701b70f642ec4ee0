# Shared by the scripts of this folder: paths, messages, the compiler, configuring and building.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv"
pinned="$root/scripts/pinned"

say() { printf '==> %s\n' "$*"; }

# Ends the script with an error of one sentence.
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# run_quietly SENTENCE COMMAND...: runs the command; if it fails, prints the end of its output and ends with the sentence.
run_quietly() {
  local sentence=$1 log
  shift
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "$sentence"
  fi
  rm -f "$log"
}

# install_pinned NAME: installs the packages of scripts/pinned/NAME.txt into $venv, and no others; a file with another digest than the
# list has is refused.
install_pinned() {
  "$venv/bin/python" -m pip install -q --no-deps --require-hashes --only-binary=:all: -r "$pinned/$1.txt"
}

# Prints the number of compiler jobs: one per core, but no more than fit into memory (a file with torch/torch.h takes 1.7 GB).
jobs() {
  local cores memory_kb
  cores=$(nproc 2>/dev/null || echo 2)
  memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null || true)
  awk -v cores="$cores" -v kb="${memory_kb:-0}" 'BEGIN {
    room = kb > 0 ? int(kb / 1800000) : cores
    print room < 1 ? 1 : (room < cores ? room : cores)
  }'
}

# Chooses the compiler: CXX if it is set, else g++ if it is new enough, else a newer one that is installed beside it.
choose_compiler() {
  [[ -z ${CXX:-} ]] || return 0
  local version
  version=$(g++ -dumpversion 2>/dev/null || echo 0)
  [[ ${version%%.*} -lt 12 ]] || return 0
  local name
  for name in g++-14 g++-13 g++-12 clang++; do
    if command -v "$name" >/dev/null; then
      export CXX=$name
      return 0
    fi
  done
  [[ $version != 0 ]] || fail "There is no C++ compiler: install g++ 12 or newer (apt-get install g++)."
}

# configure PRESET [CMAKE ARGUMENTS...]: if one of levin's own checks fails, ends with the line that the check prints.
configure() {
  local preset=$1 log line
  shift
  log=$(mktemp)
  if ! (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1 </dev/null; then
    line=$(sed -n '/^CMake Error at .*LevinStop/,/^Call Stack/s/^   *\(.*\)/\1/p' "$log" | head -n 1)
    [[ -n $line ]] || tail -n 30 "$log" >&2
    rm -f "$log"
    fail "${line:-The configuration of build/$preset failed; CMake says why above.}"
  fi
  rm -f "$log"
}

# build PRESET TARGET [CMAKE ARGUMENTS...]: configures and builds; the target may be "all".
build() {
  local preset=$1 targets
  read -ra targets <<< "$2"
  shift 2
  command -v cmake >/dev/null || fail "There is no cmake: install cmake 3.22 or newer (apt-get install cmake)."
  command -v ninja >/dev/null || fail "There is no ninja: install it (apt-get install ninja-build)."
  grep -q "\"name\": \"$preset\"" "$root/CMakePresets.json" ||
    fail "There is no preset $preset; there are dev, release, asan, tsan, fuzz, cuda, package and gpu-bundle."
  choose_compiler
  say "Configuring build/$preset"
  configure "$preset" "$@"
  say "Building build/$preset with $(jobs) jobs"
  (cd "$root" && cmake --build --preset "$preset" --target "${targets[@]}" --parallel "$(jobs)") || fail "The build of build/$preset failed."
}
