#pragma once
#include <levin/hosts/c/c_api.h>
#include <levin/modules/imported_module.h>

#include <cstddef>
#include <vector>

namespace levin::c {

/// What a model takes and what predict_step returns, as its config or its file tells.
struct Signature {
  std::vector<ImportedTensor> inputs = {}, outputs = {};
};

/// Returns the signature of a module of levin's own. Throws levin::UsageError for another one, and if the sizes come
/// from the data of a run.
Signature signature_of(const LightningModule& module);

/// Describes the tensor at a place, which must stay where it is as long as the array is used; it has no data. Throws
/// levin::UsageError if there is no such place.
void describe(const std::vector<ImportedTensor>& tensors, size_t place, levin_array& array);

}  // namespace levin::c
