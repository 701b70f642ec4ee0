#pragma once
#include <string>

namespace levin {

/// Returns levin's version: "0.1.0".
std::string levin_version();
/// Returns the version of the LibTorch that levin was built with: "2.13.0".
std::string torch_version();
/// Returns the compiler that built levin: "gcc 13.3.0".
std::string compiler_version();

}  // namespace levin
