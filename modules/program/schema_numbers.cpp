#include <levin/modules/program/schema_numbers.h>
#include <levin/modules/program/argument_json.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace levin::program {
namespace {

constexpr std::array<std::pair<int64_t, at::ScalarType>, 16> kDtypes = {{{1, at::kByte},
                                                                         {2, at::kChar},
                                                                         {3, at::kShort},
                                                                         {4, at::kInt},
                                                                         {5, at::kLong},
                                                                         {6, at::kHalf},
                                                                         {7, at::kFloat},
                                                                         {8, at::kDouble},
                                                                         {9, at::kComplexHalf},
                                                                         {10, at::kComplexFloat},
                                                                         {11, at::kComplexDouble},
                                                                         {12, at::kBool},
                                                                         {13, at::kBFloat16},
                                                                         {28, at::kUInt16},
                                                                         {34, at::kUInt32},
                                                                         {35, at::kUInt64}}};

constexpr std::array<std::pair<int64_t, c10::MemoryFormat>, 4> kMemoryFormats = {
    {{1, c10::MemoryFormat::Contiguous},
     {2, c10::MemoryFormat::ChannelsLast},
     {3, c10::MemoryFormat::ChannelsLast3d},
     {4, c10::MemoryFormat::Preserve}}};

}  // namespace

at::ScalarType dtype_of(int64_t number) {
  const auto* found = std::ranges::find(kDtypes, number, &std::pair<int64_t, at::ScalarType>::first);
  if (found == kDtypes.end())
    refuse("a tensor has a dtype (number " + std::to_string(number) + ") that levin does not train with");
  return found->second;
}

int64_t number_of(at::ScalarType dtype) {
  const auto* found = std::ranges::find(kDtypes, dtype, &std::pair<int64_t, at::ScalarType>::second);
  if (found == kDtypes.end()) refuse(std::string("a tensor has the dtype ") + toString(dtype));
  return found->first;
}

c10::MemoryFormat memory_format_of(int64_t number) {
  const auto* found = std::ranges::find(kMemoryFormats, number, &std::pair<int64_t, c10::MemoryFormat>::first);
  if (found == kMemoryFormats.end()) refuse("there is no memory format with the number " + std::to_string(number));
  return found->second;
}

int64_t number_of(c10::MemoryFormat format) {
  return std::ranges::find(kMemoryFormats, format, &std::pair<int64_t, c10::MemoryFormat>::second)->first;
}

}  // namespace levin::program
