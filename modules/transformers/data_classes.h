#pragma once
#include <string>
#include <vector>

namespace levin {
namespace data {
class DataModule;
}

namespace nn {

/// Returns the names of the classes that a data module has learned; none if it has none, or is null.
std::vector<std::string> classes_of_data(data::DataModule* data);

/// Throws levin::UsageError if the data's classes are not as many as the model's `labels` or, where these are `named`
/// by an option or a folder, have other names.
void check_classes_of_data(const std::vector<std::string>& classes, const std::vector<std::string>& labels, bool named);

}  // namespace nn
}  // namespace levin
