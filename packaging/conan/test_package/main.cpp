#include <levin/trainer/cli/cli.h>

int main(int argc, char** argv) { return levin::cli::main(argc, argv); }
