#include <levin/trainer/run/stop_requests.h>
#include <levin/core/system/signals.h>

namespace levin {

bool StopRequests::end_the_run() const { return reason_ && !session_ends_ && received_signal() == 0; }

}  // namespace levin
