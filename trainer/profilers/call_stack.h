#pragma once
#include <string>
#include <vector>

namespace levin {

/// Returns the addresses of the calling thread's stack, the innermost first; empty where LibTorch cannot read stacks
/// (on other processors than x86-64).
std::vector<void*> call_stack();

/// Returns for each stack the innermost function that belongs neither to LibTorch nor to levin nor to the standard
/// library: "Net::forward (net.cpp:41)", or without file and line if the program has no debug information, or "" if
/// there is none. Slow: it reads the program's debug information.
std::vector<std::string> users_functions(const std::vector<std::vector<void*>>& stacks);

/// Returns a function's name without its return type and parameters, as it is written in a program:
/// "void a::f<int>(b::C const&)" gives "a::f<int>".
std::string plain_name(const std::string& function);

}  // namespace levin
