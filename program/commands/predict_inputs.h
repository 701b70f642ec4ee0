#pragma once
#include <string>
#include <vector>

namespace levin::cli {

/// Turns `--input PATH...` of predict into the option of the config's data that takes it: predict_root of ImageFolder,
/// test_file of Csv, test_input of Npy, file of Text. Throws UsageError for other data, for a path that does not exist,
/// and for several where the data takes one.
std::vector<std::string> with_predict_inputs(std::vector<std::string> arguments);

}  // namespace levin::cli
