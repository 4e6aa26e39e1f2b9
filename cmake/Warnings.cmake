add_library(ch_warnings INTERFACE)
target_compile_options(ch_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion
  -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla $<$<BOOL:${CH_WERROR}>:-Werror>)
# errno of sqrt and traps are nobody's business here, and these two let loops become vector code. The results are
# those of IEEE: nothing that -ffast-math would change is switched on.
add_compile_options(-fno-math-errno -fno-trapping-math)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON) # POSIX and GNU names of the C library
