add_library(ch_warnings INTERFACE)
target_compile_options(ch_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion
  -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla $<$<BOOL:${CH_WERROR}>:-Werror>)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON) # POSIX and GNU names of the C library
