#include <levin/modules/adapters/held_weight.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/code_tables.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace levin::adapters {
namespace {

constexpr int64_t kAlignment = 16;

int64_t parts(int64_t whole, int64_t part) { return (whole + part - 1) / part; }
int64_t aligned(int64_t bytes) { return parts(bytes, kAlignment) * kAlignment; }

/// Where the parts of NF4 lie in the bytes.
struct NF4Layout {
  explicit NF4Layout(const HeldForm& form)
      : blocks(parts(form.rows * form.cols, kNF4Block)),
        scales(blocks * kNF4Block / 2),
        outer_scales(scales + (form.double_quant ? aligned(blocks) : 4 * blocks)),
        outer_blocks(form.double_quant ? parts(blocks, kScaleBlock) : 0),
        bytes(outer_scales + (form.double_quant ? 4 * (outer_blocks + 1) : 0)) {}

  int64_t blocks, scales, outer_scales, outer_blocks, bytes;
};

void quantise_nf4(const float* weight, int64_t numel, const HeldForm& form, uint8_t* bytes) {
  const NF4Layout layout(form);
  std::vector<float> scales(static_cast<size_t>(layout.blocks));
  for (int64_t block = 0; block < layout.blocks; ++block) {
    const int64_t first = block * kNF4Block, end = std::min(first + kNF4Block, numel);
    float largest = 0;
    for (int64_t i = first; i < end; ++i) largest = std::max(largest, std::abs(weight[i]));
    scales[static_cast<size_t>(block)] = largest;
    for (int64_t i = first; i < first + kNF4Block; ++i) {
      const float value = i < end && largest > 0 ? weight[i] / largest : 0;
      const uint8_t code = nearest(nf4_values(), value);
      uint8_t& both = bytes[i / 2];
      both = static_cast<uint8_t>(i % 2 == 0 ? code << 4 : both | code);
    }
  }
  if (!form.double_quant) {
    std::copy(scales.begin(), scales.end(), reinterpret_cast<float*>(bytes + layout.scales));
    return;
  }
  const double sum = std::accumulate(scales.begin(), scales.end(), 0.0);
  const auto mean = static_cast<float>(sum / static_cast<double>(std::max<int64_t>(layout.blocks, 1)));
  auto* const outer = reinterpret_cast<float*>(bytes + layout.outer_scales);
  for (int64_t block = 0; block < layout.outer_blocks; ++block) {
    const int64_t first = block * kScaleBlock, end = std::min(first + kScaleBlock, layout.blocks);
    float largest = 0;
    for (int64_t i = first; i < end; ++i) largest = std::max(largest, std::abs(scales[static_cast<size_t>(i)] - mean));
    outer[block] = largest;
    for (int64_t i = first; i < end; ++i) {
      const float value = largest > 0 ? (scales[static_cast<size_t>(i)] - mean) / largest : 0;
      bytes[layout.scales + i] = nearest(dynamic_values(), value);
    }
  }
  outer[layout.outer_blocks] = mean;
}

/// Returns `count` floats of the bytes.
at::Tensor floats_at(const at::Tensor& bytes, int64_t offset, int64_t count) {
  return bytes.narrow(0, offset, 4 * count).view(at::kFloat);
}

template <size_t Size>
at::Tensor table_on(const std::array<float, Size>& values, c10::Device device) {
  return at::tensor(at::ArrayRef<float>(values), at::TensorOptions(at::kFloat)).to(device);
}

/// Returns the scales of blocks [first, first + count), as float32.
at::Tensor nf4_scales(const at::Tensor& bytes, const HeldForm& form, int64_t first, int64_t count) {
  const NF4Layout layout(form);
  if (!form.double_quant) return floats_at(bytes, layout.scales + 4 * first, count);
  const int64_t outer_first = first / kScaleBlock, outer_end = parts(first + count, kScaleBlock);
  const at::Tensor outer =
      floats_at(bytes, layout.outer_scales + 4 * outer_first, outer_end - outer_first).repeat_interleave(kScaleBlock);
  const at::Tensor codes = bytes.narrow(0, layout.scales + first, count).to(at::kLong);
  const at::Tensor values = table_on(dynamic_values(), bytes.device()).index_select(0, codes);
  return values * outer.narrow(0, first - outer_first * kScaleBlock, count) +
         floats_at(bytes, layout.outer_scales + 4 * layout.outer_blocks, 1);
}

/// Returns uninitialised floats [count] of `device`. On the CPU they lie in memory that the thread keeps and uses
/// again: blocks that each product allocates and frees would leave gaps among the activations, together as large as the
/// whole weights in float32.
at::Tensor floats_for_rows(int64_t count, c10::Device device) {
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(device);
  if (!device.is_cpu()) return at::empty({count}, options);
  thread_local at::Tensor kept;
  if (!kept.defined() || kept.numel() < count) {
    const c10::InferenceMode for_training_too(false);
    kept = at::empty({count}, options);
  }
  return kept.narrow(0, 0, count);
}

/// Returns the values of whole blocks, flat, in float32.
at::Tensor nf4_blocks(const at::Tensor& bytes, const HeldForm& form, int64_t first, int64_t count) {
  // A copy, of half a byte for each value: memory that fsdp divides is there for operations alone.
  const at::Tensor codes = bytes.narrow(0, first * kNF4Block / 2, count * kNF4Block / 2).clone();
  const at::Tensor scales = nf4_scales(bytes, form, first, count).contiguous();
  if (!bytes.is_cpu()) {
    const at::Tensor both = codes.to(at::kInt);
    const at::Tensor single = at::stack({both.__rshift__(4), both.__and__(15)}, 1).reshape({-1});
    const at::Tensor values = table_on(nf4_values(), bytes.device()).index_select(0, single);
    return (values.view({count, kNF4Block}) * scales.unsqueeze(1)).view({-1});
  }
  const at::Tensor values = floats_for_rows(count * kNF4Block, bytes.device());
  const auto* const code = codes.const_data_ptr<uint8_t>();
  const auto* const scale = scales.const_data_ptr<float>();
  auto* const value = values.mutable_data_ptr<float>();
  at::parallel_for(0, count, /*grain_size=*/512, [&](int64_t begin, int64_t end) {
    std::array<float, 16> table = {};
    for (int64_t block = begin; block < end; ++block) {
      for (size_t i = 0; i < table.size(); ++i) table[i] = nf4_values()[i] * scale[block];
      const uint8_t* const from = code + block * kNF4Block / 2;
      float* const to = value + block * kNF4Block;
      for (int64_t i = 0; i < kNF4Block / 2; ++i) {
        to[2 * i] = table[from[i] >> 4];
        to[2 * i + 1] = table[from[i] & 15];
      }
    }
  });
  return values;
}

/// Some rows at a time, so that what is computed on the way leaves no gaps in the heap that are larger than the result.
at::Tensor held_int8(const at::Tensor& weight, const HeldForm& form) {
  constexpr int64_t kElementsAtOnce = int64_t{1} << 14;
  const int64_t of_codes = form.rows * form.cols;
  const at::Tensor bytes = at::zeros({aligned(of_codes) + 4 * form.rows}, weight.options().dtype(at::kByte));
  const at::Tensor codes = bytes.narrow(0, 0, of_codes).view(at::kChar).view({form.rows, form.cols});
  const at::Tensor scales = floats_at(bytes, aligned(of_codes), form.rows);
  const int64_t step = std::max<int64_t>(kElementsAtOnce / std::max<int64_t>(form.cols, 1), 1);
  for (int64_t begin = 0; begin < form.rows; begin += step) {
    const int64_t count = std::min(step, form.rows - begin);
    const at::Tensor rows = weight.narrow(0, begin, count), scale = rows.abs().amax(1, /*keepdim=*/true) / 127;
    scales.narrow(0, begin, count).copy_(scale.squeeze(1));
    codes.narrow(0, begin, count).copy_(at::where(scale > 0, rows / scale, 0).round_().clamp_(-127, 127));
  }
  return bytes.unsqueeze(1);
}

}  // namespace

