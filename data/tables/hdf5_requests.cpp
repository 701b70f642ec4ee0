#include <levin/data/tables/hdf5_requests.h>
#include <levin/data/tables/hdf5_handle.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace levin::data {
namespace {

constexpr size_t kMostDatasets = 10000;

/// A group of a file that the request names.
struct OpenGroup {
  std::string name = {};
  Hdf5Handle file;
};

OpenGroup open_group(Message& request) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const std::string path = request.take_text();
  return {request.take_text(),
          {H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "is no HDF5 file that can be read"}};
}

herr_t refuse_other_file(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

Hdf5Handle open_dataset(const OpenGroup& group, const std::string& name) {
  const std::string path = group.name + "/" + name;
  // A link to another file is not followed.
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, "its access cannot be set");
  hdf5_checked(H5Pset_elink_cb(access, refuse_other_file, nullptr), "its access cannot be set");
  return {H5Dopen2(group.file, path.c_str(), access), H5Dclose, "data set '" + name + "' cannot be opened"};
}

/// The names of all data sets below a group.
std::vector<std::string> dataset_names(hid_t group) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5O_info_t* info, void* into) -> herr_t {
    auto& found = *static_cast<std::vector<std::string>*>(into);
    if (info->type == H5O_TYPE_DATASET) found.emplace_back(name);
    return found.size() > kMostDatasets ? -1 : 0;
  };
  hdf5_checked(H5Ovisit(group, H5_INDEX_NAME, H5_ITER_INC, add, &names), "its data sets cannot be listed");
  return names;
}

/// Calls `work`, and names the data set in what it throws.
template <class F>
auto for_dataset(const std::string& name, const F& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    throw std::runtime_error("data set '" + name + "': " + error.what());
  }
}

Message describe(Message& request) {
  const OpenGroup group = open_group(request);
  const Hdf5Handle handle(H5Gopen2(group.file, group.name.empty() ? "/" : group.name.c_str(), H5P_DEFAULT), H5Gclose,
                          "has no group '" + group.name + "'");
  Message answer;
  for (const std::string& name : dataset_names(handle)) {
    const Hdf5Handle dataset = open_dataset(group, name);
    const Hdf5Column column = for_dataset(name, [&] { return describe_hdf5(dataset, name); });
    if (!column.shape.empty()) put_column(column, answer);  // else it is a single value
  }
  answer.put("");
  return answer;
}

Message find_chunks(Message& request) {
  const OpenGroup group = open_group(request);
  const Hdf5Column column = take_column(request.take_text(), request);
  const std::vector<int64_t> places = chunk_places(open_dataset(group, column.name), column);
  Message answer;
  answer.put(std::ssize(places));
  for (const int64_t place : places) answer.put(place);
  return answer;
}

Message read(Message& request, SealedMemory& memory) {
  const OpenGroup group = open_group(request);
  const int64_t begin = request.take_number(), rows = request.take_number(), count = request.take_number();
  Message answer;
  for (int64_t i = 0; i < count; ++i) {
    const Hdf5Column column = take_column(request.take_text(), request);
    const Hdf5Handle dataset = open_dataset(group, column.name);
    for_dataset(column.name, [&] { put_values(read_hdf5(dataset, column, begin, rows, memory), answer); });
  }
  return answer;
}

}  // namespace

Message answer_hdf5(Message request, SealedMemory& memory) {
  switch (static_cast<Hdf5Request>(request.take_number())) {
    case Hdf5Request::Describe:
      return describe(request);
    case Hdf5Request::FindChunks:
      return find_chunks(request);
    case Hdf5Request::Read:
      break;
  }
  return read(request, memory);
}

void put_column(const Hdf5Column& column, Message& message) {
  message.put(column.name);
  message.put(static_cast<int64_t>(column.kind));
  message.put(column.format);
  message.put(column.item_bytes);
  message.put(static_cast<int64_t>(column.chunk_rows));
  message.put(static_cast<int64_t>(column.is_filtered));
  message.put(column.file_place);
  message.put(static_cast<int64_t>(column.shape.size()));
  for (const hsize_t size : column.shape) message.put(static_cast<int64_t>(size));
}

Hdf5Column take_column(std::string name, Message& message) {
  constexpr int64_t kMostDims = 32;
  Hdf5Column column{.name = std::move(name)};
  column.kind =
      static_cast<Hdf5Kind>(std::clamp<int64_t>(message.take_number(), 0, static_cast<int64_t>(Hdf5Kind::Other)));
  column.format = message.take_text();
  column.item_bytes = message.take_number();
  column.chunk_rows = static_cast<hsize_t>(std::max<int64_t>(message.take_number(), 0));
  column.is_filtered = message.take_number() != 0;
  column.file_place = message.take_number();
  const int64_t dims = std::clamp<int64_t>(message.take_number(), 1, kMostDims);
  for (int64_t i = 0; i < dims; ++i) column.shape.push_back(static_cast<hsize_t>(message.take_number()));
  check_description(column);
  return column;
}

void put_values(const OwnedColumn& column, Message& message) {
  message.put(column.length);
  message.put(static_cast<int64_t>(column.buffers.size()));
  for (const ColumnBuffer& buffer : column.buffers) {
    message.put(buffer.get() ? buffer.size : -1);
    message.put(buffer.place);
  }
  message.put(static_cast<int64_t>(column.children.size()));
  for (const OwnedColumn& child : column.children) put_values(child, message);
}

OwnedColumn take_values(Message& message, const MappedMemory& memory, int depth) {
  constexpr int64_t kMostParts = 64;
  const auto wrong = [] { throw std::runtime_error("the process that read it gave a wrong answer"); };
  OwnedColumn column{.length = message.take_number()};
  const int64_t buffers = message.take_number();
  if (column.length < 0 || buffers < 0 || buffers > kMostParts || depth > kMostParts) wrong();
  for (int64_t i = 0; i < buffers; ++i) {
    const int64_t size = message.take_number(), begin = message.take_number();
    if (begin < 0 || begin > memory.bytes || size > memory.bytes - begin) wrong();
    ColumnBuffer buffer;
    if (size >= 0) buffer = {std::shared_ptr<std::byte[]>(memory.begin, memory.begin.get() + begin), size};
    column.buffers.push_back(std::move(buffer));
  }
  const int64_t children = message.take_number();
  if (children < 0 || children > kMostParts) wrong();
  for (int64_t i = 0; i < children; ++i) column.children.push_back(take_values(message, memory, depth + 1));
  return column;
}

}  // namespace levin::data
