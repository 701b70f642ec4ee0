#include <levin/modules/program/operators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <set>

namespace levin::program {
namespace {

/// Operators of ATen that compute. The ones that work in place (add_) come with them.
constexpr std::string_view kPermitted =
    // elementwise
    "abs absolute acos acosh add addcdiv addcmul angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh "
    "atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp "
    "clamp_max clamp_min clip complex conj conj_physical copysign cos cosh deg2rad digamma div divide eq erf erfc "
    "erfinv "
    "exp exp2 expm1 fix float_power floor floor_divide fmax fmin fmod frac ge greater greater_equal gt heaviside hypot "
    "i0 "
    "igamma igammac imag isfinite isinf isnan isneginf isposinf isreal ldexp le lerp less less_equal lgamma log log10 "
    "log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt maximum minimum mul "
    "multiply "
    "mvlgamma nan_to_num ne neg negative nextafter not_equal polar polygamma positive pow rad2deg real reciprocal "
    "remainder round rsqrt rsub sgn sigmoid sign signbit sin sinc sinh special_bessel_j0 special_bessel_j1 "
    "special_digamma special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit "
    "special_expm1 special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p special_log_ndtr "
    "special_log_softmax special_logit special_logsumexp special_ndtr special_ndtri special_polygamma special_psi "
    "special_round special_sinc special_softmax special_xlog1py special_xlogy special_zeta sqrt square sub subtract "
    "tan "
    "tanh true_divide trunc where xlogy __and__ __or__ __xor__ __lshift__ __rshift__ __iand__ __ior__ __ixor__ "
    // activations
    "celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_sigmoid log_softmax mish prelu relu "
    "relu6 "
    "rrelu selu silu softmax softplus softshrink threshold _safe_softmax "
    // reductions and statistics
    "all amax amin aminmax any argmax argmin bincount corrcoef count_nonzero cov cummax cummin cumprod cumsum "
    "cumulative_trapezoid diff histc kthvalue logcumsumexp logsumexp max mean median min mode msort nanmean nanmedian "
    "nanquantile nansum norm nuclear_norm prod quantile renorm std std_mean sum sum_to_size sort argsort topk "
    "trapezoid "
    "trapz unique_consecutive unique_dim _unique2 var var_mean "
    // shapes, views and copies
    "alias as_strided atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors broadcast_to cartesian_prod cat "
    "channel_shuffle chunk clone column_stack combinations concat concatenate constant_pad_nd contiguous copy detach "
    "detach_copy diag diag_embed diagonal diagonal_scatter dsplit dstack expand expand_as fill fill_diagonal flatten "
    "flip "
    "fliplr flipud hsplit hstack lift lift_fresh lift_fresh_copy meshgrid moveaxis movedim mH mT adjoint matrix_H "
    "narrow "
    "narrow_copy numpy_T pad pad_sequence permute pixel_shuffle pixel_unshuffle ravel repeat repeat_interleave reshape "
    "reshape_as resolve_conj resolve_neg roll rot90 row_stack select select_scatter slice slice_scatter split "
    "split_with_sizes squeeze stack swapaxes swapdims t tensor_split tile to transpose tril triu type_as unbind "
    "unflatten "
    "unfold unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze view view_as view_as_complex view_as_real "
    "vsplit "
    "vstack zero _to_copy _unsafe_view _conj _conj_physical _shape_as_tensor "
    // indexing
    "bucketize embedding embedding_bag embedding_renorm gather index index_add index_copy index_fill index_put "
    "index_reduce "
    "index_select "
    "isin masked_fill masked_scatter masked_select nonzero nonzero_static one_hot put scatter "
    "scatter_add "
    "scatter_reduce "
    "searchsorted take take_along_dim tril_indices triu_indices "
    // new tensors
    "arange bartlett_window blackman_window empty empty_like eye full full_like hamming_window hann_window "
    "kaiser_window "
    "linspace logspace new_empty new_full new_ones new_zeros ones ones_like scalar_tensor vander zeros "
    "zeros_like "
    // random numbers
    "alpha_dropout bernoulli cauchy dropout exponential feature_alpha_dropout feature_dropout geometric "
    "log_normal multinomial normal normal_functional poisson rand rand_like randint randint_like randn "
    "randn_like randperm uniform _sample_dirichlet _standard_gamma "
    // products and linear algebra
    "addbmm addmm addmv addr baddbmm bilinear bmm chain_matmul cdist cholesky cholesky_inverse cholesky_solve "
    "cosine_similarity "
    "cross det dist dot einsum ger inner inverse kron linear linalg_cholesky linalg_cond linalg_cross linalg_det "
    "linalg_diagonal linalg_eigh linalg_eigvalsh linalg_householder_product linalg_inv linalg_lstsq linalg_matmul "
    "linalg_matrix_exp linalg_matrix_norm linalg_matrix_power linalg_multi_dot linalg_norm linalg_pinv linalg_qr "
    "linalg_slogdet linalg_solve linalg_solve_triangular linalg_svd linalg_svdvals linalg_vecdot linalg_vector_norm "
    "logdet matmul matrix_exp matrix_power mm mv outer pairwise_distance pdist pinverse qr slogdet tensordot trace "
    "triangular_solve vdot _euclidean_dist _trilinear "
    // convolution, pooling, resampling
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
    "adaptive_max_pool3d affine_grid_generator avg_pool1d avg_pool2d avg_pool3d col2im conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d conv_transpose3d convolution _convolution fold fractional_max_pool2d "
    "fractional_max_pool3d grid_sampler grid_sampler_2d grid_sampler_3d im2col max_pool1d max_pool1d_with_indices "
    "max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool2d max_unpool3d reflection_pad1d "
    "reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d upsample_bicubic2d "
    "upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d "
    "upsample_trilinear3d "
    "_upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d "
    "_upsample_nearest_exact3d "
    // norms, attention, recurrent layers
    "batch_norm group_norm instance_norm layer_norm local_response_norm "
    "norm_except_dim rms_norm _weight_norm scaled_dot_product_attention gru gru_cell lstm lstm_cell "
    "rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell "
    // rounding to fewer bits
    "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine "
    // losses
    "binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy_loss ctc_loss "
    "hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss "
    "multilabel_margin_loss multilabel_margin_loss_forward nll_loss nll_loss2d nll_loss_nd poisson_nll_loss "
    "smooth_l1_loss "
    "soft_margin_loss triplet_margin_loss "
    // Fourier transforms
    "fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn "
    "fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq "
    "fft_rfftn istft stft "
    // sizes, and checks that export adds
    "allclose item equal is_nonzero numel sym_constrain_range sym_constrain_range_for_size sym_is_contiguous sym_numel "
    "sym_size sym_storage_offset sym_stride _assert_async _assert_scalar _assert_tensor_metadata _local_scalar_dense ";

/// Overloads of permitted operators that are not: nobody checks the lengths of packed sequences, and a view in place
/// keeps sizes beyond its memory if it fails.
constexpr std::string_view kRefusedOverloads = "lstm.data gru.data rnn_tanh.data rnn_relu.data as_strided_. ";

/// The overloads with out= that are permitted: spectral_norm normalizes by them.
constexpr std::string_view kPermittedOut = "div.out ";

std::set<std::string_view> words_of(std::string_view text) {
  std::set<std::string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

bool writes_to_out(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
    return argument.kwarg_only() && argument.alias_info() != nullptr && argument.alias_info()->isWrite();
  });
}

void check_overload(const c10::FunctionSchema& schema, const std::string& overload, const std::string& target) {
  static const std::set<std::string_view> refused = words_of(kRefusedOverloads), out = words_of(kPermittedOut);
  if (writes_to_out(schema) && !out.contains(overload))
    throw UsageError("the operator ", target,
                     " writes to a tensor that it is given, through which no gradients flow; write the model without "
                     "out=");
  if (refused.contains(overload))
    throw UsageError("the operator ", target,
                     " is not permitted, since LibTorch does not check its arguments; write the model without it");
}

std::string advice_for(const std::string& space, const std::string& name) {
  if (space == "higher_order")
    return "levin runs straight programs: compute both sides and choose by torch.where, write a loop out, and use "
           "detach() in place of torch.no_grad() inside of forward";
  if (space == "aten" && name.find("native_") != std::string::npos)
    return "the program was decomposed; save what torch.export.export(model, example_inputs) returns";
  if (space == "aten" && name == "_transformer_encoder_layer_fwd")
    return "it computes no gradients; export the model in train mode, before model.eval()";
  if (space == "aten")
    return "levin runs the operators of ATen that compute, and this one is none of them; write the model without it, "
           "or train it as TorchScript (ScriptModule)";
  return "write the model without it, by PyTorch's own operators: one that was written in Python (torch.library, "
         "Triton) "
         "does not run here; of one in a C++ library that your program links, permit the namespace by "
         "--model.operators "
         "'[\"" +
         space + "\"]'";
}

}  // namespace

