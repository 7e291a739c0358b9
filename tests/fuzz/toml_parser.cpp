// The parser of TOML once more, instrumented: the distribution's shared library is not, and would be a black box to the fuzzer.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