at::Tensor held_values(const at::Tensor& weight, const HeldForm& form, const std::string& name) {
  const at::NoGradGuard no_grad;
  if (form.format == BaseFormat::BFloat16) return weight.detach().to(at::kBFloat16);
  check_can_be_held(weight, form.format, name);
  const at::Tensor floats = weight.detach().to(at::kFloat).contiguous();
  if (form.format == BaseFormat::Int8) return held_int8(floats, form);
  const at::Tensor bytes = at::zeros({NF4Layout(form).bytes, 1}, at::TensorOptions(at::kByte));
  const at::Tensor here = floats.cpu();
  quantise_nf4(here.const_data_ptr<float>(), here.numel(), form, bytes.mutable_data_ptr<uint8_t>());
  return bytes.to(weight.device());
}

void check_can_be_held(const at::Tensor& weight, BaseFormat format, const std::string& name) {
  const bool has_codes = format == BaseFormat::NF4 || format == BaseFormat::Int8;
  if (!has_codes || weight.numel() == 0) return;
  const auto [least, largest] = at::aminmax(weight);
  if (!std::isfinite(least.item<double>()) || !std::isfinite(largest.item<double>()))
    throw UsageError("LoRA.base: the weight of ", name, " has values that are not finite, which no code stands for");
}

