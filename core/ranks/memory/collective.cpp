#include <levin/core/ranks/memory/collective.h>
#include <levin/core/ranks/memory/combine.h>
#include <levin/core/ranks/memory/where_it_lies.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace levin {
namespace {

using Op = c10d::ReduceOp::RedOpType;

/// The bytes of a tensor, which it holds.
struct Bytes {
  explicit Bytes(const at::Tensor& of)
      : tensor(of), data(static_cast<std::byte*>(of.data_ptr())), size(static_cast<int64_t>(of.nbytes())) {}
  at::Tensor tensor;
  std::byte* data;
  int64_t size;
};

std::vector<Bytes> bytes_of(const std::vector<at::Tensor>& tensors) { return {tensors.begin(), tensors.end()}; }

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<size_t>(bytes));
}

/// Bytes that are exchanged in pieces.
struct Pieces {
  int64_t whole = 0, piece = 0;
  int64_t count() const { return std::max<int64_t>(1, (whole + piece - 1) / piece); }
  int64_t begin(int64_t index) const { return index * piece; }
  int64_t length(int64_t index) const { return std::min(piece, whole - begin(index)); }
};

/// Returns the most bytes of which `parts` fit into a slot, a multiple of a cache line and of each dtype's size.
int64_t piece_for(int64_t parts) { return static_cast<int64_t>(CollectiveSlots::kBytes) / parts / 64 * 64; }

/// Each rank sends pieces of what it has and reads those of all ranks.
Collective exchange(const char* name, int64_t bytes, int64_t rounds,
                    std::function<void(const CollectiveSlots&, int64_t piece)> fill,
                    std::function<void(const CollectiveSlots&, int64_t piece)> take) {
  return {name, bytes, [=](const CollectiveSlots& slots, int64_t round) {
            if (round > 0) take(slots, round - 1);
            if (round < rounds) fill(slots, round);
            return round < rounds;
          }};
}

/// This rank reads the mapped memory of others in pieces of this size, which stay in the first cache.
constexpr int64_t kNear = 16 << 10;

/// Combines bytes of all ranks; `result` may be among them.
void combine_all(at::ScalarType dtype, Op op, std::byte* result, const OfRanks& of_ranks, int64_t begin, int64_t end,
                 const std::function<void(int64_t begin, int64_t length)>& piece_is_done = {}) {
  for (int64_t at = begin; at < end; at += kNear) {
    const int64_t length = std::min(kNear, end - at);
    std::vector<const std::byte*> parts;
    for (const std::byte* const one : of_ranks) parts.push_back(one + at);
    combine(dtype, op, result + (at - begin), parts, length);
    if (piece_is_done) piece_is_done(at, length);
  }
}

/// Each rank combines its share of what all ranks have, and writes the result to all of them.
Collective all_reduce_where_it_lies(RankOf who, const at::Tensor& tensor, Op op, Collective through_slots) {
  const Bytes own(tensor);
  const int64_t share = (own.size / who.ranks + 63) / 64 * 64;
  return where_it_lies(
      who, own.data, own.size,
      [=](const OfRanks& of_ranks) {
        const int64_t begin = std::min(own.size, who.rank * share), end = std::min(own.size, begin + share);
        combine_all(own.tensor.scalar_type(), op, own.data + begin, of_ranks, begin, end,
                    [&](int64_t at, int64_t length) {
                      for (std::byte* const one : of_ranks) copy_bytes(one + at, own.data + at, length);
                    });
      },
      std::move(through_slots));
}

/// Each rank sends everything, and the rank `root` computes the result, or all do.
Collective reduce_whole(RankOf who, const at::Tensor& tensor, Op op, std::optional<int64_t> root) {
  const bool sends = root != who.rank, takes = !root || !sends;
  const Bytes own(tensor);
  const Pieces pieces{own.size, piece_for(1)};
  return exchange(
      root ? "reduce" : "all_reduce", own.size, pieces.count(),
      [=](const CollectiveSlots& slots, int64_t i) {
        if (sends) copy_bytes(slots.own(i), own.data + pieces.begin(i), pieces.length(i));
      },
      [=](const CollectiveSlots& slots, int64_t i) {
        if (!takes) return;
        std::byte* const place = own.data + pieces.begin(i);
        std::vector<const std::byte*> parts;
        for (int64_t rank = 0; rank < who.ranks; ++rank) parts.push_back(rank == who.rank ? place : slots.of(rank, i));
        combine(own.tensor.scalar_type(), op, place, parts, pieces.length(i));
      });
}

