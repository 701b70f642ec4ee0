#include <levin/data/loading/place_of_error.h>
#include <c10/util/Exception.h>
#include <levin/core/system/error.h>

namespace levin::data {

void rethrow_with_context(const std::string& place) {
  try {
    throw;
  } catch (const UsageError& error) {
    throw UsageError(place, ": ", error.what());
  } catch (const c10::Error& error) {
    throw Error(place, ": ", error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw Error(place, ": ", error.what());
  }
}

}  // namespace levin::data
