#!/usr/bin/env bash
# Builds the documentation site and checks its links; skipped where scripts/setup has not installed what it is built with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [[ ! -x .venv/docs/bin/mkdocs ]] || ! command -v doxygen >/dev/null; then
  echo "SKIPPED: there is no MkDocs in .venv/docs, or no doxygen; scripts/setup --docs installs them"
  exit 77
fi
exec scripts/docs --check
