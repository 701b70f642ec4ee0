#include <levin/program/main.h>
#include <levin/data/registry.h>
#include <levin/modules/registry.h>

#include "data.h"
#include "module.h"

LEVIN_REGISTER_MODULE(ByteModel);
LEVIN_REGISTER_DATA_MODULE(Sentences);

int main(int argc, char** argv) { return levin::cli::main(argc, argv); }
