# The messages of ONNX files (https://onnx.ai): header onnx/onnx_pb.h, libraries onnx_proto and protobuf. The library's own configuration
# also wants its operators and drivers.
find_package(Protobuf QUIET)
find_path(OnnxProto_INCLUDE_DIR onnx/onnx_pb.h)
find_library(OnnxProto_LIBRARY onnx_proto)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxProto REQUIRED_VARS OnnxProto_LIBRARY OnnxProto_INCLUDE_DIR Protobuf_FOUND)
if(OnnxProto_FOUND AND NOT TARGET OnnxProto::OnnxProto)
    add_library(OnnxProto::OnnxProto UNKNOWN IMPORTED)
    set_target_properties(OnnxProto::OnnxProto PROPERTIES IMPORTED_LOCATION "${OnnxProto_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${OnnxProto_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES protobuf::libprotobuf
        INTERFACE_COMPILE_DEFINITIONS "ONNX_NAMESPACE=onnx;ONNX_ML=1")
endif()
