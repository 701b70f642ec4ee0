#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/choice.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace levin {
namespace nn {

/// How the hidden states of a text's tokens become one vector. Auto: what the folder says, or else the mean.
enum class PoolingKind : uint8_t { Auto, Mean, Cls };

}  // namespace nn

template <>
inline constexpr auto kWords<nn::PoolingKind> = words_of<nn::PoolingKind>(
    {{"auto", nn::PoolingKind::Auto}, {"mean", nn::PoolingKind::Mean}, {"cls", nn::PoolingKind::Cls}});

namespace nn {

/// How a sentence-transformers model makes the vector of a text.
struct Pooling {
  PoolingKind kind = PoolingKind::Mean;
  bool normalizes = false;  ///< the vector has length 1
};

/// Reads `modules.json` and the `config.json` of the pooling of a folder of sentence-transformers; a folder without
/// them has the mean of the tokens. Throws levin::UsageError that names the file and the field for a module and a kind
/// of pooling that levin does not compute.
Pooling read_pooling(const std::filesystem::path& folder);

/// Returns the texts of these files for a pooling of vectors of `size` numbers, by their path in the folder.
std::map<std::string, std::string> pooling_files(const Pooling& pooling, int64_t size);

/// Returns the vectors [batch, hidden] of `hidden` [batch, time, hidden]; `mask` [batch, time]: 0 for padding;
/// undefined: there is none.
at::Tensor pooled(const at::Tensor& hidden, const at::Tensor& mask, const Pooling& pooling);

}  // namespace nn
}  // namespace levin
