#pragma once

namespace levin {

/// Calls each function of MKL's vector library once in this thread, if no module or run of the process has done so.
///
/// In LibTorch with MKL the first call of such a function in a process may be wrong by some 1e-4 for a part of the
/// elements if two compute threads make it together, as the first step of Adam does with its square roots: a run would
/// not end with the bits of the run before.
void make_first_calls();

}  // namespace levin