/// Each rank computes its share of each piece and sends it to the others. A slot has a piece, and this rank's result
/// for its share of the piece before.
Collective all_reduce_by_shares(RankOf who, const at::Tensor& tensor, Op op) {
  const Bytes own(tensor);
  const int64_t share = piece_for(who.ranks + 1);
  const Pieces pieces{own.size, share * who.ranks};
  const auto share_begin = [=](int64_t piece, int64_t rank) { return std::min(pieces.length(piece), rank * share); };
  return {"all_reduce", own.size, [=](const CollectiveSlots& slots, int64_t round) {
            const auto length = [&](int64_t piece, int64_t rank) {
              return share_begin(piece, rank + 1) - share_begin(piece, rank);
            };
            if (round > 1) {
              const int64_t piece = round - 2;
              for (int64_t rank = 0; rank < who.ranks; ++rank)
                if (rank != who.rank)
                  copy_bytes(own.data + pieces.begin(piece) + share_begin(piece, rank),
                             slots.of(rank, round - 1) + pieces.piece, length(piece, rank));
            }
            if (round > 0 && round <= pieces.count()) {
              const int64_t piece = round - 1, begin = share_begin(piece, who.rank);
              std::byte* const place = own.data + pieces.begin(piece) + begin;
              std::vector<const std::byte*> parts;
              for (int64_t rank = 0; rank < who.ranks; ++rank)
                parts.push_back(rank == who.rank ? place : slots.of(rank, round - 1) + begin);
              combine(own.tensor.scalar_type(), op, place, parts, length(piece, who.rank));
              copy_bytes(slots.own(round) + pieces.piece, place, length(piece, who.rank));
            }
            if (round < pieces.count())
              for (int64_t rank = 0; rank < who.ranks; ++rank)
                if (rank != who.rank)
                  copy_bytes(slots.own(round) + share_begin(round, rank),
                             own.data + pieces.begin(round) + share_begin(round, rank), length(round, rank));
            return round <= pieces.count();
          }};
}

}  // namespace

bool can_reduce(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  const Op kind = op.op_;
  const bool is_known = kind == Op::SUM || kind == Op::AVG || kind == Op::PRODUCT || kind == Op::MIN ||
                        kind == Op::MAX || kind == Op::BAND || kind == Op::BOR || kind == Op::BXOR;
  const bool is_bitwise = kind == Op::BAND || kind == Op::BOR || kind == Op::BXOR;
  return is_known && !tensor.is_complex() && !(is_bitwise && tensor.is_floating_point()) &&
         !(kind == Op::AVG && !tensor.is_floating_point());
}

Collective all_reduce_in_memory(RankOf who, const at::Tensor& tensor, Op op) {
  constexpr size_t kLittle = size_t{8} << 10;
  const bool is_whole = who.ranks <= 2 || tensor.nbytes() <= kLittle;
  return all_reduce_where_it_lies(who, tensor, op,
                                  is_whole ? reduce_whole(who, tensor, op, {}) : all_reduce_by_shares(who, tensor, op));
}

Collective reduce_in_memory(RankOf who, const at::Tensor& tensor, Op op, int64_t root) {
  return reduce_whole(who, tensor, op, root);
}

Collective reduce_scatter_in_memory(RankOf who, const at::Tensor& own, const std::vector<at::Tensor>& all, Op op) {
  const Bytes result(own);
  const std::vector<Bytes> shares = bytes_of(all);
  const Pieces pieces{result.size, piece_for(std::max<int64_t>(1, who.ranks - 1))};
  // A rank sends no share to itself.
  const auto in_slot = [=](int64_t from, int64_t to) { return (to < from ? to : to - 1) * pieces.piece; };
  Collective through_slots = exchange(
      "reduce_scatter", result.size, pieces.count(),
      [=](const CollectiveSlots& slots, int64_t i) {
        for (int64_t rank = 0; rank < who.ranks; ++rank)
          if (rank != who.rank)
            copy_bytes(slots.own(i) + in_slot(who.rank, rank), shares[static_cast<size_t>(rank)].data + pieces.begin(i),
                       pieces.length(i));
      },
      [=](const CollectiveSlots& slots, int64_t i) {
        std::vector<const std::byte*> parts;
        for (int64_t rank = 0; rank < who.ranks; ++rank)
          parts.push_back(rank == who.rank ? shares[static_cast<size_t>(rank)].data + pieces.begin(i)
                                           : slots.of(rank, i) + in_slot(rank, who.rank));
        combine(result.tensor.scalar_type(), op, result.data + pieces.begin(i), parts, pieces.length(i));
      });
  std::byte* first = shares.front().data;
  for (size_t rank = 0; rank < shares.size(); ++rank)
    if (shares[rank].data != shares.front().data + static_cast<int64_t>(rank) * result.size) first = nullptr;
  return where_it_lies(
      who, first, who.ranks * result.size,
      [=](const OfRanks& of_ranks) {
        combine_all(result.tensor.scalar_type(), op, result.data, of_ranks, who.rank * result.size,
                    (who.rank + 1) * result.size);
      },
      std::move(through_slots));
}

