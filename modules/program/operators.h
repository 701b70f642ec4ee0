#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace c10 {
class OperatorHandle;
}

namespace levin::program {

/// Returns the operator of a node's target ("torch.ops.aten.add.Tensor").
///
/// A program is data, so it may call only operators of ATen that compute: none that opens files, changes the memory
/// behind a tensor, or is LibTorch's own tool. `namespaces` names further namespaces of operators that the program may
/// call, such as "torchvision". Throws levin::UsageError that says what to do for others.
c10::OperatorHandle find_operator(const std::string& target, const std::vector<std::string>& namespaces);

/// Returns whether programs may call the operators of this name, without namespace and overload.
bool is_permitted(std::string_view aten_name);

}  // namespace levin::program
