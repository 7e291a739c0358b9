#include "workload/convnet.hpp"

namespace roofcast {

ConvNet read_convnet(TableReader& reader) {
    throw reader.error("family", "convolutional nets cannot be read yet");
}

}  // namespace roofcast