Collective broadcast_in_memory(RankOf who, const at::Tensor& tensor, int64_t root) {
  const Bytes own(tensor);
  const Pieces pieces{own.size, piece_for(1)};
  return exchange(
      "broadcast", own.size, pieces.count(),
      [=](const CollectiveSlots& slots, int64_t i) {
        if (who.rank == root) copy_bytes(slots.own(i), own.data + pieces.begin(i), pieces.length(i));
      },
      [=](const CollectiveSlots& slots, int64_t i) {
        if (who.rank != root) copy_bytes(own.data + pieces.begin(i), slots.of(root, i), pieces.length(i));
      });
}

Collective gather_in_memory(RankOf who, const std::vector<at::Tensor>& all, const at::Tensor& own, int64_t root) {
  const bool takes = root < 0 || root == who.rank;
  const Bytes sent(own);
  const std::vector<Bytes> received = bytes_of(all);
  const Pieces pieces{sent.size, piece_for(1)};
  return exchange(
      root < 0 ? "all_gather" : "gather", sent.size, pieces.count(),
      [=](const CollectiveSlots& slots, int64_t i) {
        copy_bytes(slots.own(i), sent.data + pieces.begin(i), pieces.length(i));
      },
      [=](const CollectiveSlots& slots, int64_t i) {
        if (!takes) return;
        for (int64_t rank = 0; rank < who.ranks; ++rank)
          copy_bytes(received[static_cast<size_t>(rank)].data + pieces.begin(i),
                     rank == who.rank ? sent.data + pieces.begin(i) : slots.of(rank, i), pieces.length(i));
      });
}

Collective all_gather_in_memory(RankOf who, const std::vector<at::Tensor>& all, const at::Tensor& own) {
  const Bytes sent(own);
  const std::vector<Bytes> received = bytes_of(all);
  return where_it_lies(
      who, sent.data, sent.size,
      [=](const OfRanks& of_ranks) {
        for (size_t rank = 0; rank < of_ranks.size(); ++rank)
          copy_bytes(received[rank].data, of_ranks[rank], sent.size);
      },
      gather_in_memory(who, all, own, /*root=*/-1));
}

Collective scatter_in_memory(RankOf who, const at::Tensor& own, const std::vector<at::Tensor>& all, int64_t root) {
  const Bytes received(own);
  const std::vector<Bytes> sent = bytes_of(all);
  const Pieces pieces{received.size, piece_for(who.ranks)};
  return exchange(
      "scatter", received.size, pieces.count(),
      [=](const CollectiveSlots& slots, int64_t i) {
        if (who.rank != root) return;
        for (int64_t rank = 0; rank < who.ranks; ++rank)
          copy_bytes(slots.own(i) + rank * pieces.piece, sent[static_cast<size_t>(rank)].data + pieces.begin(i),
                     pieces.length(i));
      },
      [=](const CollectiveSlots& slots, int64_t i) {
        copy_bytes(received.data + pieces.begin(i), slots.of(root, i) + who.rank * pieces.piece, pieces.length(i));
      });
}

Collective all_to_all_in_memory(RankOf who, const std::vector<at::Tensor>& received,
                                const std::vector<at::Tensor>& sent) {
  const std::vector<Bytes> in = bytes_of(received), out = bytes_of(sent);
  const Pieces pieces{out.front().size, piece_for(who.ranks)};
  return exchange(
      "all_to_all", out.front().size, pieces.count(),
      [=](const CollectiveSlots& slots, int64_t i) {
        for (int64_t rank = 0; rank < who.ranks; ++rank)
          copy_bytes(slots.own(i) + rank * pieces.piece, out[static_cast<size_t>(rank)].data + pieces.begin(i),
                     pieces.length(i));
      },
      [=](const CollectiveSlots& slots, int64_t i) {
        for (int64_t rank = 0; rank < who.ranks; ++rank)
          copy_bytes(in[static_cast<size_t>(rank)].data + pieces.begin(i), slots.of(rank, i) + who.rank * pieces.piece,
                     pieces.length(i));
      });
}

Collective barrier_in_memory() {
  return {"barrier", 0, [](const CollectiveSlots&, int64_t round) { return round == 0; }};
}

}  // namespace levin
