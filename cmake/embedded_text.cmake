# Writes a C++ source that holds a text: cmake -DOUTPUT=… -DHEADER=… -DNAME=… -DTEXT=file -P embedded_text.cmake
file(READ ${TEXT} text)
string(FIND "${text}" ")roofcast_text\"" at)
if(NOT at EQUAL -1)
    message(FATAL_ERROR "${TEXT} holds the end of a raw string")
endif()
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nnamespace roofcast {\n\n"
    "const std::string_view ${NAME} = R\"roofcast_text(${text})roofcast_text\";\n\n}  // namespace roofcast\n")
