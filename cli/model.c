#include "model.h"
#include "output.h"

int model_open(const struct arguments *arguments, ch_model **model) {
    int heads = 0;
    ch_error error;
    *model = NULL;
    if (arguments_has(arguments, "heads") && !arguments_number(arguments, "heads", 0, 65536, &heads)) return EXIT_USAGE;
    return ch_model_open(arguments->positional, heads, model, &error) ? report(NULL, &error) : 0;
}

size_t model_most_tokens(size_t bytes) {
    return bytes / 2 + 1;
}
