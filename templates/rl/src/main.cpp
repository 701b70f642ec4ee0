#include <levin/program/main.h>
#include <levin/modules/registry.h>

#include "module.h"

LEVIN_REGISTER_MODULE(Agent);

int main(int argc, char** argv) { return levin::cli::main(argc, argv); }
