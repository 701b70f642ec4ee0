#pragma once
#include <levin/modules/transformers/config_fields.h>
#include <levin/modules/transformers/rope_config.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::nn {

/// What holds for a family where its file says nothing.
struct RopeDefaults {
  double theta = 10000;
  double partial = 1;              ///< the part of a head that is rotated
  bool takes_partial = false;      ///< false: a file may not say another part
  bool yarn_is_longrope = false;   ///< old names of phi3
  int64_t original_positions = 0;  ///< phi3; 0: the longest
};

/// Reads the rope's parameters: `rope_parameters` of transformers 5 or `rope_scaling` and `rope_theta` of the versions
/// before. `fields` is the whole config. Throws levin::UsageError for what is not known.
RopeConfig read_rope(ConfigFields& fields, int64_t head_size, const RopeDefaults& defaults,
                     const std::vector<std::string>& ignored);
/// Reads the parameters of one kind of layers from an object, null if there is none; `path`: its name.
RopeConfig read_rope_object(ConfigFields& fields, const ConfigFields::Json* object, const std::string& path,
                            int64_t head_size, const RopeDefaults& defaults, const std::vector<std::string>& ignored);

}  // namespace levin::nn