int64_t rows_at_once(const HeldForm& form, c10::Device device) {
  const int64_t elements = int64_t{1} << (device.is_cpu() ? 18 : 24);  // on the CPU: what its cache holds
  const int64_t step = form.format == BaseFormat::NF4 ? kNF4Block / std::gcd(form.cols, kNF4Block) : 1;
  return std::max<int64_t>(elements / std::max<int64_t>(form.cols, 1) / step, 1) * step;
}

at::Tensor rows_of(const at::Tensor& held, const HeldForm& form, int64_t begin, int64_t count, at::ScalarType dtype) {
  if (form.format == BaseFormat::BFloat16) {
    const at::Tensor rows = held.detach().narrow(0, begin, count);
    if (dtype != at::kFloat) return rows.to(dtype);
    return floats_for_rows(rows.numel(), held.device()).view(rows.sizes()).copy_(rows);
  }
  const at::Tensor bytes = held.detach().reshape({-1});
  const int64_t first = begin * form.cols, elements = count * form.cols;
  if (form.format == BaseFormat::Int8) {
    const at::Tensor codes = bytes.narrow(0, first, elements).view(at::kChar).view({count, form.cols});
    const at::Tensor scales = floats_at(bytes, aligned(form.rows * form.cols) + 4 * begin, count);
    return floats_for_rows(elements, held.device())
        .view(codes.sizes())
        .copy_(codes)
        .mul_(scales.unsqueeze(1))
        .to(dtype);
  }
  const at::Tensor blocks = nf4_blocks(bytes, form, first / kNF4Block, parts(elements, kNF4Block));
  return blocks.narrow(0, 0, elements).view({count, form.cols}).to(dtype);
}

at::Tensor whole_weight(const at::Tensor& held, const HeldForm& form) {
  const at::NoGradGuard no_grad;
  const at::Tensor whole = at::empty({form.rows, form.cols}, held.options().dtype(form.dtype));
  const int64_t step = rows_at_once(form, held.device());
  for (int64_t begin = 0; begin < form.rows; begin += step) {
    const int64_t count = std::min(step, form.rows - begin);
    whole.narrow(0, begin, count).copy_(rows_of(held, form, begin, count, at::kFloat));
  }
  return whole;
}

}  // namespace levin::adapters
