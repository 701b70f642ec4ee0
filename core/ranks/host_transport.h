#pragma once
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin {

/// What carries tensors between ranks that a host program has started: its own communicator (MPI, say).
///
/// All ranks begin the same operations in the same order. What was begun may continue while the ranks compute.
class HostTransport {
 public:
  enum class Kind { AllReduce, Broadcast, AllGather, ReduceScatter, Send, Receive };
  enum class Reduction { Sum, Min, Max, Product };
  /// `count` elements of each rank: of `from` and `to` in AllReduce and Broadcast (in place: from == to), of the part
  /// that a rank gives to AllGather or gets from ReduceScatter.
  struct Operation {
    Kind kind = Kind::AllReduce;
    Reduction reduction = Reduction::Sum;
    at::ScalarType dtype = at::kFloat;
    const void* from = nullptr;
    void* to = nullptr;
    int64_t count = 0;
    int64_t peer = 0;  ///< the root of Broadcast, the other rank of Send and Receive
    int64_t tag = 0;   ///< of Send and Receive
  };
  class Request {
   public:
    virtual ~Request() = default;
    /// Continues the operation as far as that is possible without waiting; returns whether it has ended. Throws
    /// levin::Error if it has failed.
    virtual bool test() = 0;
  };

  virtual ~HostTransport() = default;
  /// Throws levin::Error with the host's reason.
  virtual std::unique_ptr<Request> begin(const Operation& operation) = 0;
  /// Returns the same for some of the ranks, of which this rank is one. Collective: these ranks call it.
  virtual std::shared_ptr<HostTransport> part(const std::vector<int64_t>& ranks) = 0;
};

/// Makes a transport the one of groups that meet by `key` (Rendezvous::key begins with it), as long as it lives.
void offer_transport(const std::string& key, const std::shared_ptr<HostTransport>& transport);
/// Returns the transport that was offered for a rendezvous; null if there is none.
std::shared_ptr<HostTransport> offered_transport(const std::string& rendezvous_key);

}  // namespace levin
