#pragma once
#include <string>

namespace levin {

/// Returns the innermost place of a call stack that lies neither in LibTorch nor in the C++ library, such as
/// "lit.cpp:41, LitNet::training_step": with file and line if the program has debug information and addr2line is
/// installed, else the function alone; empty if nothing is known. `frames` are return addresses, innermost first, up to
/// the first null.
std::string code_place(void* const* frames, int number);

/// Returns whether such a place is a function of levin's own.
bool is_own_place(const std::string& place);

}  // namespace levin
