// The entry alone: all else is linked into the tests of the command line too.

#include "cli/program.hpp"

int main(int argc, char** argv) {
    return roofcast::cli::program(argc, argv);
}
