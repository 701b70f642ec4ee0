#pragma once
#include <levin/data/tables/hdf5_values.h>
#include <levin/data/tables/message.h>
#include <levin/data/tables/sealed_memory.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// What the child processes that have the HDF5 library are asked for.
enum class Hdf5Request : uint8_t { Describe, FindChunks, Read };

/// Answers a request in a child process: Describe (path, group) with all data sets of the group, as put_column writes
/// them, and an empty name; FindChunks (path, group, the column) with the number of its chunks and the place of each,
/// or 0, as chunk_places returns them; Read (path, group, first row, rows, number of columns, the columns) with the
/// columns, as put_values writes them. Throws std::runtime_error.
Message answer_hdf5(Message request, SealedMemory& memory);

void put_column(const Hdf5Column& column, Message& message);
/// Takes what put_column has put behind the name. Throws std::runtime_error for what it cannot have put.
Hdf5Column take_column(std::string name, Message& message);

/// Puts where a column's buffers lie in the memory.
void put_values(const OwnedColumn& column, Message& message);
/// Takes what put_values has put; the buffers stay in the memory, which they keep. Throws std::runtime_error for places
/// outside of it.
OwnedColumn take_values(Message& message, const MappedMemory& memory, int depth = 0);

}  // namespace levin::data
