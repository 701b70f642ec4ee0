#pragma once
#include <string>

namespace levin {

/// Returns the process number of the newest ancestor that has no PMI_RANK in its environment: the process of hydra's
/// that started this machine's ranks, the same for all of them. Empty if that cannot be read.
std::string process_manager();

}  // namespace levin
