#include <levin/data/download/public_file.h>
#include <levin/data/download/download.h>

namespace levin::data {

void download(const PublicFile& file, const std::string& url, const std::filesystem::path& folder) {
  download(url + (url.ends_with('/') ? "" : "/") + file.name, folder / file.name,
           {.sha256 = file.sha256, .size = file.size});
}

}  // namespace levin::data
