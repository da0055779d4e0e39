# Writes a class file's bytes as a list of numbers in C: cmake -DCLASS_FILE=... -DOUTPUT=... -P ClassBytes.cmake
file(READ ${CLASS_FILE} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1, " bytes "${bytes}")
file(WRITE ${OUTPUT} "${bytes}\n")