bool is_permitted(std::string_view name) {
  static const std::set<std::string_view> permitted = words_of(kPermitted);
  if (permitted.contains(name)) return true;
  return name.ends_with('_') && permitted.contains(name.substr(0, name.size() - 1));
}

c10::OperatorHandle find_operator(const std::string& target, const std::vector<std::string>& namespaces) {
  constexpr std::string_view kOps = "torch.ops.";
  const size_t name_at = target.find('.', kOps.size()), overload_at = target.rfind('.');
  if (!target.starts_with(kOps) || name_at == std::string::npos)
    throw UsageError("'", target, "' is no operator of PyTorch; levin runs operators and functions of sizes alone");
  const std::string space = target.substr(kOps.size(), name_at - kOps.size());
  const std::string name =
      target.substr(name_at + 1, overload_at > name_at ? overload_at - name_at - 1 : std::string::npos);
  std::string overload = overload_at > name_at ? target.substr(overload_at + 1) : "";
  if (overload == "default") overload.clear();
  const bool permitted = space == "aten" ? is_permitted(name) : std::ranges::count(namespaces, space) > 0;
  if (!permitted) throw UsageError("the operator ", target, " is not permitted: ", advice_for(space, name));
  const auto found = c10::Dispatcher::singleton().findSchema({space + "::" + name, overload});
  if (!found)
    throw UsageError("this LibTorch has no operator ", target,
                     space == "aten" ? "; export the model by the PyTorch that levin is built with, or one near it"
                                     : "; link the library that registers it");
  if (space == "aten") check_overload(found->schema(), name + "." + overload, target);
  return *found;
}

}  // namespace levin::program
