#pragma once
#include <levin/modules/transformers/config_fields.h>

namespace levin::nn {

/// Counts as read the fields of a config.json that change nothing that a model computes, and checks those that are the
/// same for all models that levin has. Throws levin::UsageError for quantized weights, for an encoder with a decoder,
/// and for parts that were cut out.
void read_common_fields(ConfigFields& fields);

}  // namespace levin::nn
