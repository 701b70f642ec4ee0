#pragma once
#include <cstdint>

// Loops over the rows of float32 matrices on the CPU, each in one pass over memory and on all of LibTorch's threads.
// Their results depend neither on the processor's vectors nor on the number of threads.
namespace levin::nn::fused {

/// Rows of `cols` floats without gaps.
struct Rows {
  int64_t rows = 0, cols = 0;
};

/// y = x r w with r = 1 / sqrt(mean(x^2) + eps) of each row, which goes to `scales` [rows].
void rms_norm_rows(Rows size, const float* x, const float* weight, float eps, float* y, float* scales);
/// The gradient with respect to x, from that of y and the `scales` of the forward pass.
void rms_norm_backward_rows(Rows size, const float* gradient, const float* x, const float* weight, const float* scales,
                            float* x_gradient);

/// Rows [outer, middle, inner] of `cols` floats, with the distance from one to the next in each direction.
struct StridedRows {
  const float* data = nullptr;
  int64_t outer = 0, middle = 0, inner = 0;
};
/// Turns the first `dims` of each row x[b, t, h] by the angles of (b, t): pairs are i and i + dims / 2. `cosines` and
/// `sines` have `inner` = 0; `direction` is 1 or -1. `y` has no gaps. `size.rows` is batch * time * heads.
struct Rotation {
  int64_t batch = 0, time = 0, heads = 0, cols = 0, dims = 0;
  StridedRows x = {}, cosines = {}, sines = {};
  float direction = 1;
};
void rotate_rows(const Rotation& rotation, float* y);

/// x sigmoid(k(x)): SiLU has k(x) = x, the tanh form of GELU has k(x) = sqrt(8 / pi) (x + 0.044715 x^3).
enum class Gate { Silu, GeluTanh };
/// y = gate(x) up.
void gated_rows(Rows size, Gate gate, const float* x, const float* up, float* y);
void gated_backward_rows(Rows size, Gate gate, const float* gradient, const float* x, const float* up,
                         float* x_gradient, float* up_gradient);

/// The losses of rows of logits [rows] (0 where the target is `ignored`), and as `shifts` [2, rows] of each row the
/// largest number and log(sum(exp(row - largest))). Returns false, with the results undefined, if a target is neither a
/// column nor `ignored`.
bool cross_entropy_rows(Rows size, const float* logits, const int64_t* targets, int64_t ignored, float* losses,
                        float* shifts);
/// The gradient of the losses' sum times `factor` with respect to the logits.
void cross_entropy_backward_rows(Rows size, const float* logits, const int64_t* targets, int64_t ignored,
                                 const float* shifts, float factor, float* gradient);

}  // namespace levin::nn::fused
