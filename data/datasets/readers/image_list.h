#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace levin::data {

/// Image files, and what is to be learned of each: a mask, a row of `targets`, or nothing.
struct ImageList {
  std::vector<std::string> paths = {};
  std::vector<std::string> masks = {};  ///< files, one for each path; empty: none
  at::Tensor targets = {};              ///< [paths, ...]; undefined: none
  std::vector<std::string> classes = {};
};

}  // namespace levin::data
