#pragma once
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/plan.h>

#include <set>
#include <string>

namespace levin::program {

/// Returns the names of the buffers that the program writes by itself: those that it assigns, and those whose memory
/// an operator in place changes, through views too. What levin's modes govern (running statistics of norms, the count
/// of their batches) is not among them.
std::set<std::string> written_buffers(const ExportedProgram& program, const Plan& plan);

}  // namespace levin::program
