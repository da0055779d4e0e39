# Writes a file's bytes as a list of numbers in C: cmake -DFILE=... -DOUTPUT=... -P FileBytes.cmake
file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1, " bytes "${bytes}")
file(WRITE ${OUTPUT} "${bytes}\n")
