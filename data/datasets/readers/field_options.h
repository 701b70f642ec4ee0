#pragma once
#include <levin/core/options/number_table.h>
#include <levin/core/options/option.h>
#include <levin/core/options/text_table.h>

#include <string>

namespace levin::data {

/// How the fields of samples become those of batches. As a member without LEVIN_OPTION these options appear beside
/// those of the data set.
struct FieldOptions {
  TextTable dtypes = LEVIN_OPTION(dtypes, {},
                                  "Types that fields of batches get, by name: {\"labels\": \"int64\"}; uint8, int8, "
                                  "int16, int32, int64, float16, bfloat16, float32, float64, bool");
  NumberTable pad = LEVIN_OPTION(pad, {},
                                 "What fills the end of rows that are shorter than the longest of a batch, by field: "
                                 "{\"input_ids\": 0, \"labels\": -100}");
  std::string attention_mask = LEVIN_OPTION(
      attention_mask, "",
      "Field in `pad` for which batches get an `attention_mask`, int64, 1 for its values and 0 for what is filled up");
};

}  // namespace levin::data
