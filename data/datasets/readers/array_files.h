#pragma once
#include <levin/core/options/text_table.h>
#include <levin/data/batch.h>
#include <levin/data/datasets/readers/field_dataset.h>

#include <string>
#include <vector>

namespace levin::data {

/// The fields that arrays in files are: of one length, and of different lengths.
struct ArrayFields {
  Batch fixed = {};
  std::vector<VaryingField> varying = {};
};

/// Opens arrays by the name of their field: "ids.npy"; "data.npz", of which it is the array of the field's name; or
/// "data.npz:ids", which names another. The field "*" stands for all arrays of a .npz file that no other field names.
///
/// Where there are `x` and `x_lengths`, `x` [rows, ...] has the rows of all samples one after another, and `x_lengths`
/// [samples] the number of each. Targets that are one integer for each sample become int64. Throws levin::UsageError
/// that names `option`, the file and the array, as map_npy and NpzFile do, and if the numbers of samples differ.
ArrayFields open_arrays(const TextTable& files, const std::string& option);

}  // namespace levin::data
