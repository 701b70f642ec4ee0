#include <levin/program/main.h>

int main(int argc, char** argv) { return levin::cli::main(argc, argv); }
