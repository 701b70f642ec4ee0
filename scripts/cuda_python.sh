# Sourced, after lib.sh, by the scripts that build with CUDA: chooses the Python whose LibTorch they build against.

torch_version=2.11.0 # with CUDA 13.0

has_cuda() { "$1" -c 'import torch; assert torch.version.cuda' 2>/dev/null; }
has_cuda_headers() { "$1" -c 'import importlib.metadata as m; m.version("nvidia-cuda-crt"); m.version("nvidia-cuda-cccl")' 2>/dev/null; }

make_cuda_python() {
  local sentence="The CUDA build of LibTorch could not be downloaded: is there a network, and room for 5 GB?"
  say "Making build/cuda-python with torch $torch_version and CUDA (5 GB)"
  mkdir -p build
  run_quietly "python3 cannot make a virtual environment: install python3-venv." python3 -m venv build/cuda-python
  run_quietly "$sentence" build/cuda-python/bin/python -m pip install -q "torch==$torch_version"
  venv=build/cuda-python run_quietly "$sentence" install_pinned numpy
  # torch's headers include these, but its package does not require them.
  run_quietly "$sentence" build/cuda-python/bin/python -m pip install -q --no-deps 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-cccl==13.0.*'
}

# choose_cuda_python [PYTHON]: sets `python` to PYTHON, or else to the Python of build/cuda-python, which it makes if it is
# missing. Installs what levin is built with.
choose_cuda_python() {
  python=${1:-}
  LEVIN_PYTHON=${python:-$root/build/cuda-python/bin/python} scripts/setup
  if [[ -z $python ]]; then
    python=$root/build/cuda-python/bin/python
    has_cuda "$python" && has_cuda_headers "$python" || make_cuda_python
  fi
  has_cuda "$python" || fail "The torch of $python has no CUDA; name another Python."
}
